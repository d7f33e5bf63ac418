// schedule/encoding.hpp - compressed gradients: which elements make one message, and its bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../op/verb.hpp"
#include "step.hpp"

namespace cleave::schedule {

/// A codec as a value; unless `on`, gradients are not compressed. (Under sanitizers g++ does not accept the address of
/// a function as a constant that is not null.)
struct Encoding {
  bool on = false;
  long (*bytes)(long elements) = nullptr;
  bool resums = true;    // ranks sum parts and send the encoded sums; otherwise every rank reads all messages
  bool feedback = true;  // the residual is kept for the next message
  std::string_view name;
  long workspace = 0;  // bytes, of a rank that sums
  constexpr explicit operator bool() const { return on; }
};

/// The messages that `elements` of a bucket make between n ranks: one for each part, or one for all.
constexpr int pieces(Encoding e, int n) { return e.resums ? n : 1; }
/// Where message p begins, after those before it.
constexpr long piece_begin(Encoding e, long elements, int p, int n) {
  long at = 0;
  for (int q = 0; q < p; ++q) at += e.bytes(op::part_size(elements, q, pieces(e, n)));
  return at;
}
constexpr long encoded_bytes(Encoding e, long elements, int n) {
  return n == 1 ? 0 : piece_begin(e, elements, pieces(e, n), n);
}

/// Neighbouring elements of a tensor.
struct Run {
  long begin, count;
};
/// The part of a bucket in shard s of n of a parameter server, which cuts `all` elements.
constexpr Run in_shard(Bucket const& b, int s, int n, long all) {
  long const from = op::part_begin(all, s, n), to = op::part_begin(all, s + 1, n), end = b.offset + b.count;
  long const begin = b.offset > from ? b.offset : from, past = end < to ? end : to;
  return {begin, past > begin ? past - begin : 0};
}
constexpr long pushed_bytes(Encoding e, Bucket const& b, int n, long all) {
  long sum = 0;
  for (int s = 0; s < n; ++s) sum += e.bytes(in_shard(b, s, n, all).count);
  return sum;
}

}  // namespace cleave::schedule
