// tests/io/heap.hpp - an operator new that counts what it has given out, and may refuse; for one source of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace scratch {

inline std::atomic<std::size_t> heap_now{0}, heap_peak{0};
inline std::atomic<std::size_t> heap_most{static_cast<std::size_t>(-1)};  // bytes that one call may ask for

/// The most bytes that were out at once while `what` ran, beyond those that were out before.
template <typename What> std::size_t peak_of(What&& what) {
  std::size_t const before = heap_now;
  heap_peak = before;
  what();
  return heap_peak - before;
}

}  // namespace scratch

void* operator new(std::size_t size) {
  void* const at = size > scratch::heap_most ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (at == nullptr) throw std::bad_alloc();
  std::size_t const now = scratch::heap_now += malloc_usable_size(at);
  for (std::size_t peak = scratch::heap_peak; now > peak && !scratch::heap_peak.compare_exchange_weak(peak, now);) {
  }
  return at;
}
void* operator new(std::size_t size, std::nothrow_t const&) noexcept try {
  return operator new(size);
} catch (std::bad_alloc const&) {
  return nullptr;
}
void operator delete(void* at) noexcept {
  if (at == nullptr) return;
  scratch::heap_now -= malloc_usable_size(at);
  std::free(at);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }
