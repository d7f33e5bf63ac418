// plan/find.hpp - finds the policy of a kind in a list of any order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../meta/list.hpp"

namespace cleave::plan {

template <class P>
concept Policy = requires {
  typename P::kind;
};

template <class Kind, class P> inline constexpr bool is_kind = false;
template <class Kind, Policy P> inline constexpr bool is_kind<Kind, P> = std::is_same_v<Kind, typename P::kind>;
template <class Kind, class... Ps> inline constexpr int said = (0 + ... + int{is_kind<Kind, Ps>});

template <class Kind, class Otherwise, class... Ps> struct find_ { using is = Otherwise; };
template <class Kind, class Otherwise, class P, class... Ps>
struct find_<Kind, Otherwise, P, Ps...>
    : std::conditional_t<is_kind<Kind, P>, meta::type<P>, find_<Kind, Otherwise, Ps...>> {};
template <class Kind, class Otherwise, class... Ps> using find = typename find_<Kind, Otherwise, Ps...>::is;

template <class Kind, class Otherwise, class List> struct find_in_;
template <class Kind, class Otherwise, class... Ps>
struct find_in_<Kind, Otherwise, meta::list<Ps...>> : find_<Kind, Otherwise, Ps...> {};
template <class Kind, class Otherwise, class List> using find_in = typename find_in_<Kind, Otherwise, List>::is;

}  // namespace cleave::plan
