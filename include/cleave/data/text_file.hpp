// data/text_file.hpp - a text as a data set: some bytes, and the byte that comes next.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../io/mapped_file.hpp"
#include "../layer/input.hpp"
#include "dataset.hpp"

namespace cleave {

/// `TextFile<64> const plays("shakespeare.txt");`: sample i is bytes i to i + Places - 1 as tokens 0 to 255, its class
/// is byte i + Places. The file is mapped. Throws Error if it has no sample.
template <int Places> class TextFile {
 public:
  using Input = Vector<Places>;
  using Target = Class<256>;
  static constexpr bool in_memory = true, series = true;

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

}  // namespace cleave
