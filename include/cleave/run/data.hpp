// run/data.hpp - images as training sees them: shuffled by epoch, scaled to mean 0 and deviation 1, perhaps varied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "../backend/host/rank.hpp"
#include "../io/cifar.hpp"
#include "../io/idx.hpp"
#include "../io/standin.hpp"
#include "../tensor/philox.hpp"

namespace cleave {

namespace session {

/// What pixels of each channel are scaled by: those of the training set, for both sets.
struct Scaling {
  std::vector<float> mean, inverse;

  static Scaling of(io::Images const& images) {
    Scaling s;
    long const plane = long{images.height} * images.width;
    for (int c = 0; c < images.channels; ++c) {
      double sum = 0, squares = 0;
      for (int i = 0; i < images.count; ++i) {
        unsigned char const* p = images.picture(i).data() + c * plane;
        for (long k = 0; k < plane; ++k) {
          sum += p[k];
          squares += double{p[k] * 1.0} * p[k];
        }
      }
      double const n = static_cast<double>(plane) * images.count, mean = sum / n, variance = squares / n - mean * mean;
      s.mean.push_back(static_cast<float>(mean));
      s.inverse.push_back(static_cast<float>(1 / std::sqrt(variance > 0 ? variance : 1)));
    }
    return s;
  }
};

/// Random flips and shifts by up to `shift` pixels, drawn from (seed, epoch, global index): the same on any mesh.
struct Variation {
  int shift = 0;
  bool flip = false;
};

/// A training set as a feed: step s of the run reads the batch s mod steps_per_epoch of epoch s / steps_per_epoch.
class Batches {
 public:
  Batches(io::Images const& images, Scaling scaling, int batch, std::uint64_t seed, bool shuffled,
          Variation variation = {})
      : images_(images),
        scaling_(std::move(scaling)),
        batch_(batch),
        seed_(seed),
        shuffled_(shuffled),
        variation_(variation),
        order_(static_cast<std::size_t>(images.count)) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Full batches only in training; the last one may be short in evaluation.
  long steps_per_epoch() const { return images_.count / batch_; }
  long batches() const { return (images_.count + batch_ - 1) / batch_; }
  long valid(long batch) const { return std::min<long>(batch_, images_.count - batch * batch_); }

  /// Must be called before the steps of an epoch; allocates nothing.
  void shuffle(long epoch) {
    epoch_ = epoch;
    if (!shuffled_) return;
    std::iota(order_.begin(), order_.end(), 0);
    tensor::Random const draw{seed_, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(epoch)};
    for (std::size_t i = order_.size() - 1; i > 0; --i) {
      std::swap(order_[i], order_[draw.below(static_cast<std::uint32_t>(i + 1), i)]);
    }
  }

  backend::host::Feed feed() const {
    return {this,
            [](void const* self, long step, long first, int count, float* out) {
              static_cast<Batches const*>(self)->pixels(step, first, count, out);
            },
            [](void const* self, long step, long first, int count, int* out) {
              static_cast<Batches const*>(self)->labels(step, first, count, out);
            }};
  }

 private:
  std::size_t index(long step, long first) const {
    long const at = (shuffled_ ? step - epoch_ * steps_per_epoch() : step) * batch_ + first;
    return static_cast<std::size_t>(order_[static_cast<std::size_t>(at % images_.count)]);
  }
  void pixels(long step, long first, int count, float* out) const {
    int const h = images_.height, w = images_.width;
    tensor::Random const draw{seed_, tensor::Purpose::Augment, static_cast<std::uint32_t>(epoch_)};
    for (long s = first; s < first + count; ++s) {
      std::size_t const i = index(step, s);
      unsigned char const* const picture = images_.picture(static_cast<int>(i)).data();
      int dy = 0, dx = 0;
      bool flip = false;
      if (variation_.shift > 0 || variation_.flip) {
        tensor::Words const u = draw.at(i);
        auto const span = static_cast<unsigned>(2 * variation_.shift + 1);
        dy = static_cast<int>(u.a % span) - variation_.shift;
        dx = static_cast<int>(u.b % span) - variation_.shift;
        flip = variation_.flip && (u.c & 1u);
      }
      for (int c = 0; c < images_.channels; ++c) {
        float const mean = scaling_.mean[static_cast<std::size_t>(c)],
                    inverse = scaling_.inverse[static_cast<std::size_t>(c)];
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
  void labels(long step, long first, int count, int* out) const {
    for (long s = first; s < first + count; ++s) *out++ = images_.label(static_cast<int>(index(step, s)));
  }

  io::Images const& images_;
  Scaling scaling_;
  int batch_;
  std::uint64_t seed_;
  bool shuffled_;
  Variation variation_;
  long epoch_ = 0;
  std::vector<int> order_;
};

/// What a program trains on, and what it holds out; an error where they are not for the plan's model and batch.
struct Sets {
  io::Images training, held_out;
};
template <class P, class Data> Sets read_for(std::FILE* say, std::string const& folder, int limit) {
  std::string note;
  Sets s{Data::read(folder, io::Split::Train, note), Data::read(folder, io::Split::Test, note)};
  if (!note.empty()) std::fprintf(say, "%s\n", note.c_str());
  if (limit > 0) s.training.keep_first(limit);
  io::Images const& t = s.training;
  constexpr long values = P::Net::input::shape.size();
  if (long{t.channels} * t.height * t.width != values) {
    throw Error(std::string(Data::name) + ": images of " + std::to_string(t.stride()) + " values, the model takes " +
                std::to_string(values));
  }
  if (t.count < P::batch) {
    throw Error(std::string(Data::name) + ": " + std::to_string(t.count) + " images are fewer than one batch of " +
                std::to_string(P::batch));
  }
  return s;
}

}  // namespace session

/// MNIST from a folder with its four files.
struct Mnist {
  static constexpr auto name = "MNIST";
  static constexpr session::Variation variation{};
  static io::Images read(std::string const& folder, io::Split split, std::string&) {
    if (folder.empty()) throw Error("MNIST is not here: say --data DIR, a folder with the four files *-ubyte");
    return io::read_mnist(folder, split);
  }
};

/// CIFAR-10 from a folder with its six files; without one, a stand-in of the same format that is drawn here.
struct Cifar10 {
  static constexpr auto name = "CIFAR-10";
  static constexpr session::Variation variation{2, true};
  static io::Images read(std::string const& folder, io::Split split, std::string& note) {
    if (!folder.empty()) return io::read_cifar(folder, split);
    note = "no --data DIR: a stand-in in the CIFAR-10 format is drawn (10 classes of figures)";
    return io::draw_standin(split == io::Split::Train ? 10000 : 2000, split == io::Split::Train ? 1 : 2);
  }
};

}  // namespace cleave
