// backend/host/team.hpp - one thread for each local rank, created once; a single rank runs on the caller's thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "communication/world.hpp"
#include "thread.hpp"

namespace cleave::backend::host {

class Team {
 public:
  explicit Team(World& world) : world_(world), failure_(static_cast<std::size_t>(world.here().size())) {
    schedule::Range const here = world.here();
    if (here.size() == 1) return;
    threads_.reserve(failure_.size());
    try {
      for (int r = here.begin; r < here.end; ++r) threads_.push_back(start_thread([this, r] { serve(r); }));
    } catch (...) {
      end();
      throw;
    }
  }
  ~Team() { end(); }
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;

  /// Runs `work(rank)` on all ranks of this process and returns when all are done; rethrows the first failure.
  template <class Work> void run(Work&& work) {
    if (threads_.empty()) return work(world_.here().begin);
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      call_ = [](void* w, int rank) { (*static_cast<std::remove_reference_t<Work>*>(w))(rank); };
      busy_ = static_cast<int>(threads_.size());
      ++order_;
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == 0; });
    for (auto& f : failure_) {
      if (f) std::rethrow_exception(std::exchange(f, nullptr));
    }
  }

 private:
  void end() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (auto& t : threads_) t.join();
  }
  void serve(int rank) {
    for (long seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return over_ || order_ > seen; });
        if (over_) return;
        seen = order_;
      }
      std::exception_ptr failed;
      try {
        call_(work_, rank);  // neither changes before all are done
      } catch (World::Stopped const&) {
      } catch (...) {
        failed = std::current_exception();
        world_.stop();
      }
      std::lock_guard lock(mutex_);
      failure_[static_cast<std::size_t>(rank - world_.here().begin)] =
          std::move(failed);  // the last owner is the one that rethrows it
      if (--busy_ == 0) changed_.notify_all();
    }
  }

  World& world_;
  std::vector<std::exception_ptr> failure_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  void* work_ = nullptr;
  void (*call_)(void*, int) = nullptr;
  int busy_ = 0;
  long order_ = 0;
  bool over_ = false;
};

}  // namespace cleave::backend::host
