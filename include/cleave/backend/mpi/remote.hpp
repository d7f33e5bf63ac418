// backend/mpi/remote.hpp - ranks in MPI processes: flags are sent, tensors are requested, and sums are those of threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C interface only
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "../host/communication/world.hpp"

namespace cleave::backend::mpi {

/// Every collective of the host backend runs here unchanged, in the same order and with the same bits: a flag is a
/// small message to all processes, and a rank requests what it reads from a peer's arena when the flags say that it is
/// ready. No call of a run blocks inside MPI (its start and MPI_Finalize do): a waiting rank answers other processes
/// meanwhile, until its deadline. The ranks of a process call MPI one at a time.
class Remote : public host::Remote {
 public:
  /// With a separate communicator, so that no other traffic mixes in.
  explicit Remote(MPI_Comm over = MPI_COMM_WORLD) {
    MPI_Comm_dup(over, &comm_);
    MPI_Comm_rank(comm_, &process_);
    MPI_Comm_size(comm_, &size_);
    received_.resize(static_cast<std::size_t>(size_));
  }
  ~Remote() override {
    if (open_) return;  // after a failure: the peers may never come
    MPI_Comm_free(&comm_);
  }
  Remote(Remote const&) = delete;
  Remote& operator=(Remote const&) = delete;

  int process() const override { return process_; }
  int processes() const override { return size_; }
  MPI_Comm comm() const { return comm_; }

  void share_counters(std::atomic<long>* table) override {
    table_ = table;
    open_ = size_ > 1;
  }
  void share_arenas(std::byte* const* of_rank) override {
    arenas_ = of_rank;
    double nothing = 0;
    sum(&nothing, 1);  // a barrier
  }
  void end_sharing() override {
    if (!open_) return;
    std::vector<double> told(static_cast<std::size_t>(size_));
    told[static_cast<std::size_t>(process_)] = static_cast<double>(told_);
    sum(told.data(), size_);  // all have read what they need
    for (int r = 0; r < size_; ++r) {
      auto const k = static_cast<std::size_t>(r);
      wait_until([&] { return r == process_ || static_cast<double>(received_[k]) >= told[k]; },
                 "to end what they sent");
    }
    wait_until([&] { return sending_.empty(); }, "to take what was sent");
    told_ = 0;
    received_.assign(received_.size(), 0);
    open_ = false;
  }
  void tell(std::size_t counter, long mark) override {
    std::lock_guard const lock(calls);
    ++told_;
    for (int r = 0; r < size_; ++r) {
      if (r == process_) continue;
      Sending& s = begin();
      s.words[0] = static_cast<long>(counter);
      s.words[1] = mark;
      MPI_Isend(s.words, 2, MPI_LONG, r, marks, comm_, &s.request);
    }
  }
  void fetch(int process, ArenaPart from, std::byte* to, std::chrono::milliseconds deadline) override {
    auto const until = std::chrono::steady_clock::now() + deadline;
    long const most = from.lines * from.blocks > 1 ? from.bytes : 1L << 30;  // MPI counts in int
    for (long at = 0; at < from.bytes; at += most) {
      ArenaPart some = from;
      some.offset += at;
      some.bytes = std::min(from.bytes - at, most);
      MPI_Request arriving = ask(process, some, to + at);
      while (!has_ended(arriving)) {
        turn();
        if (std::chrono::steady_clock::now() > until) {
          throw Error({"process ", process_, " waited ", deadline.count(), " ms for ",
                       some.bytes * some.lines * some.blocks, " bytes of rank ", from.rank, "; is it still alive?"});
        }
      }
    }
  }
  void progress() override {
    std::unique_lock const lock(calls, std::try_to_lock);
    if (!lock || !open_) return;  // another rank of this process does it
    for (;;) {
      int any = 0;
      MPI_Message message;
      MPI_Status status;
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &any, &message, &status);
      if (!any) break;
      long words[most_words];
      MPI_Mrecv(words, most_words, MPI_LONG, &message, MPI_STATUS_IGNORE);
      if (status.MPI_TAG == marks) {
        ++received_[static_cast<std::size_t>(status.MPI_SOURCE)];
        table_[words[0]].store(words[1], std::memory_order_release);
      } else {
        ArenaPart const part{static_cast<int>(words[0]), words[1], words[2], words[3], words[4], words[5], words[6]};
        Sending& s = begin();
        Elements const of(part);
        MPI_Isend(arenas_[part.rank] + part.offset, of.count, of.type, status.MPI_SOURCE, data, comm_, &s.request);
      }
    }
    for (std::size_t i = 0; i < sending_.size();) {
      int gone = 0;
      MPI_Test(&sending_[i]->request, &gone, MPI_STATUS_IGNORE);
      if (!gone) {
        ++i;
        continue;
      }
      std::swap(sending_[i], sending_.back());
      spare_.push_back(std::move(sending_.back()));
      sending_.pop_back();
    }
  }
  /// Waits for a collective; answers other processes meanwhile.
  void wait(MPI_Request& all, char const* what) {
    wait_until([&] { return has_ended(all); }, what);
  }
  void sum(double* values, int count) override {
    gathered_.resize(static_cast<std::size_t>(count * size_));
    MPI_Request all;
    {
      std::lock_guard const lock(calls);
      MPI_Iallgather(values, count, MPI_DOUBLE, gathered_.data(), count, MPI_DOUBLE, comm_, &all);
    }
    wait(all, "to come to the end of their steps");
    for (int i = 0; i < count; ++i) {
      values[i] = 0;
      for (int r = 0; r < size_; ++r) values[i] += gathered_[static_cast<std::size_t>(r * count + i)];
    }
  }

