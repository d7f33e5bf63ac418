// data/batches.hpp - a data set as a feed: shuffled by epoch, standardised, optionally augmented.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../io/images.hpp"
#include "../io/samples.hpp"
#include "../tensor/philox.hpp"
#include "preprocessing.hpp"
#include "shuffle.hpp"

namespace cleave::session {

/// Random flips and shifts by up to `shift` pixels, drawn from (seed, epoch, global index): the same on any mesh.
struct Variation {
  int shift = 0;
  bool flip = false;
};

/// Throws Error if a set's arrays do not have the sizes that its `count` implies, or if it is empty.
inline void check_sizes(std::string const& name, int count, std::size_t inputs, std::size_t labels, std::size_t targets,
                        std::size_t each) {
  auto const n = static_cast<std::size_t>(count > 0 ? count : 0);
  auto const says = [&](std::size_t got, std::string const& what, std::size_t wanted) {
    throw Error({name, ": ", got, " ", what, " for ", count, " samples, not ", wanted});
  };
  if (n == 0) throw Error({name, ": no samples"});
  if (inputs != n * each || each == 0) says(inputs, "input numbers", n * each);
  if (labels != n && (labels > 0 || targets == 0)) says(labels, "labels", n);
  if (targets % n != 0) says(targets, "targets", (targets / n + 1) * n);
}
inline void check_sizes(std::string const& name, io::Images const& set) {
  check_sizes(name, set.count, set.pixels.size(), set.labels.size(), 0, set.stride());
}
inline void check_sizes(std::string const& name, io::Samples const& set) {
  check_sizes(name, set.count, set.inputs.size(), set.labels.size(), set.targets.size(), set.features());
}

/// A set (io::Images or io::Samples, which must outlive this) as a feed: step s of the run reads the batch s mod
/// steps_per_epoch of epoch s / steps_per_epoch. Throws Error if the set is empty or its sizes do not fit.
template <class Set> class Batches {
 public:
  Batches(Set const& set, Scaling scaling, int batch, std::uint64_t seed = 1, bool shuffled = true,
          Variation variation = {})
      : set_(set),
        mean_(std::move(scaling.mean)),
        inverse_(std::move(scaling.deviation)),
        batch_(batch),
        seed_(seed),
        shuffled_(shuffled),
        variation_(variation),
        order_(static_cast<std::size_t>(set.count > 0 ? set.count : 0)) {
    check_sizes("a data set", set);
    auto const channels = static_cast<std::size_t>(set.channel_count());
    if (mean_.empty()) mean_.assign(channels, 0), inverse_.assign(channels, 1);
    if (mean_.size() != channels || inverse_.size() != channels) {
      throw Error({"inputs of ", channels, " channels, but means of ", mean_.size(), " and deviations of ",
                   inverse_.size(), ": they are of another data set"});
    }
    for (float& v : inverse_) v = 1 / v;
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Full batches only in training; the last one may be short in evaluation.
  long steps_per_epoch() const { return set_.count / batch_; }
  long batches() const { return (set_.count + batch_ - 1) / batch_; }
  long valid(long batch) const { return std::min<long>(batch_, set_.count - batch * batch_); }

  /// Must be called before the steps of an epoch; allocates nothing.
  void shuffle(long epoch) { shuffle(epoch, epoch * steps_per_epoch()); }
  /// Of an epoch that begins at this step.
  void shuffle(long epoch, long first_step) {
    epoch_ = epoch;
    first_step_ = first_step;
    if (!shuffled_) return;
    session::shuffle(order_, {seed_, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(epoch)});
  }

  /// The feed must not outlive this.
  backend::host::Feed feed() const {
    backend::host::Feed out{this,
                            [](void const* self, long step, long first, int count, float* to) {
                              static_cast<Batches const*>(self)->inputs(step, first, count, to);
                            },
                            nullptr};
    if (!set_.labels.empty()) {
      out.labels = [](void const* self, long step, long first, int count, int* to) {
        auto const& me = *static_cast<Batches const*>(self);
        for (long s = first; s < first + count; ++s) *to++ = me.set_.label(me.index(step, s));
      };
    }
    if constexpr (!pictures) {
      if (!set_.targets.empty()) {
        out.targets = [](void const* self, long step, long first, int count, float* to) {
          auto const& me = *static_cast<Batches const*>(self);
          for (long s = first; s < first + count; ++s) {
            auto const target = me.set_.target(me.index(step, s));
            to = std::copy(target.begin(), target.end(), to);
          }
        };
      }
    }
    return out;
  }

 private:
  static constexpr bool pictures = std::is_same_v<Set, io::Images>;

  int index(long step, long first) const {
    long const at = (shuffled_ ? step - first_step_ : step) * batch_ + first, n = set_.count;
    return order_[static_cast<std::size_t>((at % n + n) % n)];
  }
  void inputs(long step, long first, int count, float* out) const {
    if constexpr (pictures) {
      pixels(step, first, count, out);
    } else {
      for (long s = first; s < first + count; ++s) {
        auto const x = set_.input(index(step, s));
        std::size_t const plane = x.size() / mean_.size();
        for (std::size_t i = 0; i < x.size(); ++i) *out++ = (x[i] - mean_[i / plane]) * inverse_[i / plane];
      }
    }
  }
  void pixels(long step, long first, int count, float* out) const {
    int const h = set_.height, w = set_.width;
    tensor::Random const draw{seed_, tensor::Purpose::Augment, static_cast<std::uint32_t>(epoch_)};
    for (long s = first; s < first + count; ++s) {
      int const i = index(step, s);
      unsigned char const* const picture = set_.picture(i).data();
      int dy = 0, dx = 0;
      bool flip = false;
      if (variation_.shift > 0 || variation_.flip) {
        tensor::Words const u = draw.at(static_cast<std::uint64_t>(i));
        auto const span = static_cast<unsigned>(2 * variation_.shift + 1);
        dy = static_cast<int>(u.a % span) - variation_.shift;
        dx = static_cast<int>(u.b % span) - variation_.shift;
        flip = variation_.flip && (u.c & 1u);
      }
      for (int c = 0; c < set_.channels; ++c) {
        float const mean = mean_[static_cast<std::size_t>(c)], inverse = inverse_[static_cast<std::size_t>(c)];
        for (int y = 0; y < h; ++y) {
          int const from = y + dy;
          unsigned char const* const line = picture + (static_cast<long>(c) * h + from) * w;
          for (int x = 0; x < w; ++x) {
            int const at = (flip ? w - 1 - x : x) + dx;
            bool const inside = from >= 0 && from < h && at >= 0 && at < w;
            *out++ = inside ? (static_cast<float>(line[at]) - mean) * inverse : 0.0f;
          }
        }
      }
    }
  }
  Set const& set_;
  std::vector<float> mean_, inverse_;  // by channels
  int batch_;
  std::uint64_t seed_;
  bool shuffled_;
  Variation variation_;
  long epoch_ = 0;
  long first_step_ = 0;  // of the epoch
  std::vector<int> order_;
};

}  // namespace cleave::session
