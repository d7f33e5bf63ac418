// data/text_file.hpp - a text as a data set: some bytes, and the byte that comes next, after the last or after each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../io/mapped_file.hpp"
#include "../layer/input.hpp"
#include "dataset.hpp"
#include "token_sequence.hpp"

namespace cleave {

/// `TextFile<64> const plays("shakespeare.txt");`: sample i is bytes i to i + Places - 1 as tokens 0 to 255, its class
/// is byte i + Places. The file is mapped. Throws Error if it has no sample.
template <int Places> class TextFile {
 public:
  using Input = Vector<Places>;
  using Target = Class<256>;
  static constexpr bool in_memory = true, series = true;
  static constexpr int overlap = Places;

  explicit TextFile(std::string const& path) : file_(path) {
    if (size() < 1) throw Error({path, ": ", file_.bytes().size(), " bytes, but a sample takes ", Places + 1});
  }
  long size() const { return static_cast<long>(file_.bytes().size()) - Places; }
  void read(long i, std::span<float> x, int& y) const {
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = static_cast<float>(file_.bytes()[static_cast<std::size_t>(i) + k]);
    y = label(i);
  }
  int label(long i) const { return file_.bytes()[static_cast<std::size_t>(i + Places)]; }

 private:
  io::MappedFile file_;
};

namespace session {

/// The bytes of a text as tokens.
struct TextBytes {
  static constexpr auto unit = "byte", remedy = "; say TextWindows<positions, 256>";
  io::MappedFile file;

  long size() const { return static_cast<long>(file.bytes().size()); }
  int operator[](long i) const { return file.bytes()[static_cast<std::size_t>(i)]; }
};

}  // namespace session

/// `TextWindows<64> const plays("shakespeare.txt");`: for models that compare each position. The text is cut into
/// windows of Positions bytes; sample i is window i as tokens, and the class of each position is the byte that comes
/// next. In training each epoch draws where a window begins, up to Positions - 1 bytes later, so that every byte is
/// read in every place. Bytes are below Vocabulary: 128 is enough for English. The file is mapped. Throws Error if it
/// has no sample, or a byte that is no token.
template <int Positions, int Vocabulary = 256>
class TextWindows : public session::TokenSequence<session::TextBytes, Positions, Vocabulary> {
  static_assert(Positions >= 2 && Vocabulary >= 1 && Vocabulary <= 256,
                "TextWindows<positions, vocabulary>: at least 2 positions, and a vocabulary of at most 256 bytes");

 public:
  static constexpr bool in_memory = true;

  explicit TextWindows(std::string const& path) : TextWindows::TokenSequence(path, {io::MappedFile(path)}) {
    this->check_all();
  }
};

}  // namespace cleave
