// run/data.cpp - shuffling is a permutation that depends on seed and epoch; scaling gives mean 0 and deviation 1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/run/data.hpp>

using namespace cleave;

TEST_CASE("rows 16, 18: an epoch shows each image once, in an order of its own") {
  io::Images images;
  images.count = 40;
  images.channels = images.height = images.width = 1;
  for (int i = 0; i < 40; ++i) {
    images.pixels.push_back(static_cast<unsigned char>(i));
    images.labels.push_back(static_cast<unsigned char>(i % 10));
  }
  session::Batches batches(images, session::Scaling{{0}, {1}}, 8, 1, true);
  std::vector<std::vector<float>> orders;
  for (long epoch : {0L, 1L, 0L}) {
    batches.shuffle(epoch);
    std::vector<float> order;
    for (long s = 0; s < batches.steps_per_epoch(); ++s) {
      float x[8];
      int label[8];
      auto const feed = batches.feed();
      feed.pixels(feed.self, epoch * 5 + s, 0, 8, x);
      feed.labels(feed.self, epoch * 5 + s, 0, 8, label);
      for (int i = 0; i < 8; ++i) {
        order.push_back(x[i]);
        CHECK(label[i] == static_cast<int>(x[i]) % 10);
      }
    }
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 40; ++i) REQUIRE(sorted[static_cast<std::size_t>(i)] == static_cast<float>(i));
    orders.push_back(order);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[0] == orders[2]);
}

TEST_CASE("scaled pixels have mean 0 and deviation 1; variation depends on the image, not on who asks") {
  io::Images const images = io::draw_standin(64, 5);
  session::Batches batches(images, session::Scaling::of(images), 64, 1, false);
  std::vector<float> x(64 * 3072), one(3072);
  auto const feed = batches.feed();
  feed.pixels(feed.self, 0, 0, 64, x.data());
  double sum = 0, squares = 0;
  for (float v : x) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  double const n = static_cast<double>(x.size());
  CHECK(sum / n == doctest::Approx(0).epsilon(1e-3));
  CHECK(squares / n == doctest::Approx(1).epsilon(1e-2));
  session::Batches varied(images, session::Scaling::of(images), 64, 1, false, {2, true});
  auto const moved = varied.feed();
  std::vector<float> y(64 * 3072);
  moved.pixels(moved.self, 0, 0, 64, y.data());
  moved.pixels(moved.self, 0, 17, 1, one.data());
  CHECK(std::equal(one.begin(), one.end(), y.begin() + 17 * 3072));
  CHECK(x != y);
}
