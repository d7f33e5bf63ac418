// backend/gpu/execution/walk.hpp - enqueues the actions of all local ranks: each alone up to the next step on which they communicate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../../../schedule/listing.hpp"
#include "../communication/gradients.hpp"

namespace cleave::backend::gpu {

template <class N, class Machine, class Link> class Walk {
 public:
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using Action = typename One::Action;
  using T = N;
  using A = tensor::accumulate_t<T>;

  Walk(Ranks& ranks, Control<A> const* control) : ranks_(ranks), exchanges_(ranks), gradients_(exchanges_, control) {}

  /// Before the first capture, while the arenas are empty: tunes which implementation computes each product.
  void learn() {
    for (One& one : ranks_.all) {
      Queue<Machine> q = one.compute;
      q.library = Library::Learning;
      for (auto const* passes : {&one.train, &one.evaluate}) {
        for (auto const& of_round : *passes) {
          for (Action const& a : of_round.actions) put(q, a);
        }
      }
    }
    ranks_.machine.finish();
  }

  /// All ranks run the same steps. Each advances alone to the next step on which they communicate, which is enqueued
  /// for all.
  void put(int round, bool training) {
    std::vector<std::size_t> next(ranks_.all.size(), 0);
    for (;;) {
      Action const* together = nullptr;
      for (One& one : ranks_.all) {
        if (!one.here) continue;
        auto const& all = (training ? one.train : one.evaluate)[static_cast<std::size_t>(round)].actions;
        std::size_t& k = next[static_cast<std::size_t>(one.m.rank)];
        for (; k < all.size() && !meets(all[k].act); ++k) {
          if (all[k].act != host::Act::Reclaim) alone(one, all[k], round);
        }
        if (k < all.size()) together = &all[k++];
      }
      if (!together) return;
      ranks_.machine.enter(title(together->step).c_str());
      meet(*together, round);
      ranks_.machine.leave();
    }
  }

 private:
  static bool meets(host::Act a) {
    using enum host::Act;
    return a == Convert || a == Gather || a == Sum || a == Start || a == Keep || a == Norm || a == Update;
  }
  std::string title(int line) const {
    return std::string(schedule::name(ranks_.program, line)) + " " + schedule::subject(ranks_.program, line);
  }
  void meet(Action const& a, int round) {
    switch (a.act) {
      case host::Act::Convert:
      case host::Act::Sum:
        return exchanges_.convert(a.step, round);
      case host::Act::Gather:
        return exchanges_.gather(a.step, a.bucket);
      case host::Act::Start:
        return gradients_.reduce(a.bucket, a.step, round);
      case host::Act::Keep:
        return gradients_.keep(a.bucket);
      case host::Act::Norm:
        return ranks_.functions.norm(gradients_, a.step, round);
      default:
        return gradients_.update(a.bucket, a.step, round);
    }
  }
  void alone(One& one, Action const& a, int round) {
    bool const merges = a.act == host::Act::Merge || a.act == host::Act::MergeBatchSums || a.act == host::Act::Round;
    ranks_.machine.enter(title(a.step).c_str());
    ranks_.open(one, &One::compute, merges ? host::Did::Merge : host::Did::Line, a.step, round);
    put(one.compute, a);
    ranks_.close(one, &One::compute);
    ranks_.machine.leave();
  }
  static void put(Queue<Machine> const& q, Action const& a) {
    switch (a.act) {
      case host::Act::Kernel:
        return a.make_sums ? a.make_sums(q, a.t, a.branches) : a.call(q, a.t);
      case host::Act::Merge:
        return a.rounded ? stream<AddTo<T, true>>(q, {a.to, a.from, a.n})
                         : stream<AddTo<T, false>>(q, {a.to, a.from, a.n});
      case host::Act::MergeBatchSums:
        return stream<AddTo<typename Action::S, false>>(q, {a.sum_to, a.sum_from, a.n});
      case host::Act::Round:
        return stream<AddTo<T, true>>(q, {a.to, nullptr, a.n});
      case host::Act::Add:
        return stream<AddValues<T>>(q, {a.add_to, a.add_from, a.n});
      default:
        return;  // Reclaim: the pass before has ended on all ranks
    }
  }

  Ranks& ranks_;
  Exchanges<T, Machine, Link> exchanges_;
  DeviceGradients<T, Machine, Link> gradients_;
};

}  // namespace cleave::backend::gpu
