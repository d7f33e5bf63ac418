// data/metrics.hpp - what is measured of a model's outputs beside the loss: Accuracy, TopKAccuracy, MacroF1, MeanIou and others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../meta/error.hpp"

namespace cleave {

/// A metric is a value that samples are added to. `merge` adds the samples of another one; the order of additions and
/// the grouping of merges do not matter beyond the rounding of sums. `value` of no samples is NaN.
/// Of a model that is compared with classes: `add` takes a sample's outputs and its class.
template <class M>
concept ClassMetric = std::semiregular<M> && requires(M m, M const& other, std::span<float const> outputs, int label) {
  m.add(outputs, label);
  m.merge(other);
  { other.value() } -> std::convertible_to<double>;
};
/// Of a model that is compared with targets: `add` takes a sample's outputs and as many targets.
template <class M>
concept TargetMetric = std::semiregular<M> &&
    requires(M m, M const& other, std::span<float const> outputs, std::span<float const> target) {
  m.add(outputs, target);
  m.merge(other);
  { other.value() } -> std::convertible_to<double>;
};

namespace session {

/// How many outputs come before that of the label, when they are sorted with the largest first and equal ones by class.
/// An output that is not a number comes before all others, so that it never makes an answer right.
inline long outputs_before(std::span<float const> outputs, int label) {
  if (label < 0 || static_cast<std::size_t>(label) >= outputs.size())
    throw Error({"metric: label ", label, " of ", outputs.size(), " outputs"});
  float const own = outputs[static_cast<std::size_t>(label)];
  long before = 0;
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (j == static_cast<std::size_t>(label)) continue;
    bool const behind = j < static_cast<std::size_t>(label) ? outputs[j] < own : outputs[j] <= own;
    before += !behind;
  }
  return before;
}
/// The class of the largest output; -1 if one is not a number.
inline int answer_of(std::span<float const> outputs) {
  for (float const v : outputs)
    if (std::isnan(v)) return -1;
  return static_cast<int>(std::max_element(outputs.begin(), outputs.end()) - outputs.begin());
}
inline void check_widths(std::span<float const> outputs, std::span<float const> target) {
  if (outputs.size() != target.size())
    throw Error({"metric: ", target.size(), " targets for ", outputs.size(), " outputs"});
}
inline double share(double part, long of) { return of > 0 ? part / static_cast<double>(of) : std::nan(""); }

}  // namespace session

/// Right, wrong and missed answers of one class or label.
struct ClassCounts {
  long right = 0, wrong = 0, missed = 0;
  /// 2 right / (2 right + wrong + missed); NaN if it never occurs.
  double f1() const { return session::share(2.0 * static_cast<double>(right), 2 * right + wrong + missed); }
  /// Intersection over union: right / (right + wrong + missed); NaN if it never occurs.
  double iou() const { return session::share(static_cast<double>(right), right + wrong + missed); }
};

/// The share of samples among whose k largest outputs is that of their class.
template <int K> class TopKAccuracy {
  static_assert(K >= 1, "TopKAccuracy<k>: k is at least 1");

 public:
  static constexpr int k = K;
  void add(std::span<float const> outputs, int label) {
    right_ += session::outputs_before(outputs, label) < K && session::answer_of(outputs) >= 0;
    ++samples_;
  }
  void merge(TopKAccuracy const& other) {
    right_ += other.right_;
    samples_ += other.samples_;
  }
  double value() const { return session::share(static_cast<double>(right_), samples_); }

 private:
  long right_ = 0, samples_ = 0;
};

/// The share of samples whose largest output is that of their class; of several labels a sample (targets 0 and 1, for
/// BinaryCrossEntropy), the share of labels whose output is above 0 where the target is above one half, and only there.
class Accuracy {
 public:
  void add(std::span<float const> outputs, int label) {
    right_ += session::outputs_before(outputs, label) < 1;
    ++answers_;
  }
  void add(std::span<float const> outputs, std::span<float const> target) {
    session::check_widths(outputs, target);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      right_ += !std::isnan(outputs[i]) && (outputs[i] > 0) == (target[i] > 0.5f);
    answers_ += static_cast<long>(outputs.size());
  }
  void merge(Accuracy const& other) {
    right_ += other.right_;
    answers_ += other.answers_;
  }
  double value() const { return session::share(static_cast<double>(right_), answers_); }

 private:
  long right_ = 0, answers_ = 0;
};

