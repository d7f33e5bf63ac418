// data/token_sequence.hpp - windows of a sequence of tokens, with the token that comes next as the class of each position.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <utility>

#include "../layer/input.hpp"
#include "../meta/error.hpp"
#include "dataset.hpp"

namespace cleave::session {

/// What TextWindows and TokenWindows share. Source has `size()`, the token `[i]` as an int, `unit`, what it counts, and
/// `remedy`, the end of the message about a token outside the vocabulary.
template <class Source, int Positions, int Vocabulary> class TokenSequence {
 public:
  using Input = Vector<Positions>;
  using Target = Class<Vocabulary, Positions>;
  static constexpr bool series = true;
  static constexpr int overlap = 1;

  /// The tokens after the last window are where it may begin later.
  long size() const { return source_.size() / Positions - 1; }
  void read(long i, std::span<float> x, std::span<int> y) const { window(i * Positions, x, y); }
  void read(long i, Draw const& draw, std::span<float> x, std::span<int> y) const {
    window(i * Positions + draw.below(Positions, 0), x, y);
  }

 protected:
  TokenSequence(std::string path, Source source) : source_(std::move(source)), path_(std::move(path)) {
    if (size() < 1)
      throw Error(
          {path_, ": ", source_.size(), " ", Source::unit, "s, but the fewest for a window are ", 2 * Positions});
  }
  /// Throws Error if a token is outside the vocabulary.
  void check_all() const {
    for (long i = 0; i < source_.size(); ++i) token(i);
  }

 private:
  void window(long from, std::span<float> x, std::span<int> y) const {
    int next = token(from);
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(next);
      y[k] = next = token(from + static_cast<long>(k) + 1);
    }
  }
  int token(long i) const {
    int const t = source_[i];
    if (t < 0 || t >= Vocabulary)
      throw Error({path_, ": ", Source::unit, " ", i, " is ", t, ", but the vocabulary has tokens 0 to ",
                   Vocabulary - 1, Source::remedy});
    return t;
  }

  Source source_;
  std::string path_;
};

}  // namespace cleave::session
