// schedule/transfer.hpp - what an exchange consists of: rounds, what a rank writes in each, and what it reads for that.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace cleave::schedule {

/// How a rank makes what it writes from its sources.
enum class Opcode : unsigned char {
  Copy,    // one source
  Reduce,  // their sum
  Encode,  // a message of their sum
  Decode,  // the sum of messages, in the order of the ranks
  Apply,   // updates weights by one source, their gradient
  Clear,   // zeros, of no source
  Call     // the sum of the products of pairs of sources, inputs and output gradients, by the layer's kernels
};

/// Tensors of a rank's arena. Elements of the gradient's tensors count from the first of the bucket.
enum class Storage : unsigned char {
  Buffer,     // of the schedule; index: which
  Statistic,  // the same, in the format of sums over the batch that the model reads
  BatchSum,   // a branch of such a sum; index: which
  Gradient,   // a branch of a sum of gradients
  Wire,       // the same in the format of the data, where that is narrower
  Message,    // an encoded part of the gradient; index: which part
  Residual,   // what encoding leaves; index 1: of the sum
  Rows,       // the nonzero rows of a branch; as long as their header says
  Factors,    // inputs, then output gradients
  Weights,
  Copies,       // of the weights, as kernels read them, where these are not the weights
  OwnWeights,   // a rank's part of the weights, from its first element on, as others read it
  OwnGradient,  // a rank's part of a sum, where it is kept; in the format of Wire or in that of sums. index: which sum
  Squares,      // the sum of the squares of a way's gradients, or the digits of the sum of a part of them
  Norm          // the sum over all ways, or the digits of each
};
/// Whether the length of what is read is known in the run only: it stands at its beginning.
constexpr bool is_counted(Storage s) { return s == Storage::Rows; }

struct Location {
  Storage in = Storage::Buffer;
  int index = 0;
  friend constexpr bool operator==(Location, Location) = default;
};

/// Elements of a dense tensor: `count` lines of `width`, from the beginning of one to that of the next `apart`; and so
/// in each of `blocks`, likewise `block_apart`.
struct Strided {
  long begin = 0, count = 1, width = 0, apart = 0;
  long blocks = 1, block_apart = 0;
  constexpr long size_of_block() const { return count * width; }
  constexpr long size() const { return blocks * size_of_block(); }
  constexpr bool dense() const {
    return (count == 1 || width == apart) && (blocks == 1 || size_of_block() == block_apart);
  }
  constexpr long element(long i) const {
    long const in_block = i % size_of_block();
    return begin + i / size_of_block() * block_apart + in_block / width * apart + in_block % width;
  }
};

/// What a rank writes, always to its own memory. Its sources follow.
struct Write {
  Opcode what = Opcode::Copy;
  Location to;
  Strided at;
};

/// What it reads for that, from its own memory or a peer's. Sums are made on a stack: a source is pushed, then the two
/// upper sums are added as often as `merges` says.
struct Source {
  int rank = 0;
  Location in;
  Strided at;
  int merges = 0;
};

/// What one rank does in an exchange, made once. The rounds are those of all ranks; a round begins when the ranks that
/// it reads have ended the round before.
class TransferList {
 public:
  void round() { round_.push_back(write_.size()); }
  void write(Write const& w) {
    write_.push_back(w);
    first_source_.push_back(source_.size());
  }
  void source(Source const& s) { source_.push_back(s); }

  int rounds() const { return static_cast<int>(round_.size()); }
  /// The other ranks that `rank`, whose list this is, reads in a round; each once, in the order in which it does.
  std::vector<int> peers(int round, int rank) const {
    std::vector<int> out;
    each(round, [&](Write const&, std::span<Source const> sources) {
      for (Source const& s : sources) {
        if (s.rank != rank && std::find(out.begin(), out.end(), s.rank) == out.end()) out.push_back(s.rank);
      }
    });
    return out;
  }
  /// Calls visit(Write, its sources) for each of a round, in order.
  template <class Visit> void each(int round, Visit visit) const {
    auto const r = static_cast<std::size_t>(round), end = r + 1 < round_.size() ? round_[r + 1] : write_.size();
    for (std::size_t w = round_[r]; w < end; ++w) {
      std::size_t const first = first_source_[w], past = w + 1 < write_.size() ? first_source_[w + 1] : source_.size();
      visit(write_[w], std::span(source_).subspan(first, past - first));
    }
  }

 private:
  std::vector<std::size_t> round_;  // the first write of each
  std::vector<Write> write_;
  std::vector<std::size_t> first_source_;  // of each write
  std::vector<Source> source_;
};

}  // namespace cleave::schedule
