// compiled.cpp - the source of cleave::compiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/compiled.hpp>
