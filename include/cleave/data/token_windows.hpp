// data/token_windows.hpp - TokenWindows<positions, vocabulary>: a file of tokens as a data set for models of sequences.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../io/token_file.hpp"
#include "token_sequence.hpp"

namespace cleave {

namespace session {

/// A file of tokens, mapped.
struct FileTokens : io::TokenFile {
  static constexpr auto unit = "token", remedy = "";
};

}  // namespace session

/// `TokenWindows<1024, 50257> const text("fineweb_train_000001.bin");`: as TextWindows (text_file.hpp), of tokens: the
/// file is cut into windows of Positions tokens, sample i is window i, and the class of each position is the token that
/// comes next. In training each epoch draws where a window begins, up to Positions - 1 tokens later. The file is mapped
/// and may be larger than memory. Throws Error if it is none of tokens (token_file.hpp) or has no sample; a token
/// outside the vocabulary is told when it is read.
template <int Positions, int Vocabulary>
class TokenWindows : public session::TokenSequence<session::FileTokens, Positions, Vocabulary> {
  static_assert(Positions >= 2 && Vocabulary >= 2,
                "TokenWindows<positions, vocabulary>: at least 2 positions, and a vocabulary of at least 2 tokens");

 public:
  static constexpr bool in_memory = false;

  explicit TokenWindows(std::string const& path, TokenFormat format = TokenFormat::ByItsBeginning)
      : TokenWindows::TokenSequence(path, {io::TokenFile(path, format)}) {}
};

}  // namespace cleave
