// report/words.hpp - the one line that reports an exception to the user.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace cleave::session {

/// The message of an exception. It allocates nothing, since memory may be what is missing.
inline char const* words_of(std::exception const& e) {
  bool const memory = dynamic_cast<std::bad_alloc const*>(&e) != nullptr;
  return memory ? "there is no memory left; say a smaller batch or fewer ranks, or allow more (ulimit -v)" : e.what();
}

/// Prints one line on stderr: the program's name, `who`, the message. It allocates nothing either.
template <class = void> void tell(char const* program, char const* who, std::exception const& e) {
  char const* const slash = std::strrchr(program, '/');
  std::fprintf(stderr, "%s: %s%s\n", slash ? slash + 1 : program, who, words_of(e));
}

}  // namespace cleave::session
