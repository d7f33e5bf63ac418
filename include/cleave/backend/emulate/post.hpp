// backend/emulate/post.hpp - NCCL's functions between threads of one process, each with an emulated device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "machine.hpp"

namespace cleave::backend::emulate {

/// Messages between ranks: from one to another they arrive in the order in which they were sent.
class Office {
 public:
  void send(int from, int to, void const* at, std::size_t bytes) {
    auto const* const b = static_cast<std::byte const*>(at);
    std::lock_guard const lock(guard_);
    box_[{from, to}].emplace_back(b, b + bytes);
    changed_.notify_all();
  }
  /// False if nothing arrived within the deadline, or a message of another size: ranks that disagree on what to send.
  bool receive(int from, int to, void* at, std::size_t bytes, std::chrono::milliseconds deadline) {
    std::unique_lock lock(guard_);
    auto& box = box_[{from, to}];
    if (!changed_.wait_for(lock, deadline, [&] { return !box.empty(); })) return false;
    bool const fits = box.front().size() == bytes;
    if (fits) std::memcpy(at, box.front().data(), bytes);
    box.pop_front();
    return fits;
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> box_;
};

/// See nccl/link.hpp. A group becomes one piece of work on its stream: all sends, then all receives.
class Post {
 public:
  using Comm = int;
  struct Id {
    Office* office = nullptr;
  };
  static constexpr int in_progress = 7, not_connected = 5;

  explicit Post(Machine& machine, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : machine_(&machine), deadline_(deadline), result_(std::make_shared<int>(0)) {}

  int init(Comm* comm, int, Id const& id, int rank) {
    office_ = id.office;
    *comm = rank_ = rank;
    return 0;
  }
  int group_start() {
    group_.clear();
    return 0;
  }
  int send(void const* at, std::size_t bytes, int peer, Comm, int stream) {
    group_.push_back({peer, true, const_cast<void*>(at), bytes});
    stream_ = stream;
    return 0;
  }
  int recv(void* at, std::size_t bytes, int peer, Comm, int stream) {
    group_.push_back({peer, false, at, bytes});
    stream_ = stream;
    return 0;
  }
  /// As with NCCL, a peer is connected by the first transfer, which is not allowed in a capture.
  int group_end() {
    for (Item const& i : group_) {
      if (connected_.insert({i.peer, i.sends}).second && machine_->captures(stream_)) return not_connected;
    }
    machine_->call(stream_, [group = group_, office = office_, me = rank_, deadline = deadline_, result = result_] {
      for (Item const& i : group) {
        if (i.sends) office->send(me, i.peer, i.at, i.bytes);
      }
      for (Item const& i : group) {
        if (!i.sends && *result == 0 && !office->receive(i.peer, me, i.at, i.bytes, deadline)) *result = 6;
      }
    });
    return 0;
  }
  int async_error(Comm, int* result) const {
    *result = *result_;
    return 0;
  }
  static int abort(Comm) { return 0; }
  static int finalize(Comm) { return 0; }
  static int destroy(Comm) { return 0; }
  static std::string text(int result) {
    return result == not_connected ? "the first transfer with a peer is in a capture"
                                   : "a rank did not send what this one expects";
  }

 private:
  struct Item {
    int peer;
    bool sends;
    void* at;
    std::size_t bytes;
  };
  Machine* machine_;
  std::chrono::milliseconds deadline_;
  std::shared_ptr<int> result_;
  Office* office_ = nullptr;
  std::vector<Item> group_;
  std::set<std::pair<int, bool>> connected_;  // peer, and whether this rank sends
  int stream_ = 0, rank_ = 0;
};

}  // namespace cleave::backend::emulate
