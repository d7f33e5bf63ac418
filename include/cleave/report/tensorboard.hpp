// report/tensorboard.hpp - scalars for TensorBoard: its event files, without TensorFlow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "../io/checksum.hpp"
#include "../io/file.hpp"
#include "history.hpp"

namespace cleave {

/// `TensorBoard board("runs/first"); board.scalar("loss", step, loss);`, and `tensorboard --logdir runs` draws the
/// curves. A new file in the folder, which is made if it is missing. Throws Error if it cannot be written. As a
/// callback of `fit` it writes each epoch.
class TensorBoard {
 public:
  explicit TensorBoard(std::string const& folder) {
    io::make_folder(folder);
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    path_ = folder + "/events.out.tfevents." + std::to_string(static_cast<long>(now())) + "." + host + "." +
            std::to_string(getpid());
    for (int copy = 1; !(file_ = std::fopen(path_.c_str(), "wbxe")); ++copy) {
      if (errno != EEXIST) throw Error({path_, ": cannot open for writing: ", io::errno_text(errno)});
      path_ += "." + std::to_string(copy);
    }
    std::string event;
    put_double(event, 1, now());
    put_text(event, 3, "brain.Event:2");
    write(event);
  }
  ~TensorBoard() { std::fclose(file_); }
  TensorBoard(TensorBoard const&) = delete;
  TensorBoard& operator=(TensorBoard const&) = delete;

  /// Names with a slash are drawn in one group: "loss/training".
  void scalar(std::string_view name, long step, double value) {
    std::string of, summary, event;
    put_text(of, 1, name);
    put_key(of, 2, 5);
    put_fixed(of, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
    put_text(summary, 1, of);
    put_double(event, 1, now());
    put_key(event, 2, 0);
    put_varint(event, static_cast<std::uint64_t>(step));
    put_text(event, 5, summary);
    write(event);
  }
  /// What is known of an epoch, at its step: loss/training, loss/held_out, accuracy/held_out, and what is measured.
  void epoch(Epoch const& e) {
    scalar("loss/training", e.steps, e.loss);
    if (!std::isnan(e.val_loss)) scalar("loss/held_out", e.steps, e.val_loss);
    if (!std::isnan(e.val_accuracy)) scalar("accuracy/held_out", e.steps, e.val_accuracy);
    for (EpochValue const& m : e.measured) scalar(m.name, e.steps, m.value);
  }
  std::string const& path() const { return path_; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  // Protocol buffers (protobuf.dev/programming-guides/encoding), fields of event.proto of TensorFlow.
  static void put_varint(std::string& to, std::uint64_t v) {
    for (; v >= 128; v >>= 7) to += static_cast<char>(v | 128);
    to += static_cast<char>(v);
  }
  static void put_key(std::string& to, unsigned field, unsigned kind) { put_varint(to, field << 3 | kind); }
  static void put_fixed(std::string& to, std::uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(v >> (8 * i));
  }
  static void put_double(std::string& to, unsigned field, double v) {
    put_key(to, field, 1);
    put_fixed(to, std::bit_cast<std::uint64_t>(v), 8);
  }
  static void put_text(std::string& to, unsigned field, std::string_view text) {
    put_key(to, field, 2);
    put_varint(to, text.size());
    to += text;
  }
  /// A record of a TFRecord file: its length, the data, and a checksum of each.
  void write(std::string const& event) {
    std::string length, record;
    put_fixed(length, event.size(), 8);
    record = length;
    put_fixed(record, masked(length), 4);
    record += event;
    put_fixed(record, masked(event), 4);
    if (std::fwrite(record.data(), 1, record.size(), file_) != record.size() || std::fflush(file_) != 0)
      throw Error({path_, ": writing failed: ", io::errno_text(errno)});
  }
  static std::uint32_t masked(std::string_view text) {
    std::uint32_t const crc =
        io::Crc32c().add(io::Bytes(reinterpret_cast<unsigned char const*>(text.data()), text.size())).value();
    return (crc >> 15 | crc << 17) + 0xA282EAD8U;
  }

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace cleave
