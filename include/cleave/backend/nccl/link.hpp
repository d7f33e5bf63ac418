// backend/nccl/link.hpp - ranks as processes with a GPU each: transfers in groups, with deadlines and named errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../meta/error.hpp"
#include "../gpu/communication/ranks.hpp"

namespace cleave::backend::nccl {

/// `Api` is NCCL's functions (api.hpp), or a stand-in for tests. Results are 0 for success, `in_progress` for not yet,
/// and otherwise an error that text(result) explains.
///   get_unique_id(Id*), init(Comm*, ranks, Id, rank), group_start(), group_end(), send(at, bytes, peer, Comm, Stream),
///   recv(...), async_error(Comm, result*), abort(Comm), finalize(Comm), destroy(Comm)
/// Communicators do not block: an unfinished call is polled until it is done, or the deadline passes. After an error a
/// communicator is aborted and not used again.
template <class Api> class Link {
 public:
  static constexpr bool remote = true;
  using Id = typename Api::Id;

  Link(Api api, int rank, int size, Id const& id, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : api_(std::move(api)), rank_(rank), size_(size), deadline_(deadline) {
    settle(api_.init(&comm_, size, id, rank), "join the other ranks");
  }
  Link(Link const&) = delete;
  Link& operator=(Link const&) = delete;
  ~Link() {
    if (aborted_) return;
    try {
      settle(api_.finalize(comm_), "leave the other ranks");
      api_.destroy(comm_);
    } catch (Error const&) {  // aborted by then
    }
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  Api& api() { return api_; }

  /// Connects to each peer, both ways, since the first transfer in a capture would be too late. Waits.
  template <class Machine> void connect(Machine& machine, typename Machine::Stream stream) {
    double nothing = 0;
    sum(machine, stream, &nothing, 1);
  }
  /// One group: all its transfers, or an error and the end of the communicator.
  template <class Machine>
  void put(Machine&, typename Machine::Stream stream, std::vector<gpu::Transfer> const& transfers) {
    if (aborted_) throw Error({where(), "the communicator was aborted after an error"});
    settle(api_.group_start(), "begin a group");
    for (gpu::Transfer const& t : transfers) {
      auto const bytes = static_cast<std::size_t>(t.bytes);
      std::string const what = (t.sends ? "send " : "receive ") + std::to_string(t.bytes) + " bytes " +
                               (t.sends ? "to" : "from") + " rank " + std::to_string(t.peer);
      settle(t.sends ? api_.send(t.at, bytes, t.peer, comm_, stream) : api_.recv(t.at, bytes, t.peer, comm_, stream),
             what.c_str());
    }
    settle(api_.group_end(), "end a group");
  }
  /// Checks for asynchronous errors. A wait for a stream calls it at intervals, and says when it is late: then some
  /// rank has died, or hangs, and its transfers would never end.
  void waited(bool late) {
    check();
    if (!late || aborted_) return;
    abort();
    throw Error({where(), "what is sent and received did not end within the deadline; is every rank still alive? The ",
                 "communicator is aborted"});
  }
  void check() {
    int result = 0;
    if (aborted_) return;
    settle(api_.async_error(comm_, &result), "ask for errors");
    if (result != 0 && result != Api::in_progress) fail(result, "a transfer");
  }
  void abort() {
    if (!aborted_) api_.abort(comm_);
    aborted_ = true;
  }

  /// values (n) become their sums over the ranks, in the order of ranks. Not within a capture.
  template <class Machine> void sum(Machine& machine, typename Machine::Stream stream, double* values, int n) {
    Room const r = room(machine);
    for (int first = 0; first < n; first += most) {
      int const count = n - first < most ? n - first : most;
      std::memcpy(r.host, values + first, static_cast<std::size_t>(count) * sizeof(double));
      exchange(machine, stream, r, count * static_cast<long>(sizeof(double)), [](int) { return true; });
      for (int i = 0; i < count; ++i) {
        double all = 0;
        for (int p = 0; p < size_; ++p) all += (p == rank_ ? r.host : r.host + (p + 1) * most)[i];
        values[first + i] = all;
      }
    }
  }
  /// Broadcasts the owner's bytes.
  template <class Machine>
  void share(Machine& machine, typename Machine::Stream stream, int owner, void* data, long bytes) {
    Room const r = room(machine);
    long const piece = most * static_cast<long>(sizeof(double));
    for (long first = 0; first < bytes; first += piece) {
      auto const count = static_cast<std::size_t>(bytes - first < piece ? bytes - first : piece);
      auto* const at = static_cast<std::byte*>(data) + first;
      std::memcpy(r.host, at, count);
      exchange(machine, stream, r, static_cast<long>(count), [&](int from) { return from == owner; });
      if (rank_ != owner) std::memcpy(at, r.host + (owner + 1) * most, count);
    }
  }

 private:
  static constexpr int most = 4096;  // doubles at a time
  struct Room {
    double *host, *device;  // local values, then those of every rank
  };
  template <class Machine> Room room(Machine& machine) {
    if (!room_.host) {
      long const bytes = long{size_ + 1} * most * static_cast<long>(sizeof(double));
      room_ = {reinterpret_cast<double*>(machine.allocate_pinned(bytes)),
               reinterpret_cast<double*>(machine.allocate(bytes))};
    }
    return room_;
  }
  template <class Machine, class Sends>
  void exchange(Machine& machine, typename Machine::Stream stream, Room const& r, long bytes, Sends sends) {
    std::vector<gpu::Transfer> group;
    machine.copy(stream, r.device, r.host, bytes);
    for (int p = 0; p < size_; ++p) {
      if (p == rank_) continue;
      if (sends(rank_)) group.push_back({p, true, reinterpret_cast<std::byte*>(r.device), bytes});
      if (sends(p)) group.push_back({p, false, reinterpret_cast<std::byte*>(r.device + (p + 1) * most), bytes});
    }
    put(machine, stream, group);
    for (int p = 0; p < size_; ++p) {
      if (p != rank_ && sends(p)) machine.copy(stream, r.host + (p + 1) * most, r.device + (p + 1) * most, bytes);
    }
    machine.finish();
    check();
  }

  std::string where() const { return "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ": NCCL: "; }
  void settle(int result, char const* what) {
    auto const last = std::chrono::steady_clock::now() + deadline_;
    while (result == Api::in_progress) {
      if (std::chrono::steady_clock::now() > last) {
        abort();
        throw Error({where(), what, ": not done within ", deadline_.count(),
                     " ms; is every rank still alive? The communicator is aborted"});
      }
      std::this_thread::yield();
      int const asked = api_.async_error(comm_, &result);
      if (asked != 0) result = asked;
    }
    if (result != 0) fail(result, what);
  }
  [[noreturn]] void fail(int result, char const* what) {
    abort();
    throw Error({where(), what, ": ", api_.text(result), "; the communicator is aborted"});
  }

  Api api_;
  int rank_, size_;
  std::chrono::milliseconds deadline_;
  typename Api::Comm comm_{};
  Room room_{};
  bool aborted_ = false;
};

}  // namespace cleave::backend::nccl
