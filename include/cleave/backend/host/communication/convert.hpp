// backend/host/communication/convert.hpp - runs the list of an exchange of values in shared memory: copies, and sums in order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>

#include "../../../schedule/transfer.hpp"
#include "all_reduce.hpp"

namespace cleave::backend::host {

/// Runs lists of conversions; sums are in the order of their sources. `buffer`: where each begins, in bytes.
template <class T> class Converter {
 public:
  Converter(Member& m, long const* buffer) : m_(m), buffer_(buffer) {}

  /// Blocks: each round waits for the ranks that may be read, the end for those that read this one.
  void run(schedule::TransferList const& list, int step) const {
    for (int round = 0; round < list.rounds(); ++round) {
      meet(step, round + 1);
      local(list, round);
    }
    meet(step, list.rounds() + 1);  // peers have read what this rank will overwrite
  }
  /// One round of a list that reads no peer, or whose peers are ready.
  void local(schedule::TransferList const& list, int round = 0) const {
    list.each(round, [&](schedule::Write const& w, std::span<schedule::Source const> sources) {
      for (schedule::Source const& s : sources) fetch(s);
      bool dense = w.at.dense();
      for (schedule::Source const& s : sources) dense = dense && s.at.dense();
      long const lines = dense ? 1 : w.at.count, width = w.at.size() / lines;
      T* const to = at<T>(m_.rank, w.to) + w.at.begin;
      if (w.what == schedule::Opcode::Copy) {
        T const* const from = line_of(sources[0], 0);
        for (long r = 0; r < lines; ++r)
          std::memcpy(to + r * w.at.apart, from + r * sources[0].at.apart, static_cast<std::size_t>(width) * sizeof(T));
      } else {
        for (long r = 0; r < lines; ++r) sum(to + r * w.at.apart, sources, r, width);
      }
    });
  }

 private:
  using A = tensor::accumulate_t<T>;
  template <class E> E* at(int rank, schedule::Location of) const { return m_.at<E>(rank, buffer_[of.index]); }
  void meet(int step, int phase) const {
    m_.reach(step, phase);
    m_.await(Axis::Model, step, phase);
  }
  /// Counts what is read, and brings it here if its rank is in another process.
  void fetch(schedule::Source const& s) const {
    m_.read_from(s.rank, s.at.size(), sizeof(T));
    if (m_.world->here(s.rank)) return;
    long const lines = s.at.dense() ? 1 : s.at.count, width = s.at.size() / lines;
    for (long r = 0; r < lines; ++r) m_.fetch<T>(s.rank, buffer_[s.in.index], s.at.begin + r * s.at.apart, width);
  }
  T const* line_of(schedule::Source const& s, long line) const {
    return at<T const>(s.rank, s.in) + s.at.begin + line * s.at.apart;
  }
  /// One line, in the order of the sources and in the accumulator's format.
  void sum(T* to, std::span<schedule::Source const> sources, long line, long n) const {
    constexpr long piece = 512;
    A total[piece];
    for (long first = 0; first < n; first += piece) {
      long const size = n - first < piece ? n - first : piece;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        T const* const x = line_of(sources[k], line) + first;
        if (k == 0) {
          for (long i = 0; i < size; ++i) total[i] = static_cast<A>(x[i]);
        } else {
          for (long i = 0; i < size; ++i) total[i] += static_cast<A>(x[i]);
        }
      }
      for (long i = 0; i < size; ++i) to[first + i] = static_cast<T>(total[i]);
    }
  }

  Member& m_;
  long const* buffer_;
};

}  // namespace cleave::backend::host
