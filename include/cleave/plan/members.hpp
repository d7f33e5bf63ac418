// plan/members.hpp - checks the members that a user gives a plan and an optimizer: known names, right types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../meta/law.hpp"
#include "../optim/optimizer.hpp"
#include "../optim/rate.hpp"

namespace cleave::plan {

/// C++20 cannot list the members of a class, but can test for one: likely misspellings, each a type that names it.
namespace member {
// clang-format off
struct none { template <class T> static constexpr bool in = true; };
struct learning_rate { template <class T> static constexpr bool in = requires { T::learning_rate; }; };
struct learn_rate { template <class T> static constexpr bool in = requires { T::learn_rate; }; };
struct learningRate { template <class T> static constexpr bool in = requires { T::learningRate; }; };
struct lr { template <class T> static constexpr bool in = requires { T::lr; }; };
struct rates { template <class T> static constexpr bool in = requires { T::rates; }; };
struct rate { template <class T> static constexpr bool in = requires { T::rate; }; };
struct step_size { template <class T> static constexpr bool in = requires { T::step_size; }; };
struct epoch { template <class T> static constexpr bool in = requires { T::epoch; }; };
struct num_epochs { template <class T> static constexpr bool in = requires { T::num_epochs; }; };
struct n_epochs { template <class T> static constexpr bool in = requires { T::n_epochs; }; };
struct max_epochs { template <class T> static constexpr bool in = requires { T::max_epochs; }; };
struct epochs { template <class T> static constexpr bool in = requires { T::epochs; }; };
struct batch_size { template <class T> static constexpr bool in = requires { T::batch_size; }; };
struct delays { template <class T> static constexpr bool in = requires { T::delays; }; };
struct clip_norm { template <class T> static constexpr bool in = requires { T::clip_norm; }; };
struct clipnorm { template <class T> static constexpr bool in = requires { T::clipnorm; }; };
struct clip { template <class T> static constexpr bool in = requires { T::clip; }; };
struct grad_clip { template <class T> static constexpr bool in = requires { T::grad_clip; }; };
struct gradient_clip { template <class T> static constexpr bool in = requires { T::gradient_clip; }; };
struct max_norm { template <class T> static constexpr bool in = requires { T::max_norm; }; };
struct max_grad_norm { template <class T> static constexpr bool in = requires { T::max_grad_norm; }; };
struct momentum { template <class T> static constexpr bool in = requires { T::momentum; }; };
struct weight_decay { template <class T> static constexpr bool in = requires { T::weight_decay; }; };
struct weightdecay { template <class T> static constexpr bool in = requires { T::weightdecay; }; };
struct decay { template <class T> static constexpr bool in = requires { T::decay; }; };
struct l2 { template <class T> static constexpr bool in = requires { T::l2; }; };
struct beta { template <class T> static constexpr bool in = requires { T::beta; }; };
struct betas { template <class T> static constexpr bool in = requires { T::betas; }; };
struct beta1 { template <class T> static constexpr bool in = requires { T::beta1; }; };
struct beta2 { template <class T> static constexpr bool in = requires { T::beta2; }; };
struct beta_1 { template <class T> static constexpr bool in = requires { T::beta_1; }; };
struct beta_2 { template <class T> static constexpr bool in = requires { T::beta_2; }; };
struct eps { template <class T> static constexpr bool in = requires { T::eps; }; };
struct epsilon { template <class T> static constexpr bool in = requires { T::epsilon; }; };
struct groups { template <class T> static constexpr bool in = requires { T::groups; }; };
struct parameter_group { template <class T> static constexpr bool in = requires { T::parameter_group; }; };
struct parameter_groups { template <class T> static constexpr bool in = requires { T::parameter_groups; }; };
struct param_groups { template <class T> static constexpr bool in = requires { T::param_groups; }; };
struct group_of { template <class T> static constexpr bool in = requires { T::group_of; }; };
struct nesterov { template <class T> static constexpr bool in = requires { T::nesterov; }; };
struct amsgrad { template <class T> static constexpr bool in = requires { T::amsgrad; }; };
// clang-format on

template <class T, class Known, class... Names> constexpr std::size_t at_first_new() {
  std::size_t at = 0;
  static_cast<void>(((!(Names::template in<T> && !Names::template in<Known>)&&(++at, true)) && ...));
  return at;
}
/// The first of these names that is in T but not in Known.
template <class T, class Known, class... Names>
using first_new = meta::at<meta::list<Names..., none>, at_first_new<T, Known, Names...>()>;
template <class T>
using slip_of_a_plan =
    first_new<T, void, learning_rate, learn_rate, learningRate, lr, rates, step_size, epoch, num_epochs, n_epochs,
              max_epochs, batch_size, delays, clip_norm, clipnorm, grad_clip, max_grad_norm, momentum, weight_decay>;
/// Names that the base optimizer knows are allowed.
template <class T, class Known>
using slip_of_an_optimizer =
    first_new<T, Known, learning_rate, learn_rate, learningRate, lr, rates, rate, step_size, epoch, epochs, clipnorm,
              clip, grad_clip, gradient_clip, max_norm, max_grad_norm, momentum, weight_decay, weightdecay, decay, l2,
              beta, betas, beta1, beta2, beta_1, beta_2, eps, epsilon, nesterov, amsgrad, groups, parameter_group,
              parameter_groups, param_groups, group_of>;
}  // namespace member

template <class Name> struct a_plan_has_no_such_member {
  static constexpr bool holds = std::is_same_v<Name, member::none>;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Plan: nothing reads this member. A plan's own are rate (a Rate), epochs and delay; momentum, "
        "weight_decay and clip_norm are the optimizer's: struct Mine : Adam { ... }; and the batch is Batch<n>");
  };
};
template <class Name> struct an_optimizer_has_no_such_member {
  static constexpr bool holds = std::is_same_v<Name, member::none>;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "this optimizer does not read the member. All read weight_decay, clip_norm and group; Momentum, Nesterov: "
        "momentum; RmsProp: decay; Adam: beta1, beta2; these two and Adagrad: epsilon; the rate is the plan's");
  };
};
template <class Type> struct the_rate_is_a_Rate {
  static constexpr bool holds = std::is_convertible_v<Type, Rate const*>;
  template <bool Holds> struct tell {
    static_assert(Holds, "Plan: rate is a Rate: static constexpr Rate rate = Rate::constant(0.1f);");
  };
};
template <class Type> struct epochs_are_a_whole_number {
  static constexpr bool holds = std::is_pointer_v<Type> && std::is_integral_v<std::remove_pointer_t<Type>>;
  template <bool Holds> struct tell {
    static_assert(Holds, "Plan: epochs is a whole number: static constexpr int epochs = 10;");
  };
};
template <bool Own> struct what_words_say_is_no_member {
  static constexpr bool holds = Own;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Plan: batch, micro_batches, rounds, replicas and ways follow from the plan's words; say Batch<n>, "
                  "MicroBatches<n>, Accumulate<n>, Mesh<Data<n>, Model<n>>, and leave the member out");
  };
};

/// Whether P is a plan that violates no law.
template <class P> inline constexpr bool legal = false;
template <class P>
requires requires { P::legal; }
inline constexpr bool legal<P> = P::legal;

template <class P> constexpr auto type_of_epochs() {
  if constexpr (requires { &P::epochs; }) {
    return &P::epochs;
  } else {
    return static_cast<int const*>(nullptr);
  }
}
/// For a plan whose policies are right.
template <class P>
using law_of_members =
    meta::first_broken<meta::enforce<a_plan_has_no_such_member<member::slip_of_a_plan<P>>, P>,
                       meta::enforce<an_optimizer_has_no_such_member<member::slip_of_an_optimizer<
                                         typename P::optimizer, typename P::optimizer::origin>>,
                                     typename P::optimizer>,
                       meta::enforce<the_rate_is_a_Rate<decltype(&P::rate)>, P>,
                       meta::enforce<epochs_are_a_whole_number<decltype(type_of_epochs<P>())>, P>,
                       meta::enforce<what_words_say_is_no_member<P::has_its_own_numbers(
                                         &P::batch, &P::micro_batches, &P::rounds, &P::replicas, &P::ways)>,
                                     P>>;

}  // namespace cleave::plan
