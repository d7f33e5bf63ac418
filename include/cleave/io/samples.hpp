// io/samples.hpp - a set of samples as numbers, each with a class or with targets, for data that are not images.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "../meta/error.hpp"

namespace cleave::io {

/// `Samples samples; samples.add({0.5f}, {std::sin(0.5f)});` All samples have as many inputs as the first, and all a
/// label or all as many targets.
struct Samples {
  int count = 0;
  std::vector<float> inputs;   ///< (count, features)
  std::vector<int> labels;     ///< (count), or empty
  std::vector<float> targets;  ///< (count, outputs), or empty
  int classes = 0;             ///< labels are below this; 0: unknown
  std::vector<std::string> class_names{};

  using Numbers = std::span<float const>;
  using List = std::initializer_list<float>;
  void add(Numbers x, Numbers y) {
    check(x, targets.size(), y.size(), "targets");
    targets.insert(targets.end(), y.begin(), y.end());
    append(x);
  }
  void add(Numbers x, std::integral auto label) {
    check(x, labels.size(), 1, "labels");
    labels.push_back(static_cast<int>(label));
    append(x);
  }
  void add(List x, List y) { add(Numbers(x.begin(), x.size()), Numbers(y.begin(), y.size())); }
  void add(List x, std::integral auto label) { add(Numbers(x.begin(), x.size()), label); }

  std::size_t features() const { return each(inputs.size()); }
  std::size_t outputs() const { return each(targets.size()); }
  Numbers input(int i) const { return row(inputs, features(), i); }
  Numbers target(int i) const { return row(targets, outputs(), i); }
  int channel_count() const { return static_cast<int>(features()); }
  int label(int i) const { return labels[static_cast<std::size_t>(i)]; }

  /// Keeps the first `limit` samples; a negative limit keeps all.
  void keep_first(int limit) {
    if (limit < 0 || limit >= count) return;
    std::size_t const n = static_cast<std::size_t>(limit), x = features(), y = outputs();
    inputs.resize(n * x);
    targets.resize(n * y);
    if (!labels.empty()) labels.resize(n);
    count = limit;
  }

 private:
  std::size_t each(std::size_t all) const { return count > 0 ? all / static_cast<std::size_t>(count) : 0; }
  static Numbers row(std::vector<float> const& of, std::size_t n, int i) {
    return Numbers(of).subspan(static_cast<std::size_t>(i) * n, n);
  }
  void check(Numbers x, std::size_t answers, std::size_t more, char const* what) const {
    std::string const at = "sample " + std::to_string(count) + ": ";
    if (x.empty() || more == 0) throw Error({at, "has no ", (x.empty() ? "inputs" : what)});
    if (count > 0 && x.size() != features()) {
      throw Error({at, x.size(), " inputs, those before it have ", features()});
    }
    if (count > 0 && each(answers) != more) {
      throw Error({at, more, " ", what, ", those before it have ", each(answers)});
    }
  }
  void append(Numbers x) {
    inputs.insert(inputs.end(), x.begin(), x.end());
    ++count;
  }
};

}  // namespace cleave::io
