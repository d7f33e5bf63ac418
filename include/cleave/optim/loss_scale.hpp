// optim/loss_scale.hpp - LossScale: small gradients are kept from rounding to zero by a factor that adapts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>

#include "../meta/host_device.hpp"

namespace cleave {

namespace optim {
struct LossScaleKind {};
}  // namespace optim

/// The gradient of the loss is multiplied by a power of two, and the gradients of all weights are divided by it before
/// the update. Without rounding, overflow and underflow this changes no weight. A step in which a gradient of a weight
/// is inf or NaN updates no weight and halves the factor; `Interval` steps in a row without one double it. Factor and
/// count are saved in checkpoints. A step that is skipped counts as a step, for the rate and for Adam's corrections.
/// For number formats with small exponents: Precision<f16>. Source: Micikevicius et al., "Mixed precision training",
/// ICLR 2018; the defaults are those of PyTorch's GradScaler.
template <long Initial = 65536, int Interval = 2000> struct LossScale {
  using kind = optim::LossScaleKind;
  static constexpr long initial = Initial;
  static constexpr int interval = Interval;
  // Binary exponents of the factor, relative to Initial: it stays from 2^-100 to 2^100.
  static constexpr int own = std::bit_width(static_cast<unsigned long>(Initial)) - 1, least = -100 - own,
                       most = 100 - own;

  /// state[0]: the factor is Initial * 2^state[0]. state[1]: the number of the next step, counted from 1, since the
  /// factor has changed.
  template <class A> CLEAVE_HD static A factor(A const* state) {
    A const exponent = state[0] < A{least} ? A{least} : state[0] > A{most} ? A{most} : state[0];
    return std::ldexp(static_cast<A>(Initial), static_cast<int>(exponent));
  }
  /// After a step whose gradients were all finite, or not.
  template <class A> CLEAVE_HD static void next(A* state, bool finite) {
    if (finite && state[1] < static_cast<A>(Interval)) {
      state[1] += A{1};
      return;
    }
    if (finite ? state[0] < A{most} : state[0] > A{least}) state[0] += finite ? A{1} : A{-1};
    state[1] = A{1};
  }
};

namespace optim {

/// Whether the plan of this optimizer has a LossScale.
template <class Optimizer>
concept ScalesLoss = requires {
  typename Optimizer::loss_scale;
};
/// An optimizer whose gradients were scaled by Scale.
template <class Optimizer, class Scale> struct Unscaling : Optimizer { using loss_scale = Scale; };
/// `Optimizer` itself where Scale is void.
template <class Optimizer, class Scale> struct with_loss_scale { using is = Unscaling<Optimizer, Scale>; };
template <class Optimizer> struct with_loss_scale<Optimizer, void> { using is = Optimizer; };

}  // namespace optim
}  // namespace cleave
