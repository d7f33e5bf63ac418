// backend/emulate/fibers.hpp - the threads of a block as fibers on one core, without system calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define CLEAVE_FIBERS_TOLD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CLEAVE_FIBERS_TOLD
#endif
#endif
#if defined(CLEAVE_FIBERS_TOLD)
#include <sanitizer/common_interface_defs.h>
#endif

#include "../../meta/error.hpp"
#include "seed.hpp"

namespace cleave::backend::emulate {

#if defined(__linux__)
/// _longjmp itself: _FORTIFY_SOURCE replaces it by one that refuses to jump to another stack. Not declared
/// [[noreturn]]: AddressSanitizer would then clean up the stack before each jump.
extern "C" void cleave_jump(jmp_buf, int) __asm__("_longjmp");
#else
inline void cleave_jump(jmp_buf to, int value) { _longjmp(to, value); }
#endif

/// Threads of some blocks that take turns on one core, in an order that changes from turn to turn; a turn may skip a
/// block, so that another gets ahead of it. A barrier that some never reach is an error that says how many came.
///
/// A fiber lives as long as the host thread that it runs on, and runs one block after another. Stacks are switched by
/// jumps only, since swapcontext makes a system call for the signal mask each time, which takes 20 times as long.
class Fibers {
 public:
  /// `blocks` of them are alive at once, with `threads` threads each.
  Fibers(int threads, int blocks)
      : threads_(static_cast<std::size_t>(threads)), blocks_(static_cast<std::size_t>(blocks)) {}

  /// body(i) for each thread i of the blocks, those of the first block first.
  void run(std::function<void(int)> const& body, Order& order) {
    body_ = &body;
    while (fibers().size() < count()) fibers().push_back(std::make_unique<Fiber>());
    for (std::size_t i = 0; i < count(); ++i) fibers()[i]->over = false;
    left_ = count();
    long still = 0;
    for (bool forward = true; left_ > 0; forward = !forward) {
      long const before = moved_;
      std::size_t const first = order.draw(blocks_);
      for (std::size_t b = 0; b < blocks_; ++b) {
        bool const left_out = blocks_ > 1 && still == 0 && order.draw(4) == 0;
        if (!left_out) turn((first + b) % blocks_, forward);
      }
      still = moved_ == before ? still + 1 : 0;
      if (failure_) {
        forget();
        std::rethrow_exception(std::exchange(failure_, nullptr));
      }
      if (still > 3) {  // in the last three turns no block was skipped
        std::size_t const ended = count() - left_;
        forget();
        throw Error({"a kernel stands still: ", ended, " of ", count(),
                     " threads have ended, the others wait at a barrier or a shuffle that these never reach"});
      }
    }
  }
  /// The first `members` of a group to arrive wait for the last.
  struct Meeting {
    int came = 0;
    long round = 0;
  };
  void meet(Meeting& m, int members) {
    long const mine = m.round;
    if (++m.came == members) {
      m.came = 0;
      ++m.round;
      ++moved_;
      return;
    }
    Fiber& me = *fibers()[now_];
    while (m.round == mine) me.rest();
  }

 private:
  static constexpr std::size_t stack_bytes = 64 << 10;
  /// One stack, and where each side of a switch continues.
  struct Fiber {
    std::unique_ptr<std::byte[]> stack{new std::byte[stack_bytes]};
    ucontext_t first;
    jmp_buf at, home;
    bool begun = false, over = false;
    void const* home_stack = nullptr;
    std::size_t home_bytes = 0;

    static void go(jmp_buf from, jmp_buf to) {
      if (_setjmp(from) == 0) cleave_jump(to, 1);
    }
    void begin() {
      if (_setjmp(home) == 0) setcontext(&first);
    }
    void rest() {
      auto* const told = leaves(home_stack, home_bytes);
      go(at, home);
      arrives(told, nullptr, nullptr);
    }
  };
  static std::vector<std::unique_ptr<Fiber>>& fibers() {
    static thread_local std::vector<std::unique_ptr<Fiber>> all;
    return all;
  }
  static Fibers*& current() {
    static thread_local Fibers* of = nullptr;
    return of;
  }
  /// What AddressSanitizer needs to know about a switch.
  static void* leaves([[maybe_unused]] void const* stack, [[maybe_unused]] std::size_t bytes) {
    void* told = nullptr;
#if defined(CLEAVE_FIBERS_TOLD)
    __sanitizer_start_switch_fiber(&told, stack, bytes);
#endif
    return told;
  }
  static void arrives([[maybe_unused]] void* told, [[maybe_unused]] void const** stack,
                      [[maybe_unused]] std::size_t* bytes) {
#if defined(CLEAVE_FIBERS_TOLD)
    __sanitizer_finish_switch_fiber(told, stack, bytes);
#endif
  }
  void go_on(Fiber& f) {
    current() = this;
    void* const told = leaves(f.stack.get(), stack_bytes);
    if (std::exchange(f.begun, true)) {
      Fiber::go(f.home, f.at);
    } else {
      getcontext(&f.first);
      f.first.uc_stack.ss_sp = f.stack.get();
      f.first.uc_stack.ss_size = stack_bytes;
      f.first.uc_link = nullptr;
      makecontext(&f.first, reinterpret_cast<void (*)()>(&Fibers::enter), 0);
      f.begin();
    }
    arrives(told, nullptr, nullptr);
  }
  std::size_t count() const { return threads_ * blocks_; }
  void turn(std::size_t block, bool forward) {
    for (std::size_t k = 0; k < threads_; ++k) {
      now_ = block * threads_ + (forward ? k : threads_ - 1 - k);
      if (!fibers()[now_]->over) go_on(*fibers()[now_]);
    }
  }
  /// Fibers in the middle of a block do not return to it.
  void forget() const {
    for (std::size_t i = 0; i < count(); ++i) fibers()[i]->begun = fibers()[i]->over;
  }
  static void enter() {
    Fiber& me = *fibers()[current()->now_];
    arrives(nullptr, &me.home_stack, &me.home_bytes);
    for (;; me.rest()) {
      Fibers& f = *current();
      try {
        (*f.body_)(static_cast<int>(f.now_));
      } catch (...) {
        f.failure_ = std::current_exception();
      }
      me.over = true;
      --f.left_;
      ++f.moved_;
    }
  }

  std::size_t threads_, blocks_, now_ = 0, left_ = 0;
  std::function<void(int)> const* body_ = nullptr;
  long moved_ = 0;  // counts events that others may wait for
  std::exception_ptr failure_;
};

}  // namespace cleave::backend::emulate
