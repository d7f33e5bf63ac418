// backend/emulate/seed.hpp - random numbers for every order that a real device leaves open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "../../meta/error.hpp"

namespace cleave::backend::emulate {

/// The seed of this process: CLEAVE_EMULATE_SEED, a whole number, if set; else random.
inline std::uint64_t seed() {
  static std::uint64_t const value = [] {
    char const* const text = std::getenv("CLEAVE_EMULATE_SEED");
    if (!text) return std::uint64_t{std::random_device{}()};
    char* end = nullptr;
    errno = 0;
    auto const number = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || errno != 0)
      throw Error({"CLEAVE_EMULATE_SEED: a whole number is wanted, got '", text, "'"});
    return std::uint64_t{number};
  }();
  return value;
}

/// A sequence of numbers for one device. The same seed and the same calls give the same order.
class Order {
 public:
  explicit Order(std::uint64_t of) : state_((seed() * 0x9e3779b97f4a7c15u) ^ (of * 0xd1342543de82ef95u)) {}
  /// Below n.
  std::size_t draw(std::size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(((state_ >> 32) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace cleave::backend::emulate
