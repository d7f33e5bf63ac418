// meta/in_library.hpp - CLEAVE_IN_LIBRARY marks a function that a program of cleave::compiled takes from that library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A program then has no code of what only such functions call. g++ alone leaves out a function whose body it sees. The
// library is compiled without CLEAVE_MPI: what depends on that is not marked.
#if defined(CLEAVE_COMPILED) && defined(CLEAVE_COMPILING)
#define CLEAVE_IN_LIBRARY [[gnu::used]] inline
#elif defined(CLEAVE_COMPILED) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define CLEAVE_IN_LIBRARY [[gnu::gnu_inline, gnu::cold]] inline
#else
#define CLEAVE_IN_LIBRARY inline
#endif
