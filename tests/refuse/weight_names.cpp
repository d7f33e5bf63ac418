// refused: an operation gives each of its weights and states a name of its own
// refused: tensors_of_an_operation_have_names<2, 1>
// refused: Scale
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct ScaleOp : op::Base {
  static constexpr auto name = "scale";
  static constexpr auto equation = "bo*,o->bo*";
  static constexpr int weights = 2;
  static constexpr std::string_view weight_names[] = {"factor", "factor"};
  static constexpr Shape output(Shape x) { return x; }
  static constexpr op::Weight weight(int, Shape x) { return {Shape(x[0]), op::Start::Ones, 1, 1}; }
};
struct Scale : layer::Chain<ScaleOp> {};
struct Net : Sequential<Vector<8>, Linear<4>, Scale, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
