// meta/sort.hpp - a sort that is compiled once for all types, for lists that are sorted a few times in a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace cleave::meta {

/// A list whose elements are named by their index.
struct Sortable {
  void* list;
  void const* order;
  bool (*before)(Sortable const&, std::size_t, std::size_t);
  void (*exchange)(Sortable const&, std::size_t, std::size_t);
};

/// Heap sort: in place, not stable.
inline void sort(Sortable const& s, std::size_t count) {
  std::size_t end = count;
  for (std::size_t start = count / 2; end > 1;) {
    if (start > 0) {
      --start;
    } else {
      s.exchange(s, 0, --end);
    }
    for (std::size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && s.before(s, child, child + 1)) ++child;
      if (!s.before(s, root, child)) break;
      s.exchange(s, root, child);
    }
  }
}

/// Sorts by `before(a, b)`, a strict weak ordering. In a program std::sort would add some 3 KB for each type of list.
template <class T, class Before> void sort(std::span<T> list, Before const& before) {
  Sortable const s{list.data(), &before,
                   [](Sortable const& of, std::size_t a, std::size_t b) {
                     T const* const at = static_cast<T const*>(of.list);
                     return static_cast<bool>((*static_cast<Before const*>(of.order))(at[a], at[b]));
                   },
                   [](Sortable const& of, std::size_t a, std::size_t b) {
                     T* const at = static_cast<T*>(of.list);
                     std::swap(at[a], at[b]);
                   }};
  sort(s, list.size());
}

}  // namespace cleave::meta
