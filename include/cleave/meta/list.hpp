// meta/list.hpp - a flat list of types, with indexed access and concatenation that do not recurse over its length.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace cleave::meta {

template <class... Ts> struct list { static constexpr int size = sizeof...(Ts); };

template <class T> struct type { using is = T; };

// Indexed bases: one instantiation per element. std::tuple and nesting fail at a few hundred.
template <std::size_t I, class T> struct slot {};
template <class Indices, class... Ts> struct slots;
template <std::size_t... I, class... Ts> struct slots<std::index_sequence<I...>, Ts...> : slot<I, Ts>... {};
template <std::size_t I, class T> type<T> pick(slot<I, T> const&);

template <class List, std::size_t I> struct at_ { using type = list<>; };
template <class... Ts, std::size_t I> struct at_<list<Ts...>, I> {
  using type = typename decltype(meta::pick<I>(std::declval<slots<std::index_sequence_for<Ts...>, Ts...>>()))::is;
};
template <class List, std::size_t I> using at = typename at_<List, I>::type;

// Lists are joined in a balanced tree of fold steps: depth log(lists).
template <class... Lists> struct concat_ { using type = list<>; };
template <> struct concat_<> { using type = list<>; };
template <class... A> struct concat_<list<A...>> { using type = list<A...>; };
template <class... A, class... B> struct concat_<list<A...>, list<B...>> { using type = list<A..., B...>; };
template <class... A, class... B, class... C, class... Rest>
struct concat_<list<A...>, list<B...>, list<C...>, Rest...> : concat_<list<A..., B..., C...>, Rest...> {};
template <class... A, class... B, class... C, class... D, class... E, class... F, class... G, class... H, class... Rest>
struct concat_<list<A...>, list<B...>, list<C...>, list<D...>, list<E...>, list<F...>, list<G...>, list<H...>, Rest...>
    : concat_<list<A..., B..., C..., D..., E..., F..., G..., H...>, Rest...> {};
template <class... Lists> using concat = typename concat_<Lists...>::type;

template <class T, class List> inline constexpr bool contains = false;
template <class T, class... Ts> inline constexpr bool contains<T, list<Ts...>> = (std::is_same_v<T, Ts> || ...);

}  // namespace cleave::meta
