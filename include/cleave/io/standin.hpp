// io/standin.hpp - generates images in the format of CIFAR-10, for training without the real set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cleave/io/images.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

inline constexpr std::array<std::string_view, 10> standin_names{
    "disc",     "ring",    "square", "triangle", "cross", "level stripes", "upright stripes", "diagonal stripes",
    "checkers", "two dots"};

/// Random numbers from a counter (splitmix64): picture i is the same whatever was drawn before it.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed) + stream)) {}

  std::uint64_t bits() { return mix(state_ += 0x9E3779B97F4A7C15U); }
  /// Uniform in [low, high).
  float between(float low, float high) { return low + (high - low) * static_cast<float>(bits() >> 40) * 0x1p-24F; }
  /// 0 to count-1.
  int below(int count) { return static_cast<int>(bits() >> 33) % count; }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// The content of one image: a figure of `kind` around (x, y), turned by `angle`; lengths in pixels.
struct Figure {
  int kind = 0;
  float x = 0, y = 0, radius = 0, angle = 0;
  float period = 0, phase = 0;  // of stripes and checkers

  /// Draws everything but the kind at random. Stripes keep near the direction that defines them, other figures turn
  /// freely.
  Figure(int which, Dice& dice) : kind(which), radius(dice.between(9.5F, 14)) {
    float const room = 15.5F - 0.8F * radius;
    x = 15.5F + dice.between(-room, room);
    y = 15.5F + dice.between(-room, room);
    period = dice.between(4.5F, 7.5F);
    phase = dice.between(0, 1);
    constexpr float right_angle = 1.5707963F;
    float const wobble = dice.between(-0.2F, 0.2F);
    bool const rising = dice.below(2) == 1;
    angle = dice.between(0, 4 * right_angle);
    if (kind == 5) angle = wobble;
    if (kind == 6) angle = right_angle + wobble;
    if (kind == 7) angle = (rising ? 0.5F : 1.5F) * right_angle + wobble;
  }

  /// Distance to the figure's edge, negative inside.
  float distance(float px, float py) const { return turned_distance(px - x, py - y, std::cos(angle), std::sin(angle)); }

  float turned_distance(float dx, float dy, float cosine, float sine) const {
    float const u = cosine * dx + sine * dy;
    float const v = cosine * dy - sine * dx;
    float const away = std::sqrt(u * u + v * v);
    float const r = radius;
    float const au = std::abs(u);
    float const av = std::abs(v);
    auto const stripes = [&](float w) {
      float const turns = w / period + phase;
      return (std::abs(turns - std::floor(turns) - 0.5F) - 0.25F) * period;
    };
    switch (kind) {
      case 0:
        return away - 0.85F * r;
      case 1:
        return std::abs(away - 0.75F * r) - 0.25F * r;
      case 2:
        return std::max(au, av) - 0.75F * r;
      case 3:
        return std::max(v, 0.866F * au - 0.5F * v) - 0.55F * r;
      case 4:
        return std::min(std::max(au - r, av - 0.28F * r), std::max(av - r, au - 0.28F * r));
      case 8: {
        float const a = 1.5F * stripes(u / 1.5F);
        float const b = 1.5F * stripes(v / 1.5F);
        return std::max(std::max(std::min(a, b), -std::max(a, b)), away - 1.15F * r);
      }
      case 9: {
        float const beside = au - 0.6F * r;
        return std::sqrt(beside * beside + v * v) - 0.38F * r;
      }
      default:
        return std::max(stripes(v), away - 1.1F * r);
    }
  }
};

/// One 32 x 32 picture in the making.
class Sketch {
 public:
  explicit Sketch(std::uint64_t seed, std::uint64_t stream) : dice_(seed, stream) {}

