// backend/gpu/execution/inbox.hpp - staging buffers for a step's input and what the loss compares it with; in pinned memory and on the device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <vector>

#include "../../host/execution/feed.hpp"
#include "../communication/ranks.hpp"
#include "../kernels/update.hpp"

namespace cleave::backend::gpu {

/// A control block, then the pixels (f32), labels, targets (f32) and weights of samples (f32) of every local rank,
/// round by round.
template <class N, class Machine, class Link> class Inbox {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using Stream = typename Machine::Stream;

  Inbox(Ranks& ranks, Stream incoming)
      : ranks_(ranks),
        incoming_(incoming),
        input_size_(ranks.program.input.size()),
        arrived_(ranks.machine.event()),
        at_(ranks.all.size()) {
    bytes_ = schedule::aligned(sizeof(Control<A>));
    auto const take = [&](long bytes) { return std::exchange(bytes_, bytes_ + schedule::aligned(bytes)); };
    for (One const& one : ranks.all) {
      for (int round = 0; one.here && round < ranks_.program.rounds; ++round) {
        long const pixels = take(samples(one, round) * input_size_ * 4);
        long const labels = take(labelled(one, round) * ranks_.program.labels * 4);
        long const targets = take(labelled(one, round) * ranks_.program.targets * 4);
        long const weights = take(ranks_.program.weighs_samples ? labelled(one, round) * ranks_.program.labels * 4 : 0);
        at_[static_cast<std::size_t>(one.m.rank)].push_back({pixels, labels, targets, weights});
      }
    }
    there_ = ranks.machine.allocate(bytes_);
    here_ = ranks.machine.allocate_pinned(bytes_);
  }

  /// Fills the buffer and copies it to the device; `then` waits for the copy. Samples of the batch from `valid` on are
  /// padding.
  void post(long step, host::Feed const& feed, long valid, Control<A> const& control, Stream then) {
    std::memcpy(here_, &control, sizeof control);
    long const each = ranks_.program.rows, before = ranks_.share.first * each;
    for (One const& one : ranks_.all) {
      for (int round = 0; one.here && round < ranks_.program.rounds; ++round) {
        feed.pixels(feed.self, step, before + fed(one, round).begin * each, static_cast<int>(samples(one, round)),
                    in<float>(at(one, round).pixels));
        if (ranks_.program.tokens)
          host::make_tokens(in<float>(at(one, round).pixels), samples(one, round) * input_size_);
        long const first = told(one, round).begin * each;
        host::take_answers(feed, ranks_.functions.wanted,
                           {step, before + first, static_cast<int>(labelled(one, round)), valid - first},
                           answers(one, round));
      }
    }
    ranks_.machine.copy(incoming_, there_, here_, bytes_);
    ranks_.machine.record(arrived_, incoming_);
    ranks_.machine.wait(then, arrived_);
  }
  /// The slices of which a rank has labels and losses.
  schedule::Range told(One const& one, int round) const {
    return one.m.slices(ranks_.share, ranks_.program.node[ranks_.program.nodes - 1].batch_axes, round);
  }
  host::Answers answers(One const& one, int round) const {
    Place const& place = at(one, round);
    return {in<int>(place.labels), in<float>(place.targets), in<float>(place.weights)};
  }

  // Captured: copies the input to where kernels read it.
  void load_control(Stream s, Control<A>* to) {
    ranks_.machine.copy(s, reinterpret_cast<std::byte*>(to), there_, sizeof(Control<A>));
  }
  void load(One& one, int round) {
    long const from = at(one, round).pixels, to = ranks_.layout.buffer[ranks_.program.input_value];
    if (ranks_.program.tokens) {
      copy_lines(one.compute, ranks_.template in_arena<int>(one, to), reinterpret_cast<int const*>(there_ + from),
                 {1, samples(one, round) * input_size_});
    } else {
      copy_lines(one.compute, ranks_.template in_arena<T>(one, to), reinterpret_cast<float const*>(there_ + from),
                 {1, samples(one, round) * input_size_});
    }
    copy_lines(one.compute, ranks_.template in_arena<int>(one, ranks_.layout.labels),
               reinterpret_cast<int const*>(there_ + at(one, round).labels),
               {1, labelled(one, round) * ranks_.program.labels});
    if (ranks_.program.targets > 0) {
      copy_lines(one.compute, ranks_.template in_arena<float>(one, ranks_.layout.targets),
                 reinterpret_cast<float const*>(there_ + at(one, round).targets),
                 {1, labelled(one, round) * ranks_.program.targets});
    }
    if (ranks_.program.weighs_samples) {
      copy_lines(one.compute, ranks_.template in_arena<float>(one, ranks_.layout.sample_weights),
                 reinterpret_cast<float const*>(there_ + at(one, round).weights),
                 {1, labelled(one, round) * ranks_.program.labels});
    }
  }

 private:
  struct Place {
    long pixels, labels, targets, weights;
  };
  template <class E> E* in(long offset) const { return reinterpret_cast<E*>(here_ + offset); }
  schedule::Range fed(One const& one, int round) const {
    return one.m.slices(ranks_.share, ranks_.program.input_axes, round);
  }
  long samples(One const& one, int round) const { return long{fed(one, round).size()} * ranks_.program.rows; }
  long labelled(One const& one, int round) const { return long{told(one, round).size()} * ranks_.program.rows; }
  Place const& at(One const& one, int round) const {
    return at_[static_cast<std::size_t>(one.m.rank)][static_cast<std::size_t>(round)];
  }

  Ranks& ranks_;
  Stream incoming_;
  long const input_size_;
  typename Machine::Event arrived_;
  std::vector<std::vector<Place>> at_;  // for each rank, by rounds
  long bytes_ = 0;
  std::byte *there_ = nullptr, *here_ = nullptr;
};

}  // namespace cleave::backend::gpu
