// header.cpp - holds nothing: with it, the header that the tests share is precompiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