  void draw(int kind, std::span<unsigned char> pixels) {
    Figure const figure(kind, dice_);
    paint_ground();
    Colour const ink = contrasting(ground_);
    float const cosine = std::cos(figure.angle);
    float const sine = std::sin(figure.angle);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        float const d =
            figure.turned_distance(static_cast<float>(x) - figure.x, static_cast<float>(y) - figure.y, cosine, sine);
        blend(x, y, ink, std::clamp(0.5F - d, 0.0F, 1.0F));
      }
    }
    for (int specks = 2 + dice_.below(4); specks > 0; --specks) add_speck();
    add_line();
    develop(pixels);
  }

 private:
  static constexpr int side = 32;
  using Colour = std::array<float, 3>;

  Colour any_colour() { return {dice_.between(15, 240), dice_.between(15, 240), dice_.between(15, 240)}; }

  // Ground and ink come from one distribution and either may be the brighter: the mean picture of every class is the
  // same grey, which leaves a linear classifier next to nothing.
  Colour contrasting(Colour const& other) {
    for (;;) {
      Colour const colour = any_colour();
      float sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += (colour[c] - other[c]) * (colour[c] - other[c]);
      if (sum > 120 * 120) return colour;
    }
  }

  void paint_ground() {
    ground_ = any_colour();
    float const across = dice_.between(-1, 1);
    float const down = dice_.between(-1, 1);
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          at(x, y)[c] = ground_[c] + across * static_cast<float>(x - 16) + down * static_cast<float>(y - 16);
  }

  Colour& at(int x, int y) { return canvas_[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)]; }

  void blend(int x, int y, Colour const& colour, float share) {
    if (x < 0 || y < 0 || x >= side || y >= side) return;
    Colour& pixel = at(x, y);
    for (std::size_t c = 0; c < 3; ++c) pixel[c] += share * (colour[c] - pixel[c]);
  }

  void add_speck() {
    Colour const colour = any_colour();
    float const cx = dice_.between(0, side);
    float const cy = dice_.between(0, side);
    float const radius = dice_.between(0.7F, 1.5F);
    for (int y = static_cast<int>(cy) - 3; y <= static_cast<int>(cy) + 3; ++y)
      for (int x = static_cast<int>(cx) - 3; x <= static_cast<int>(cx) + 3; ++x)
        blend(
            x, y, colour,
            std::clamp(0.5F + radius - std::hypot(static_cast<float>(x) - cx, static_cast<float>(y) - cy), 0.0F, 1.0F));
  }

  void add_line() {
    Colour const colour = any_colour();
    float x = dice_.between(0, side);
    float y = dice_.between(0, side);
    float const angle = dice_.between(0, 6.2831853F);
    for (int steps = 6 + dice_.below(12); steps > 0; --steps, x += std::cos(angle), y += std::sin(angle))
      blend(static_cast<int>(x), static_cast<int>(y), colour, 0.8F);
  }

  // Noise with a triangular distribution, four values from each throw of 64 bits.
  void develop(std::span<unsigned char> pixels) {
    float const grain = dice_.between(3, 16) / 255;
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < side * side; ++i) {
        bits = i % 4 == 0 ? dice_.bits() : bits >> 16;
        float const noise = grain * (static_cast<float>(bits & 255) + static_cast<float>(bits >> 8 & 255) - 255);
        pixels[c * side * side + i] = static_cast<unsigned char>(std::clamp(canvas_[i][c] + noise, 0.0F, 255.0F));
      }
    }
  }

  Dice dice_;
  Colour ground_{};
  std::array<Colour, side * side> canvas_{};
};

/// Draws `count` images (3, 32, 32) of ten kinds of figure; every ten in a row have one of each kind in random order.
/// The same seed gives the same images; use another seed for the test set.
template <class = void> Images draw_standin(int count, std::uint64_t seed) {
  Images images{.count = count, .channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  images.pixels.resize(static_cast<std::size_t>(count) * images.stride());
  images.labels.resize(static_cast<std::size_t>(count));
  images.classes = 10;
  images.class_names.assign(standin_names.begin(), standin_names.end());
  std::array<unsigned char, 10> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    if (i % 10 == 0) {
      // From the same start each time, so that a picture's label depends on its place alone.
      for (std::size_t k = 0; k < 10; ++k) order[k] = static_cast<unsigned char>(k);
      Dice dice(~seed, i);
      for (int k = 9; k > 0; --k)
        std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(dice.below(k + 1))]);
    }
    images.labels[i] = order[i % 10];
    Sketch(seed, i).draw(order[i % 10], std::span(images.pixels).subspan(i * images.stride(), images.stride()));
  }
  return images;
}

}  // namespace cleave::io
