// data/preprocessing.hpp - the preprocessing of a model's inputs; saved in the checkpoint with the weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../io/safetensors.hpp"
#include "../meta/in_library.hpp"

namespace cleave::session {

/// Inputs of each channel are scaled as (x - mean) / deviation, with those of the training set, for both sets. Empty:
/// inputs are not scaled.
struct Scaling {
  std::vector<float> mean, deviation;

  /// For images by channel, for other samples by feature.
  template <class Set> static Scaling of(Set const& set);
  bool empty() const { return mean.empty(); }
  std::vector<float> inverse_deviations() const {
    std::vector<float> out = deviation;
    for (float& v : out) v = 1 / v;
    return out;
  }
};

/// Throws Error if a predictor's samples of `inputs` numbers have other channels.
inline void check_scaling(Scaling const& scaling, long inputs) {
  auto const channels = static_cast<long>(scaling.mean.size());
  if (channels > 0 && inputs % channels != 0)
    throw Error({"predict: means of ", channels, " channels, but samples of ", inputs,
                 " numbers; the checkpoint is of another model"});
}
/// One sample by a scaling's means and the inverses of its deviations: (channels, the numbers of each), or, by
/// position, (positions, channels).
inline void scale(std::span<float> x, std::vector<float> const& mean, std::vector<float> const& inverse,
                  bool by_position) {
  std::size_t const plane = mean.empty() ? 1 : x.size() / mean.size();
  for (std::size_t k = 0; !mean.empty() && k < x.size(); ++k) {
    std::size_t const c = by_position ? k % mean.size() : k / plane;
    x[k] = (x[k] - mean[c]) * inverse[c];
  }
}

/// The scaling of samples that are added one after the other.
class ScalingSum {
 public:
  explicit ScalingSum(int channels, bool by_position = false)
      : channel_(static_cast<std::size_t>(channels)), by_position_(by_position) {}

  /// x (channels, the numbers of each), or (positions, channels).
  template <class T> void add(std::span<T const> x) {
    std::size_t const plane = x.size() / channel_.size();
    for (std::size_t c = 0; c < channel_.size(); ++c) {
      Channel& of = channel_[c];
      std::size_t const from = by_position_ ? c : c * plane, step = by_position_ ? channel_.size() : 1;
      if (count_ == 0) of.origin = static_cast<double>(x[from]);
      for (std::size_t i = 0; i < plane; ++i) {
        double const d = static_cast<double>(x[from + i * step]) - of.origin;
        of.sum += d;
        of.squares += d * d;
      }
    }
    count_ += static_cast<double>(plane);
  }
  Scaling result() const {
    Scaling s;
    for (Channel const& of : channel_) {
      double const mean = of.sum / count_, variance = of.squares / count_ - mean * mean;
      s.mean.push_back(static_cast<float>(of.origin + mean));
      s.deviation.push_back(static_cast<float>(std::sqrt(variance > 0 ? variance : 1)));
    }
    return s;
  }

 private:
  struct Channel {
    double origin = 0, sum = 0, squares = 0;  // of differences from one of the numbers, which keeps them small
  };
  std::vector<Channel> channel_;
  bool by_position_;
  double count_ = 0;  // of numbers of a channel
};

template <class Set> Scaling Scaling::of(Set const& set) {
  ScalingSum sum(set.channel_count());
  for (int i = 0; i < set.count; ++i) {
    auto const x = set.input(i);
    sum.add(std::span<typename decltype(x)::value_type const>(x));
  }
  return sum.result();
}

struct Preprocessing {
  Scaling scaling;
  std::vector<std::string> class_names;  // in the order of their numbers; empty if the data have none
};

inline constexpr auto inputs_key = "inputs", class_names_key = "class_names";
inline constexpr auto mean_tensor = "preprocessing.mean", deviation_tensor = "preprocessing.deviation";

/// One name a line; in a name a newline is written as \\n, and a backslash as two.
inline std::string lines_of(std::vector<std::string> const& names) {
  std::string lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) lines += '\n';
    for (char const c : names[i]) {
      if (c == '\\' || c == '\n') lines += '\\';
      lines += c == '\n' ? 'n' : c;
    }
  }
  return lines;
}
inline std::vector<std::string> names_in(std::string const& lines) {
  std::vector<std::string> names(1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    char const next = lines[i] == '\\' && i + 1 < lines.size() ? lines[i + 1] : '\0';
    if (lines[i] == '\n') {
      names.emplace_back();
    } else if (next == 'n' || next == '\\') {
      names.back() += next == 'n' ? '\n' : '\\';
      ++i;
    } else {
      names.back() += lines[i];
    }
  }
  return names;
}

/// Adds to a checkpoint: f32 tensors "preprocessing.mean" and "preprocessing.deviation" (channels) in the units of the
/// data, and metadata: "inputs", which is "standardised" or "as given", and "class_names", as lines_of gives them. `p`
/// must outlive the write.
CLEAVE_IN_LIBRARY void add_preprocessing(Preprocessing const& p, std::vector<io::NamedTensor>& tensors,
                                         io::Metadata& metadata) {
  auto const add = [&](char const* name, std::vector<float> const& v) {
    tensors.push_back({name,
                       io::Dtype::F32,
                       {v.size()},
                       {reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof(float)}});
  };
  metadata.emplace_back(inputs_key, p.scaling.empty() ? "as given" : "standardised");
  if (!p.scaling.empty()) {
    add(mean_tensor, p.scaling.mean);
    add(deviation_tensor, p.scaling.deviation);
  }
  if (p.class_names.empty()) return;
  metadata.emplace_back(class_names_key, lines_of(p.class_names));
}

/// The preprocessing in a checkpoint; empty if it has none, as those of version 0.1. Throws Error.
CLEAVE_IN_LIBRARY std::optional<Preprocessing> saved_preprocessing(io::SafeTensors const& file,
                                                                   std::string const& path) {
  std::string const* const inputs = file.find_metadata(inputs_key);
  if (!inputs) return std::nullopt;
  Preprocessing p;
  if (std::string const* const lines = file.find_metadata(class_names_key)) p.class_names = names_in(*lines);
  if (*inputs == "as given") return p;
  auto const read = [&](char const* name, std::vector<float>& v) {
    io::NamedTensor const* const t = file.find(name);
    bool const known = t && t->dtype == io::Dtype::F32 && t->shape.size() == 1 && !t->bytes.empty();
    if (!known) throw Error({path, ": its inputs are standardised, but it has no f32 tensor ", name, " (channels)"});
    v.resize(t->shape[0]);
    std::memcpy(v.data(), t->bytes.data(), t->bytes.size());
    for (float x : v) {
      if (!std::isfinite(x)) throw Error({path, ": tensor ", name, " holds a number that is not finite"});
    }
  };
  read(mean_tensor, p.scaling.mean);
  read(deviation_tensor, p.scaling.deviation);
  if (p.scaling.mean.size() != p.scaling.deviation.size())
    throw Error({path, ": ", p.scaling.mean.size(), " means, but ", p.scaling.deviation.size(), " deviations"});
  for (float d : p.scaling.deviation) {
    if (!(d > 0)) throw Error({path, ": tensor ", deviation_tensor, " holds a number that is not above 0"});
  }
  return p;
}
CLEAVE_IN_LIBRARY std::optional<Preprocessing> saved_preprocessing(std::string const& path) {
  return saved_preprocessing(io::load_safetensors(path), path);
}

}  // namespace cleave::session