 private:
  enum Tag { marks = 1, wanted, data };
  static constexpr std::chrono::seconds longest{600};  // between steps one rank may write files while the others wait
  static constexpr int most_words = 7;
  struct Sending {
    long words[most_words];
    MPI_Request request;
  };
  /// A part of an arena as MPI counts it. A type may be freed while messages of it are on their way.
  struct Elements {
    MPI_Datatype type = MPI_BYTE, lines = MPI_DATATYPE_NULL;
    int count;
    explicit Elements(ArenaPart const& of) : count(static_cast<int>(of.bytes)) {
      if (of.lines * of.blocks == 1) return;
      MPI_Type_create_hvector(static_cast<int>(of.lines), count, of.apart, MPI_BYTE, &lines);
      MPI_Type_create_hvector(static_cast<int>(of.blocks), 1, of.block_apart, lines, &type);
      MPI_Type_commit(&type);
      count = 1;
    }
    ~Elements() {
      if (lines == MPI_DATATYPE_NULL) return;
      MPI_Type_free(&type);
      MPI_Type_free(&lines);
    }
    Elements(Elements const&) = delete;
    Elements& operator=(Elements const&) = delete;
  };
  static bool has_ended(MPI_Request& request) {
    std::lock_guard const lock(calls);
    int there = 0;
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    return there != 0;
  }
  /// Both in one, so that of two ranks that ask the same process each gets its own answer: they come in this order.
  MPI_Request ask(int process, ArenaPart from, std::byte* to) {
    std::lock_guard const lock(calls);
    MPI_Request arriving;
    Elements const of(from);
    MPI_Irecv(to, of.count, of.type, process, data, comm_, &arriving);
    Sending& s = begin();
    long const words[] = {from.rank, from.offset, from.bytes, from.lines, from.apart, from.blocks, from.block_apart};
    std::copy_n(words, most_words, s.words);
    MPI_Isend(s.words, most_words, MPI_LONG, process, wanted, comm_, &s.request);
    return arriving;
  }
  /// A message in flight; its slot is reused after it has arrived.
  Sending& begin() {
    if (spare_.empty()) spare_.push_back(std::make_unique<Sending>());
    sending_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    return *sending_.back();
  }
  template <class There> void wait_until(There const& there, char const* what) {
    auto const until = std::chrono::steady_clock::now() + longest;
    while (!there()) {
      turn();
      if (std::chrono::steady_clock::now() > until) {
        throw Error({"process ", process_, " waited ", longest.count(), " s for all others ", what,
                     "; is one of them still alive?"});
      }
    }
  }
  void turn() {
    progress();
    sched_yield();
  }

  inline static std::mutex calls;  // of MPI, one at a time
  MPI_Comm comm_ = MPI_COMM_NULL;
  int process_ = 0, size_ = 1;
  std::atomic<long>* table_ = nullptr;
  std::byte* const* arenas_ = nullptr;  // by rank
  bool open_ = false;
  long told_ = 0;               // flags sent to each process
  std::vector<long> received_;  // flags received from each
  std::vector<std::unique_ptr<Sending>> sending_, spare_;
  std::vector<double> gathered_;
};

}  // namespace cleave::backend::mpi
