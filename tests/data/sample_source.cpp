// data/sample_source.cpp - any data set behind one function: its parts, what is held out, checks of what is read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/sample_source.hpp>
#include <cleave/layer/input.hpp>

#include <set>

using namespace cleave;
using session::SampleSource;

namespace {

/// Sample i is (i, 2 i) of class 0 for the first 70 %, 1 for the next 20 %, 2 for the rest.
struct Numbers {
  using Input = Vector<2>;
  using Target = Class<3>;
  long n = 100;
  long size() const { return n; }
  int label(long i) const { return i * 10 < 7 * n ? 0 : i * 10 < 9 * n ? 1 : 2; }
  void read(long i, std::span<float> x, int& y) const {
    x[0] = static_cast<float>(i);
    x[1] = static_cast<float>(2 * i);
    y = label(i);
  }
};
struct Line {
  using Input = Vector<1>;
  using Target = Values<1>;
  int size() const { return 10; }
  void read(long i, std::span<float> x, std::span<float> y) const { y[0] = 3 * (x[0] = static_cast<float>(i)); }
};
struct Varied : Line {
  using Line::read;
  void read(long i, Draw const& draw, std::span<float> x, std::span<float> y) const {
    read(i, x, y);
    x[0] += 100 * static_cast<float>(draw.epoch);
  }
};

}  // namespace

TEST_CASE("a data set is read through its source; a varied one with a draw, and as it is without one") {
  Varied const varied;
  SampleSource const s = session::source_of(varied);
  CHECK(s.size() == 10);
  CHECK(s.outputs == 1);
  CHECK(!s.has_labels());
  CHECK(s.varied);
  CHECK(!session::source_of(Line{}).varied);
  float x = 0, y = 0;
  s.read(4, nullptr, &x, nullptr, &y);
  CHECK(x == 4);
  CHECK(y == 12);
  Draw const draw{1, 2, 0, 4};
  s.read(4, &draw, &x, nullptr, &y);
  CHECK(x == 204);
  Numbers const numbers;
  SampleSource const classes = session::source_of(numbers);
  CHECK(classes.classes == 3);
  float in[2];
  int label = 0;
  classes.only({3, 95}).read(1, nullptr, in, &label, nullptr);
  CHECK(in[1] == 190);
  CHECK(label == 2);
}
TEST_CASE("a share of every class is held out, every sample is in one part, and the seed draws them") {
  Numbers const numbers;
  SampleSource const all = session::source_of(numbers);
  auto const [training, held_out] = session::split(all, 0.2, 7);
  CHECK(training.size() == 80);
  CHECK(held_out.size() == 20);
  std::set<int> seen(training.part->begin(), training.part->end());
  int of_class[3]{};
  for (int i : *held_out.part) {
    seen.insert(i);
    ++of_class[numbers.label(i)];
  }
  CHECK(seen.size() == 100);
  CHECK(of_class[0] == 14);
  CHECK(of_class[1] == 4);
  CHECK(of_class[2] == 2);
  CHECK(*session::split(all, 0.2, 7).second.part == *held_out.part);
  CHECK(*session::split(all, 0.2, 8).second.part != *held_out.part);
  auto const [first, second] = session::split(held_out, 0.5, 1);  // of a part, samples of that part
  for (auto const* part : {&first, &second})
    for (int i : *part->part) CHECK(std::count(held_out.part->begin(), held_out.part->end(), i) == 1);
  CHECK(first.size() + second.size() == 20);
}
TEST_CASE("without classes, samples are held out at random") {
  Line const line;
  auto const [training, held_out] = session::split(session::source_of(line), 0.3, 1);
  CHECK(training.size() == 7);
  CHECK(held_out.size() == 3);
  CHECK(*held_out.part != std::vector<int>{7, 8, 9});
}
TEST_CASE("the scaling is that of the samples of the part") {
  Numbers const numbers;
  session::Scaling const s = session::scaling_of(session::source_of(numbers).only({1, 3}));
  CHECK(s.mean == std::vector<float>{2, 4});
  CHECK(s.deviation == std::vector<float>{1, 2});
}
TEST_CASE("what does not fit is told with the sample's number in the data set") {
  Numbers const numbers;
  Line const line;
  SampleSource const part = session::source_of(numbers).only({5, 17}), values = session::source_of(line);
  constexpr session::TokenRange nine{0, 2, 9};
  session::SampleCheck const check{{"CrossEntropy", 3, op::Target::Class}}, shares{{"", 1, op::Target::Shares}},
      tokens{{"CrossEntropy", 3, op::Target::Class}, {&nine, 1}};
  float x[2] = {1, 2};
  int const label[] = {0, 1, 2, 3, -1};
  CHECK_NOTHROW(check(part, 1, x, &label[2], nullptr));
  CHECK_THROWS_WITH_AS(check(part, 1, x, &label[3], nullptr), "sample 17: label 3, but there are 3 classes, 0 to 2",
                       Error);
  CHECK_THROWS_WITH_AS(check(part, 1, x, &label[4], nullptr), doctest::Contains("sample 17: label -1"), Error);
  CHECK_NOTHROW(tokens(part, 1, x, &label[0], nullptr));
  x[1] = 2.5f;
  CHECK_THROWS_WITH_AS(tokens(part, 0, x, &label[0], nullptr),
                       "sample 5: number 1 is 2.5, which is no token of Embedding<9, ...>; tokens are whole, 0 to 8",
                       Error);
  x[1] = NAN;
  CHECK_THROWS_WITH_AS(check(part, 1, x, &label[0], nullptr), "sample 17: number 1 is not finite; leave the sample out",
                       Error);
  float target = 1;
  CHECK_NOTHROW(shares(values, 2, x, nullptr, &target));
  target = 1.5f;
  CHECK_THROWS_WITH_AS(shares(values, 2, x, nullptr, &target), "sample 2: target 0 is 1.5, but labels are from 0 to 1",
                       Error);
  target = INFINITY;
  CHECK_THROWS_WITH_AS(shares(values, 2, x, nullptr, &target), doctest::Contains("sample 2: target 0 is inf"), Error);
}
TEST_CASE("the checksum tells other sizes, inputs, targets") {
  Line const line;
  SampleSource const all = session::source_of(line);
  std::set<std::uint64_t> seen{session::checksum_of(all), session::checksum_of(all.only({0, 1, 2})),
                               session::checksum_of(all.only({0, 2, 3})), session::checksum_of(all.only({1, 2, 3}))};
  Numbers const numbers;
  seen.insert(session::checksum_of(session::source_of(numbers)));
  CHECK(seen.size() == 5);
  CHECK(session::checksum_of(all) == session::checksum_of(session::source_of(line)));
}
