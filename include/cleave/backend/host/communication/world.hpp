// backend/host/communication/world.hpp - ranks as threads of one process, or of each of several: arenas and progress counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../../../meta/error.hpp"
#include "../../../schedule/arena.hpp"
#include "../../../schedule/slices.hpp"
#include "cores.hpp"

namespace cleave::backend::host {

/// Communication with other processes, each of which has as many ranks, in their order. Of a peer in another process
/// each rank has a shadow, memory with the layout of the peer's arena, into which data is fetched before it is read.
/// The ranks of a process call tell, fetch and progress at any time.
struct Remote {
  /// Bytes of a rank's arena: `lines` of so many, `apart` from one to the next, in each of `blocks`.
  struct ArenaPart {
    int rank;
    long offset, bytes;
    long lines = 1, apart = 0, blocks = 1, block_apart = 0;
  };
  virtual ~Remote() = default;
  /// Makes the table of counters, and later the arenas of this process's ranks, by their numbers, visible to the
  /// others.
  virtual void share_counters(std::atomic<long>* table) = 0;
  virtual void share_arenas(std::byte* const* of_rank) = 0;
  virtual void end_sharing() = 0;                         // waits for all processes, so that none reads freed memory
  virtual void tell(std::size_t counter, long mark) = 0;  // to all, after all that was written to the arena
  virtual void fetch(int process, ArenaPart from, std::byte* to, std::chrono::milliseconds deadline) = 0;
  virtual void progress() = 0;                      // answers the others; called while waiting or computing for long
  virtual void sum(double* values, int count) = 0;  // over all processes, in their order: for losses and counts
  virtual int process() const = 0;                  // this one
  virtual int processes() const = 0;
};

/// Every step that communicates has a counter on every rank, which only grows. A rank writes its counters and reads
/// those of the others.
class World {
 public:
  World(schedule::Ranks ranks, int steps, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : ranks_(ranks),
        stride_((static_cast<std::size_t>(steps) + 7) / 8 * 8),
        deadline_(deadline),
        spins_(spins_of(ranks.world())),
        reached_(new std::atomic<long>[stride_ * static_cast<std::size_t>(ranks.world())]()),
        letters_(has_two(ranks) ? new Letter[static_cast<std::size_t>(ranks.world() << ranks.axes) * 2] : nullptr),
        arenas_(static_cast<std::size_t>(ranks.world())),
        here_{0, ranks.world()} {}
  /// The ranks of several processes, of which each has as many.
  World(schedule::Ranks ranks, int steps, Remote* remote, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : World(ranks, steps, deadline) {
    if (!remote) return;
    if (ranks.world() % remote->processes() != 0) {
      throw Error({ranks.world(), " ranks, but there are ", remote->processes(),
                   " processes, and each has as many; the ranks are a multiple of the processes"});
    }
    remote_ = remote;
    here_ = schedule::slices(ranks.world(), remote->process(), remote->processes());
    if (here_.size() > 1) spins_ = spins_of(here_.size());
    remote_->share_counters(reached_.get());
  }
  Remote* remote() const { return remote_; }
  /// The ranks of this process.
  schedule::Range here() const { return here_; }
  bool here(int rank) const { return here_.begin <= rank && rank < here_.end; }
  /// Called when the arenas of all ranks here are known: they are shown to the other processes, and each rank here gets
  /// address space for `bytes` of each rank elsewhere, whose pages are allocated when touched.
  void share(std::size_t bytes) {
    if (!remote_) return;
    if (here_.size() < ranks_.world()) {
      constexpr std::size_t page = 4096;
      shadow_ = (bytes + page - 1) / page * page;
      auto const all = shadow_ * static_cast<std::size_t>(here_.size()) * static_cast<std::size_t>(ranks_.world());
      void* const at = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) throw Error({"no address space for ", all, " bytes of the arenas of other processes"});
      shadows_ = {static_cast<std::byte*>(at), Unmap{all}};
    }
    remote_->share_arenas(arenas_.data());
  }
  /// Makes a part of a rank's arena readable by `reader`, a rank of this process.
  void fetch(int reader, Remote::ArenaPart const& of) {
    if (here(of.rank)) return;
    remote_->fetch(of.rank / here_.size(), of, seen_by(reader, of.rank) + of.offset, deadline_);
  }

  schedule::Ranks const& ranks() const { return ranks_; }
  /// Of a rank of this process.
  std::byte*& arena(int rank) { return arenas_[static_cast<std::size_t>(rank)]; }
  /// The arena of any rank as `reader` sees it, which has fetched what it reads of those elsewhere.
  std::byte* seen_by(int reader, int rank) {
    if (here(rank)) return arena(rank);
    return shadows_.get() + shadow_ * static_cast<std::size_t>((reader - here_.begin) * ranks_.world() + rank);
  }

  void progress() {
    if (remote_) remote_->progress();
  }
  /// Sets a flag; earlier writes are visible to every rank that sees it.
  void reach(int rank, int step, long mark) {
    counter(rank, step).store(mark, std::memory_order_release);
    if (remote_) remote_->tell(index(rank, step), mark);
  }
  bool reached(int rank, int step, long mark) { return counter(rank, step).load(std::memory_order_acquire) >= mark; }

  /// A sum so small that it travels with its flag; a few elements, in one cache line.
  struct alignas(64) Letter {
    static constexpr long room = 4096 - 8;
    std::atomic<long> mark{0};
    std::byte body[room];
  };
  /// A rank's mailbox slot `number` in a group. There are two of each, which is enough for two ranks that write in
  /// turn: a rank that has read the peer's slot k writes k + 1, and the peer wrote k after it had read k - 1.
  Letter& letter(int rank, schedule::AxisSet over, long number) {
    return letters_[static_cast<std::size_t>((rank << ranks_.axes) + static_cast<int>(over.bits)) * 2 +
                    static_cast<std::size_t>(number % 2)];
  }

  /// Waits until a rank has reached a mark; on timeout throws an error that names the ranks and the step.
  void await(int rank, int step, long mark, int waiting) {
    await_until(rank, step, waiting, [&] { return reached(rank, step, mark); });
  }
  template <class There> void await_until(int rank, int step, int waiting, There const& there) {
    if (there()) return;
    for (int spin = 0; spin < spins_; ++spin) {
      if (there()) return;
      remote_ ? remote_->progress() : pause();
    }
    auto const until = std::chrono::steady_clock::now() + deadline_;
    while (!there()) {
      if (stopped_.load(std::memory_order_relaxed)) throw Stopped{};
      if (std::chrono::steady_clock::now() > until) {
        throw Error({"rank ", waiting, " waited ", deadline_.count(), " ms for rank ", rank, " at step ", step,
                     " of the schedule; is it still alive?"});
      }
      if (remote_) remote_->progress();
      sched_yield();
    }
  }

  /// One rank has failed: ends the waits of the others.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  /// Call before a step: after a failed step the ranks' counters are stale, and they would not wait.
  void check() const {
    if (!stopped_.load(std::memory_order_relaxed)) return;
    throw Error("an earlier step has failed, and its ranks are not at one point; make a new trainer");
  }
  struct Stopped {};

 private:
  static bool has_two(schedule::Ranks const& ranks) {
    return std::any_of(std::begin(ranks.size), std::end(ranks.size), [](int n) { return n == 2; });
  }
  static int spins_of(int ranks) { return ranks <= cores() ? 2000 : 20; }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::size_t index(int rank, int step) const {
    return static_cast<std::size_t>(rank) * stride_ + static_cast<std::size_t>(step);
  }
  std::atomic<long>& counter(int rank, int step) { return reached_[index(rank, step)]; }

  schedule::Ranks ranks_;
  std::size_t stride_;
  std::chrono::milliseconds deadline_;
  int spins_;  // before a thread yields; more would keep a core from the rank that it waits for, if they share one
  std::atomic<bool> stopped_{false};
  std::unique_ptr<std::atomic<long>[]> reached_;
  std::unique_ptr<Letter[]> letters_;
  std::vector<std::byte*> arenas_;
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* at) const { ::munmap(at, bytes); }
  };
  std::unique_ptr<std::byte, Unmap> shadows_;  // of each rank elsewhere, for each rank here
  std::size_t shadow_ = 0;                     // bytes of one
  Remote* remote_ = nullptr;
  schedule::Range here_;
};

}  // namespace cleave::backend::host
