// op/scaled_loss.hpp - a loss whose gradient is multiplied by the factor of a LossScale, and what adds to its gradient.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../meta/list.hpp"
#include "operands.hpp"

namespace cleave::op {

/// As Loss, which has neither weights nor a state. The factor is kept as its state, and changes after a step
/// (optim/loss_scale.hpp).
template <class Loss, class Scale> struct ScaledLoss : Loss {
  static constexpr int states = 2;
  static constexpr Shape state(Shape) { return Shape(1); }
  static constexpr std::string_view state_names[] = {"loss_scale_exponent", "steps_of_loss_scale"};

  template <class T> CLEAVE_HD static Operands<T> scaled(Operands<T> t) {
    t.scale *= Scale::factor(t.state0);
    return t;
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    Loss::template backward_input<L>(ctx, scaled(t));
  }
};

/// As Op, which adds the gradient of a loss of its own to that of the plan's; the factor is the same. It has no state,
/// and is given that of the plan's loss.
template <class Op, class Scale> struct ScaledBalance : Op {
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    Operands<T> scaled = t;
    scaled.scale *= Scale::factor(t.state0);
    Op::template backward_input<L>(ctx, scaled);
  }
};

/// The operations of a model, with the loss scaled; as they are where Scale is void, or the last is no loss.
template <class Scale, class Op, bool Last> struct scaled_ { using is = Op; };
template <class Scale, class Op>
requires(!std::is_void_v<Scale> && requires { requires Op::has_loss_of_its_own; }) struct scaled_<Scale, Op, false> {
  using is = ScaledBalance<Op, Scale>;
};
template <class Scale, class Op>
requires(!std::is_void_v<Scale> && requires { requires Op::is_loss; }) struct scaled_<Scale, Op, true> {
  using is = ScaledLoss<Op, Scale>;
};
template <class Scale, class Ops, class I> struct with_scaled_loss_;
template <class Scale, class... Ops, std::size_t... I>
struct with_scaled_loss_<Scale, meta::list<Ops...>, std::index_sequence<I...>> {
  using is = meta::list<typename scaled_<Scale, Ops, I + 1 == sizeof...(Ops)>::is...>;
};
template <class Ops> struct with_scaled_loss_<void, Ops, void> { using is = Ops; };
template <class Scale, class Ops>
using with_scaled_loss = typename with_scaled_loss_<
    Scale, Ops, std::conditional_t<std::is_void_v<Scale>, void, std::make_index_sequence<std::size_t{Ops::size}>>>::is;

}  // namespace cleave::op
