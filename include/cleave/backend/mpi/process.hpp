// backend/mpi/process.hpp - this process among those of an MPI run; without CLEAVE_MPI, a process alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#if defined(CLEAVE_MPI)
#include "remote.hpp"
#else
#include "../host/communication/world.hpp"
#endif

namespace cleave::backend::mpi {

/// `Process process(launched_by_mpi);` starts MPI if the program was built with it and started by it.
class Process {
 public:
#if defined(CLEAVE_MPI)
  static constexpr bool has_mpi = true;
  explicit Process(bool start) : started_(start) {
    if (!started_) return;
    int before = 0, after = 0, given = 0;
    MPI_Initialized(&before);
    MPI_Finalized(&after);
    if (after != 0) throw Error("MPI has ended in this process, and cannot be started again");
    finalizes_ = before == 0;
    if (finalizes_) {
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
    } else {  // by the program
      MPI_Query_thread(&given);
    }
    if (given < MPI_THREAD_SERIALIZED)
      throw Error("MPI was started without threads; call MPI_Init_thread with MPI_THREAD_SERIALIZED");
    remote_ = std::make_unique<Remote>();
  }
  ~Process() {
    if (!started_) return;
    remote_.reset();
    if (finalizes_) MPI_Finalize();
  }
  Process(Process const&) = delete;
  Process& operator=(Process const&) = delete;
  int rank() const { return started_ ? remote_->process() : 0; }
  int size() const { return started_ ? remote_->processes() : 1; }
  host::Remote* remote() const { return remote_.get(); }
  /// One more, with messages of its own; every process makes it.
  std::unique_ptr<host::Remote> another_remote() const { return started_ ? std::make_unique<Remote>() : nullptr; }
  /// The first rank whose number differs from rank 0's; -1 if all are equal.
  int stranger(std::uint64_t number) const {
    if (!started_) return -1;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    MPI_Request request;
    MPI_Iallgather(&number, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, remote_->comm(), &request);
    remote_->wait(request, "to say what they are about to run");
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r] != all[0]) return static_cast<int>(r);
    }
    return -1;
  }
  /// Broadcasts rank 0's text.
  std::string from_first(std::string text) const {
    if (!started_) return text;
    int length = static_cast<int>(text.size());
    MPI_Request request;
    MPI_Ibcast(&length, 1, MPI_INT, 0, remote_->comm(), &request);
    remote_->wait(request, "to hear what rank 0 has read");
    text.resize(static_cast<std::size_t>(length));
    MPI_Ibcast(text.data(), length, MPI_CHAR, 0, remote_->comm(), &request);
    remote_->wait(request, "to hear what rank 0 has read");
    return text;
  }
  /// Ends every process of the run: one has failed, and the others would wait for it.
  void abort(int code) {
    if (started_) MPI_Abort(MPI_COMM_WORLD, code);
  }

 private:
  bool started_, finalizes_ = false;
  std::unique_ptr<Remote> remote_;
#else
  static constexpr bool has_mpi = false;
  explicit Process(bool) {}
  // NOLINTBEGIN(readability-convert-member-functions-to-static): a user sees one class
  int rank() const { return 0; }
  int size() const { return 1; }
  host::Remote* remote() const { return nullptr; }
  std::unique_ptr<host::Remote> another_remote() const { return nullptr; }
  int stranger(std::uint64_t) const { return -1; }
  std::string from_first(std::string text) const { return text; }
  void abort(int) {}
  // NOLINTEND(readability-convert-member-functions-to-static)
#endif
};

}  // namespace cleave::backend::mpi
