// data/check_data.cpp - data sets and metrics that are wrong are found out, and told what is wrong with them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/check_data.hpp>
#include <cleave/data/span_set.hpp>
#include <cleave/layer/input.hpp>

#include <array>
#include <atomic>
#include <limits>
#include <memory>

using namespace cleave;

namespace {

enum class Mistake { None, Part, Infinite, Class, Label, Names, Shared, Throws };
/// Samples of two numbers and a class.
template <Mistake mistake> struct Points {
  using Input = Vector<2>;
  using Target = Class<3>;
  long count = 50;
  std::shared_ptr<std::atomic<int>> readers = std::make_shared<std::atomic<int>>(0);

  long size() const { return count; }
  void read(long i, std::span<float> x, int& y) const {
    int const others = readers->fetch_add(1);
    x[0] = static_cast<float>(i);
    if (mistake != Mistake::Part || i != 7) x[1] = static_cast<float>(i) / 2;
    y = static_cast<int>(i % 3);
    if (mistake == Mistake::Infinite && i == 9) x[1] = std::numeric_limits<float>::infinity();
    if (mistake == Mistake::Class && i == 49) y = 3;
    if (mistake == Mistake::Shared || mistake == Mistake::Throws) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (mistake == Mistake::Shared && others > 0) x[0] = -1;
      if (mistake == Mistake::Throws && others > 0) throw Error("the file is open already");
    }
    readers->fetch_sub(1);
  }
  int label(long i) const { return static_cast<int>((i + (mistake == Mistake::Label && i == 3)) % 3); }
  std::vector<std::string> class_names() const {
    return mistake == Mistake::Names ? std::vector<std::string>{"a"} : std::vector<std::string>{};
  }
};
template <Mistake mistake> std::string said() { return check_dataset(Points<mistake>()).text; }

/// The mean over the samples, but it merges means.
class MeanOfMeans {
 public:
  void add(std::span<float const> outputs, int) { sum_ += static_cast<double>(outputs[0]), ++samples_; }
  void merge(MeanOfMeans const& other) {
    sum_ = (value() + other.value()) / 2;
    samples_ = 1;
  }
  double value() const { return sum_ / static_cast<double>(samples_); }

 private:
  double sum_ = 0;
  long samples_ = 0;
};
/// The last sample's first output.
class Last {
 public:
  void add(std::span<float const> outputs, std::span<float const>) { last_ = static_cast<double>(outputs[0]); }
  void merge(Last const& other) { last_ = other.last_; }
  double value() const { return last_; }

 private:
  double last_ = std::numeric_limits<double>::quiet_NaN();
};
/// An accuracy that forgets its own samples when it is merged with none.
struct Forgets : Accuracy {
  bool some = false;
  void add(std::span<float const> outputs, int label) {
    some = true;
    Accuracy::add(outputs, label);
  }
  void merge(Forgets const& other) { other.some ? Accuracy::merge(other) : void(*this = Forgets{}); }
};
/// And one that takes nothing over if it has none.
struct Refuses : Forgets {
  void merge(Refuses const& other) {
    if (some) Accuracy::merge(other);
  }
};
struct Zero0 : Accuracy {
  double value() const { return std::isnan(Accuracy::value()) ? 0 : Accuracy::value(); }
};

}  // namespace

TEST_CASE("data sets that are right") {
  CHECK(said<Mistake::None>() == "right");
  std::array<float, 12> const x{};
  std::array<float, 6> const y{};
  CHECK(check_dataset(SpanSet<Vector<4>, Values<2>, float, float>(x, y)).text == "right");
}
TEST_CASE("what is wrong with a data set is told with the sample's number") {
  CHECK(said<Mistake::Part>() == "sample 7: a part of the input is not written, or not alike twice");
  CHECK(said<Mistake::Infinite>() == "sample 9: input 1 is inf");
  CHECK(said<Mistake::Class>() == "sample 49: class 3 of 3");
  CHECK(said<Mistake::Label>() == "sample 3: label() says class 1, read() 0");
  CHECK(said<Mistake::Names>() == "class_names() has 1 names, for 3 classes");
  CHECK(said<Mistake::Shared>().find(" differs when several threads read at once") != std::string::npos);
  CHECK(said<Mistake::Throws>() == "several threads read at once: the file is open already");
  CHECK(check_dataset(Points<Mistake::None>{.count = 0}).text == "there is no sample");
}
TEST_CASE("metrics that are right") {
  CHECK(check_metric<Accuracy>().text == "right");
  CHECK(check_metric<TopKAccuracy<2>>().text == "right");
  CHECK(check_metric<ConfusionMatrix>().text == "right");
  CHECK(check_metric<MacroF1>().text == "right");
  CHECK(check_metric<MeanAbsoluteError>().text == "right");
}
TEST_CASE("a mean of means, a value of the last sample, and a value of no samples") {
  CHECK(check_metric<MeanOfMeans>().text.find("four parts merged: ") == 0);
  CHECK(check_metric<Last>().text.find("samples in another order: ") == 0);
  CHECK(check_metric<Forgets>().text.find("one of no samples merged into all: nan, where") == 0);
  CHECK(check_metric<Refuses>().text.find("all merged into one of no samples: nan, where") == 0);
  CHECK(check_metric<Zero0>().text == "of no samples the value is 0, not NaN");
}
