// predict/packing.hpp - the formats that a Predictor computes in, and weights of 8 bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "../backend/host/kernels/kernel.hpp"

namespace cleave {

/// For `Predictor<Net, int8>` (predict/int8.hpp): weights of Linear and Conv are integers of 8 bits, with a scale for
/// each output; their inputs are rounded to 8 bits, with a scale for each sample, within PerPosition for each position;
/// all else is f32, also attention, recurrent layers and Tied ones.
struct int8 {};

namespace session {

/// A weight of 8 bits as it is saved: the integers in the order of the weight, and a factor for each output.
struct EightBitWeight {
  std::vector<std::int8_t> values;
  std::vector<float> scales;
};

/// How the weight of a node is packed; `bytes` 0: it is not.
struct Packing {
  long bytes = 0, elements = 0;
  int outputs = 0;
  int (*output_of)(long element) = nullptr;
  void (*pack)(std::byte* to, EightBitWeight const& from) = nullptr;
  void (*unpack)(EightBitWeight& to, std::byte const* from) = nullptr;

  /// Each output's weights are divided by the largest of their magnitudes / 127, and rounded; the scale of an output
  /// with a weight that is not finite is NaN.
  EightBitWeight rounded(float const* w) const {
    EightBitWeight to{std::vector<std::int8_t>(static_cast<std::size_t>(elements)),
                      std::vector<float>(static_cast<std::size_t>(outputs))};
    for (long e = 0; e < elements; ++e) {
      float& most = to.scales[static_cast<std::size_t>(output_of(e))];
      most = std::isfinite(w[e]) ? std::max(most, std::fabs(w[e])) : std::numeric_limits<float>::quiet_NaN();
    }
    for (float& s : to.scales) s = s < 127e-30f ? 1e-30f : s / 127;
    for (long e = 0; e < elements; ++e) {
      float const scale = to.scales[static_cast<std::size_t>(output_of(e))];
      if (std::isfinite(scale))
        to.values[static_cast<std::size_t>(e)] = static_cast<std::int8_t>(std::nearbyint(w[e] / scale));
    }
    return to;
  }
};

/// What a model of this format computes in, and with which kernels.
template <class Format> struct PredictionIn {
  static_assert(!std::is_same_v<Format, int8>, "Predictor<Net, int8>: #include <cleave/predict/int8.hpp>");
  static constexpr bool packs = false;
  using Number = Format;
  using On = backend::host::Host;
};

}  // namespace session
}  // namespace cleave
