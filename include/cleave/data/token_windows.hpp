// data/token_windows.hpp - TokenWindows<positions, vocabulary>: a file of tokens as a data set for models of sequences.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../io/token_file.hpp"
#include "../layer/input.hpp"
#include "dataset.hpp"

namespace cleave {

/// `TokenWindows<1024, 50257> const text("fineweb_train_000001.bin");`: as TextWindows (text_file.hpp), of tokens: the
/// file is cut into windows of Positions tokens, sample i is window i, and the class of each position is the token that
/// comes next. In training each epoch draws where a window begins, up to Positions - 1 tokens later. The file is mapped
/// and may be larger than memory. Throws Error if it is none of tokens (token_file.hpp) or has no sample; a token
/// outside the vocabulary is told when it is read.
template <int Positions, int Vocabulary> class TokenWindows {
  static_assert(Positions >= 2 && Vocabulary >= 2,
                "TokenWindows<positions, vocabulary>: at least 2 positions, and a vocabulary of at least 2 tokens");

 public:
  using Input = Vector<Positions>;
  using Target = Class<Vocabulary, Positions>;
  static constexpr bool in_memory = false, series = true;
  static constexpr int overlap = 1;

  explicit TokenWindows(std::string const& path, TokenFormat format = TokenFormat::ByItsBeginning)
      : tokens_(path, format), path_(path) {
    if (size() < 1)
      throw Error({path, ": ", tokens_.size(), " tokens, but the fewest for a window are ", 2 * Positions});
  }
  /// The tokens after the last window are where it may begin later.
  long size() const { return tokens_.size() / Positions - 1; }
  void read(long i, std::span<float> x, std::span<int> y) const { window(i * Positions, x, y); }
  void read(long i, Draw const& draw, std::span<float> x, std::span<int> y) const {
    window(i * Positions + draw.below(Positions, 0), x, y);
  }

 private:
  void window(long from, std::span<float> x, std::span<int> y) const {
    int token = known(from);
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(token);
      y[k] = token = known(from + static_cast<long>(k) + 1);
    }
  }
  int known(long i) const {
    int const token = tokens_[i];
    if (token < 0 || token >= Vocabulary)
      throw Error({path_, ": token ", i, " is ", token, ", but the vocabulary has tokens 0 to ", Vocabulary - 1});
    return token;
  }

  io::TokenFile tokens_;
  std::string path_;
};

}  // namespace cleave
