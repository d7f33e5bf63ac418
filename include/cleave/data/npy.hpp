// data/npy.hpp - inputs and targets in two .npy files of NumPy as a data set: mapped, so it may be larger than memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../io/npy.hpp"
#include "dataset.hpp"

namespace cleave {

/// `Npy<Vector<20>, Values<5>> const songs("x.npy", "y.npy");`: x (n, ...) with as many numbers in a row as the input
/// has, y (n, values), or of classes (n) or (n, positions), whole numbers. Throws Error if they are not.
template <class InputT, class TargetT> class Npy {
 public:
  using Input = InputT;
  using Target = TargetT;

  Npy(std::string const& inputs, std::string const& targets) : x_(inputs), y_(targets) {
    if (x_.row() != input)
      throw Error({inputs, ": rows of ", x_.row(), " numbers, but the data set's input has ", input});
    if (y_.row() != target)
      throw Error({targets, ": rows of ", y_.row(), " numbers, but the data set's target has ", target});
    if (x_.shape()[0] != y_.shape()[0])
      throw Error({targets, ": ", y_.shape()[0], " rows, but ", inputs, " has ", x_.shape()[0]});
    if (classes && !y_.whole_numbers())
      throw Error({targets, ": classes are whole numbers, these are '", y_.type(), "'; save y.astype('int32')"});
  }

  long size() const { return static_cast<long>(x_.shape()[0]); }
  void read(long i, std::span<float> x, typename Target::Read y) const {
    auto const row = static_cast<std::size_t>(i);
    x_.read(row * input, input, x.data());
    if constexpr (!classes) {
      y_.read(row * target, target, y.data());
    } else if constexpr (target == 1) {
      y = label(i);
    } else {
      for (std::size_t p = 0; p < target; ++p) y[p] = label_at(row, p);
    }
  }
  int label(long i) const requires requires { requires TargetT::labels == 1; }
  { return label_at(static_cast<std::size_t>(i), 0); }

 private:
  static constexpr bool classes = requires { TargetT::classes; };
  static constexpr std::size_t input = static_cast<std::size_t>(InputT::shape.size());
  static constexpr std::size_t target = session::numbers_of_target<TargetT>;

  /// Where a sample has several, one may be `ignored`.
  int label_at(std::size_t row, std::size_t position) const {
    long c = 0;
    y_.read(row * target + position, 1, &c);
    if ((c < 0 || c >= Target::classes) && !(target > 1 && c == Target::ignored))
      throw Error({y_.path(), ", row ", row, ": label ", c, ", but there are ", Target::classes, " classes, 0 to ",
                   Target::classes - 1});
    return static_cast<int>(c);
  }

  io::NpyFile x_, y_;
};

}  // namespace cleave
