// meta/law.hpp - a law is a class whose name is a sentence and whose arguments are the numbers; only one is reported.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "list.hpp"

namespace cleave::meta {

/// A law holds a `static constexpr bool holds` and a `template <bool> struct tell` with one static_assert in it.
template <class Law>
concept Obeyed = Law::holds;

/// Naming this type checks the law and reports its violation; the compiler's message also names `About` (a layer, a
/// policy).
template <class Law, class... About> struct enforce : Law::template tell<Law::holds> {};

/// Whether the law of an `enforce` holds, without reporting it.
template <class Enforced> inline constexpr bool holds = false;
template <class Law, class... About> inline constexpr bool holds<enforce<Law, About...>> = Law::holds;

/// A law that always holds.
struct lawful {
  static constexpr bool holds = true;
  template <bool> struct tell {};
};

template <class... Enforced> constexpr std::size_t first_false() {
  std::size_t at = 0;
  static_cast<void>(((holds<Enforced> && (++at, true)) && ...));
  return at;
}
template <bool AllHold, class... Enforced> struct first_broken_ { using type = enforce<lawful>; };
template <class... Enforced> struct first_broken_<false, Enforced...> {
  using type = at<list<Enforced...>, first_false<Enforced...>()>;
};
/// The first of several `enforce` whose law is violated, or one that always holds: `sizeof` of it reports one law only.
template <class... Enforced> using first_broken = typename first_broken_<(holds<Enforced> && ...), Enforced...>::type;

/// The first of several laws that is violated, or one that always holds.
template <class... Laws> struct first_violated_ { using is = lawful; };
template <class Law, class... Laws>
struct first_violated_<Law, Laws...> : std::conditional_t<Law::holds, first_violated_<Laws...>, type<Law>> {};
template <class... Laws> using first_violated = typename first_violated_<Laws...>::is;

}  // namespace cleave::meta
