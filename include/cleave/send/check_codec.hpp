// send/check_codec.hpp - tests a user's gradient format: its bytes, its order, zeros, what is not finite, its residual.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../meta/check_report.hpp"
#include "../meta/text.hpp"
#include "../tensor/philox.hpp"
#include "codec.hpp"

namespace cleave {

namespace send {

/// Of numbers of type A.
template <Format F, class A> class CodecCheck {
 public:
  /// The first mistake; nothing if there is none.
  std::string wrong() {
    for (long n : {0L, 1L, 3L, 100L, long{F::block} + 1, 2 * long{F::block}, 1000L}) {
      std::string text = of_length(n);
      if (text.empty()) text = of_any_bytes(n);
      if (!text.empty()) return meta::joined({"of ", n, " elements: ", text});
    }
    if (std::string text = in_blocks(); !text.empty()) return text;
    if (std::string text = zeros(); !text.empty()) return text;
    if (std::string text = not_finite(); !text.empty()) return text;
    return residual();
  }

 private:
  using Bytes = std::vector<std::byte>;
  using Numbers = std::vector<A>;
  static constexpr std::size_t border = 64;

  static Numbers drawn(long n, std::uint32_t stream) {
    tensor::Random const random{7, tensor::Purpose::Augment, stream};
    Numbers out(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<A>(2 * random.uniform(i) - 1);
    return out;
  }
  /// The message at this distance from the beginning of memory that is full of `full`; more than it: in `around`.
  static Bytes encoded(Numbers const& g, std::size_t at, std::byte full, bool* around = nullptr) {
    long const n = static_cast<long>(g.size());
    auto const bytes = static_cast<std::size_t>(F::bytes(n));
    Bytes room(border + at + bytes + border, full);
    std::byte* const first = room.data() + border + at;
    F::encode(n, g.data(), first);
    auto const is_full = [&](std::byte b) { return b == full; };
    if (around) {
      *around =
          !std::all_of(room.data(), first, is_full) || !std::all_of(first + bytes, room.data() + room.size(), is_full);
    }
    return Bytes(first, first + bytes);
  }
  /// Elements that are left out are zero. `bad`: what is wrong with the calls of `to`.
  static Numbers decoded(long n, std::byte const* in, std::string* bad = nullptr) {
    Numbers out(static_cast<std::size_t>(n));
    long last = -1;
    F::template decode<A>(n, in, [&](long i, A v) {
      if (bad && bad->empty() && (i < 0 || i >= n))
        *bad = meta::joined({"decode calls to(", i, ", ...), which is no element"});
      if (bad && bad->empty() && i <= last)
        *bad = meta::joined({"decode calls to(", i, ", ...) after to(", last, ", ...)"});
      last = i;
      if (i >= 0 && i < n) out[static_cast<std::size_t>(i)] = v;
    });
    return out;
  }

  static std::string of_length(long n) {
    Numbers const g = drawn(n, 1);
    bool around = false;
    Bytes const message = encoded(g, 0, std::byte{0x5a}, &around);
    if (around) return "encode writes outside of its bytes(n)";
    if (encoded(g, 0, std::byte{0xa5}) != message) return "a part of bytes(n) is not written, or not alike twice";
    if (encoded(g, 1, std::byte{0x5a}) != message) return "encode depends on where it writes";
    std::string bad;
    Numbers const back = decoded(n, message.data(), &bad);
    if (!bad.empty()) return bad;
    Bytes moved(message.size() + 1);
    std::copy(message.begin(), message.end(), moved.begin() + 1);
    if (decoded(n, moved.data() + 1) != back) return "decode depends on where it reads, or is not alike twice";
    return {};
  }
  /// Of a message that may come from a network.
  static std::string of_any_bytes(long n) {
    tensor::Random const random{7, tensor::Purpose::Augment, 2};
    Bytes message(static_cast<std::size_t>(F::bytes(n)));
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(random.at(i, 0).a & 255u);
    std::string bad;
    decoded(n, message.data(), &bad);
    return bad.find("no element") == std::string::npos ? "" : "of random bytes " + bad;
  }
  static std::string in_blocks() {
    if (F::block <= 0) return {};
    long const n = 3 * F::block + (F::block > 1 ? 1 : 0);
    Numbers const g = drawn(n, 3);
    Bytes const message = encoded(g, 0, std::byte{0});
    Bytes joined;
    for (long first = 0; first < n; first += F::block) {
      Numbers const one(g.begin() + first, g.begin() + std::min(n, first + F::block));
      Bytes const part = encoded(one, 0, std::byte{0});
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined == message ? "" : "blocks of `block` elements that are encoded alone are not the message of all";
  }
  static std::string zeros() {
    if (!F::keeps_zeros) return {};
    Numbers g = drawn(1000, 4);
    for (std::size_t i = 0; i < g.size(); i += 3) g[i] = 0;
    Numbers const back = decoded(1000, encoded(g, 0, std::byte{0}).data());
    for (std::size_t i = 0; i < g.size(); i += 3) {
      if (back[i] != 0)
        return meta::joined(
            {"a zero becomes ", meta::short_number(static_cast<double>(back[i])), ", but it says keeps_zeros"});
    }
    return {};
  }
  static std::string not_finite() {
    for (A const bad : {std::numeric_limits<A>::quiet_NaN(), std::numeric_limits<A>::infinity()}) {
      Numbers g = drawn(1000, 5);
      g[500] = bad;
      bool stays = false;
      for (A const v : decoded(1000, encoded(g, 0, std::byte{0}).data())) stays = stays || !std::isfinite(v);
      if (!stays)
        return meta::joined(
            {"of numbers of which one is ", meta::short_number(static_cast<double>(bad)), " all come out finite"});
    }
    return {};
  }
  /// Of the same gradient, sent again and again with error feedback: what has not been sent yet stays bounded.
  static std::string residual() {
    constexpr long n = 1000;
    Numbers const g = drawn(n, 6);
    Numbers left(n), half;
    Bytes message(static_cast<std::size_t>(F::bytes(n)));
    auto const size = [](Numbers const& v) {
      double sum = 0;
      for (A const e : v) sum += static_cast<double>(e) * static_cast<double>(e);
      return std::sqrt(sum);
    };
    for (int k = 0; k < messages; ++k) {
      send::encode<F>(n, g.data(), left.data(), message.data());
      if (k == messages / 2) half = left;
    }
    double const before = size(half), after = size(left);
    if (after <= 1.5 * before + 1e-3 * size(g)) return {};
    return meta::joined({"with error feedback what is left grows from ", meta::short_number(before), " to ",
                         meta::short_number(after), " in ", messages / 2, " messages of one gradient"});
  }
  static constexpr int messages = 4000;
};

}  // namespace send

/// `check_codec<ThreeBytes>()`, of a format as `Compress` takes it, for f32 and f64: `encode` writes all of bytes(n)
/// and nothing else, wherever that is; `decode` calls for elements in rising order, none of which are outside, of
/// random bytes either; blocks, zeros and numbers that are not finite are as the format says and `send::Codec` asks;
/// and with error feedback what is not sent stays bounded. `resums` is not checked.
template <class Word> CheckReport check_codec() {
  using F = typename send::codec_of<Word>::is;
  std::string text = send::CodecCheck<F, float>().wrong();
  if (text.empty() && !(text = send::CodecCheck<F, double>().wrong()).empty()) text = "in f64, " + text;
  if (text.empty()) return {true, "right"};
  return {false, std::move(text)};
}

}  // namespace cleave
