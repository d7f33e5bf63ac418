// meta/error.hpp - errors that a user can correct: one line, and exit code 2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>

#include "text.hpp"

namespace cleave {

/// Thrown for anything that the user can correct: an argument, a file, a rank count. `what()` is one complete line that
/// says what is wrong, where, with which numbers, and what to do. `run` prints it and exits with code 2.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  /// Of texts and whole numbers: throw Error({path, ": sample ", 3, " is missing"}).
  [[gnu::noinline]] Error(meta::Pieces words) : std::runtime_error(meta::joined(words)) {}
};

/// A loss, a gradient or a weight is not finite: training has diverged, and nothing is saved. `run` exits with code 3.
struct Diverged : Error {
  using Error::Error;
};

}  // namespace cleave