/// Samples by their class and by the class of their largest output. Its value is the accuracy. Throws Error if an
/// output is not a number.
class ConfusionMatrix {
 public:
  /// The outputs are of as many classes in every call.
  void add(std::span<float const> outputs, int label) {
    session::outputs_before(outputs, label);  // the label is one of the classes
    resize(outputs.size());
    int const answer = session::answer_of(outputs);
    if (answer < 0) throw Error({"ConfusionMatrix: a sample of class ", label, " has an output that is not a number"});
    ++counts_[static_cast<std::size_t>(label) * classes_ + static_cast<std::size_t>(answer)];
  }
  void merge(ConfusionMatrix const& other) {
    if (other.classes_ == 0) return;
    resize(other.classes_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  int classes() const { return static_cast<int>(classes_); }
  /// Samples of class `truth` whose largest output is that of class `answer`.
  long count(int truth, int answer) const {
    if (truth < 0 || answer < 0 || truth >= classes() || answer >= classes())
      throw Error({"ConfusionMatrix: classes ", truth, " and ", answer, " of ", classes()});
    return counts_[static_cast<std::size_t>(truth) * classes_ + static_cast<std::size_t>(answer)];
  }
  double value() const {
    long right = 0, all = 0;
    for (int t = 0; t < classes(); ++t) {
      right += count(t, t);
      for (int a = 0; a < classes(); ++a) all += count(t, a);
    }
    return session::share(static_cast<double>(right), all);
  }
  ClassCounts of(int c) const {
    ClassCounts out{count(c, c), 0, 0};
    for (int other = 0; other < classes(); ++other) {
      if (other == c) continue;
      out.wrong += count(other, c);
      out.missed += count(c, other);
    }
    return out;
  }
  /// Of the samples given this class, the share that is of it; of those of this class, the share that was given it.
  double precision(int c) const { return session::share(static_cast<double>(of(c).right), of(c).right + of(c).wrong); }
  double recall(int c) const { return session::share(static_cast<double>(of(c).right), of(c).right + of(c).missed); }
  /// A line for each class, with its samples by answer; right-aligned columns.
  std::string text() const {
    std::size_t width = 1;
    for (long n : counts_) width = std::max(width, std::to_string(n).size());
    std::string out;
    for (int t = 0; t < classes(); ++t) {
      for (int a = 0; a < classes(); ++a) {
        std::string const n = std::to_string(count(t, a));
        out += std::string(width - n.size() + (a > 0 ? 1 : 0), ' ') + n;
      }
      out += '\n';
    }
    return out;
  }

 private:
  void resize(std::size_t classes) {
    if (classes_ == 0) classes_ = classes, counts_.resize(classes * classes);
    if (classes_ != classes) throw Error({"ConfusionMatrix: ", classes, " outputs after some of ", classes_});
  }
  std::size_t classes_ = 0;
  std::vector<long> counts_;
};

namespace session {

/// The mean of a figure over all classes, or over all labels (targets 0 and 1, for BinaryCrossEntropy; an output above
/// 0 is a yes). A class that is neither given nor right for any sample is left out.
template <double (ClassCounts::*Figure)() const> class MeanOverClasses {
 public:
  void add(std::span<float const> outputs, int label) {
    bool const right = outputs_before(outputs, label) < 1;
    resize(outputs.size());
    int const answer = answer_of(outputs);
    if (right) return void(++of_[static_cast<std::size_t>(label)].right);
    ++of_[static_cast<std::size_t>(label)].missed;
    if (answer >= 0 && answer != label) ++of_[static_cast<std::size_t>(answer)].wrong;
  }
  void add(std::span<float const> outputs, std::span<float const> target) {
    check_widths(outputs, target);
    resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      bool const yes = outputs[i] > 0, is = target[i] > 0.5f;
      of_[i].right += yes && is;
      of_[i].wrong += yes && !is;
      of_[i].missed += !yes && is;
    }
  }
  void merge(MeanOverClasses const& other) {
    if (other.of_.empty()) return;
    resize(other.of_.size());
    for (std::size_t i = 0; i < of_.size(); ++i) {
      of_[i].right += other.of_[i].right;
      of_[i].wrong += other.of_[i].wrong;
      of_[i].missed += other.of_[i].missed;
    }
  }
  double value() const {
    double sum = 0;
    long classes = 0;
    for (ClassCounts const& c : of_) {
      if (std::isnan((c.*Figure)())) continue;
      sum += (c.*Figure)();
      ++classes;
    }
    return share(sum, classes);
  }

 private:
  void resize(std::size_t classes) {
    if (of_.empty()) of_.resize(classes);
    if (of_.size() != classes) throw Error({"metric: ", classes, " outputs after some of ", of_.size()});
  }
  std::vector<ClassCounts> of_;
};

}  // namespace session

/// The mean of the F1 scores of all classes or labels that occur.
class MacroF1 : public session::MeanOverClasses<&ClassCounts::f1> {};
/// The mean intersection over union of all classes or labels that occur (mIoU): of segmentation, where each pixel has a
/// class.
class MeanIou : public session::MeanOverClasses<&ClassCounts::iou> {};

/// The mean of |output - target| over samples and outputs, in the targets' unit.
class MeanAbsoluteError {
 public:
  void add(std::span<float const> outputs, std::span<float const> target) {
    session::check_widths(outputs, target);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      sum_ += std::abs(static_cast<double>(outputs[i]) - static_cast<double>(target[i]));
    numbers_ += static_cast<long>(outputs.size());
  }
  void merge(MeanAbsoluteError const& other) {
    sum_ += other.sum_;
    numbers_ += other.numbers_;
  }
  double value() const { return session::share(sum_, numbers_); }

 private:
  double sum_ = 0;
  long numbers_ = 0;
};

/// The root of the mean of (output - target)^2 over samples and outputs, in the targets' unit.
class RootMeanSquaredError {
 public:
  void add(std::span<float const> outputs, std::span<float const> target) {
    session::check_widths(outputs, target);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      double const gap = static_cast<double>(outputs[i]) - static_cast<double>(target[i]);
      sum_ += gap * gap;
    }
    numbers_ += static_cast<long>(outputs.size());
  }
  void merge(RootMeanSquaredError const& other) {
    sum_ += other.sum_;
    numbers_ += other.numbers_;
  }
  double value() const { return std::sqrt(session::share(sum_, numbers_)); }

 private:
  double sum_ = 0;
  long numbers_ = 0;
};

}  // namespace cleave
