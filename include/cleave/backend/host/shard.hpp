// backend/host/shard.hpp - a server's part of the weights: it receives what replicas push and makes the updates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "../../agree/decider.hpp"
#include "../../schedule/slices.hpp"
#include "communication/all_reduce.hpp"
#include "gradients/norm.hpp"
#include "kernels/update.hpp"

namespace cleave::backend::host {

/// The format of pushes: gradients in that of the data if it is low-precision, everything else in that of sums.
template <class T, agree::Change How, class A = tensor::accumulate_t<T>>
using Pushed = std::conditional_t<How == agree::Change::Step && sizeof(T) < sizeof(A), T, A>;

/// How a shard changes its weights; A is the format of sums, T that of the data.
template <class T> struct ShardRules {
  using A = tensor::accumulate_t<T>;
  agree::Change change = agree::Change::Step;
  int percent = 0;           // under Elastic
  agree::OuterStep outer{};  // under Average
  bool together = false;     // an update is made of the pushes of several workers
  int moments = 0;           // optimizer tensors
  /// One optimizer step of w (n), whose moments are `apart` elements from each other; copy (n): null if there is none.
  void (*step)(A* w, T* copy, A const* g, A* moments, long apart, long n, optim::Now<A> const& now, A scale) = nullptr;
  optim::ParameterRuns groups{};
  // If gradients are clipped: their factor (optim::gradient_scale), and the program whose weights the shard has all of.
  A (*gradient_scale)(double squares, A* state) = nullptr;
  schedule::Program const* program = nullptr;
};
template <class Optimizer, class T>
void step_shard(tensor::accumulate_t<T>* w, T* copy, tensor::accumulate_t<T> const* g, tensor::accumulate_t<T>* moments,
                long apart, long n, optim::Now<tensor::accumulate_t<T>> const& now, tensor::accumulate_t<T> scale) {
  update<Optimizer, T>(w, copy, g, moments, apart, n, now, scale);
}

/// The agreement decides, the shard computes. The owner serialises events. Weights that are averaged, and gradients
/// that are summed, are added in the order of the workers, in the tree of the ordered sum, whatever the order of
/// arrival. At most `Most` workers; `Push` is the format of what they push.
template <class T, class Push, int Most> class Shard {
 public:
  using A = tensor::accumulate_t<T>;
  using Sent = Push;
  using Decider = agree::Decider<Most>;
  using Decision = agree::Decision<Most>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);

  /// `begin`: the shard's first weight among those of its way, or of all ways, one after the other.
  Shard(std::unique_ptr<Decider> decider, ShardRules<T> const& rules, A const* weights, long count, long begin = 0)
      : decider_(std::move(decider)),
        rules_(rules),
        begin_(begin),
        weights_(weights, weights + count),
        moments_(static_cast<std::size_t>(count * rules.moments)) {
    refresh_copies();
    if (rules_.together) slot_.resize(Most);
  }

  long count() const { return static_cast<long>(weights_.size()); }
  int version() const { return decider_->version(); }
  /// What was pushed and not used yet is forgotten.
  void set_version(int version) {
    decider_->set_version(version);
    taken_.clear();
  }
  /// Whether others may wait for this worker.
  bool waited_for(int worker) const { return decider_->waited_for(worker); }
  A* weights() { return weights_.data(); }
  A* moments() { return moments_.data(); }
  long all_moments() const { return static_cast<long>(moments_.size()); }
  /// Call after weights were written from outside.
  void refresh_copies() {
    if constexpr (narrow) {
      copies_.resize(weights_.size());
      for (std::size_t i = 0; i < weights_.size(); ++i) copies_[i] = static_cast<T>(weights_[i]);
    }
  }
  /// The weights that replicas fetch.
  Sent const* sent() const {
    if constexpr (narrow && std::is_same_v<Sent, T>) {
      return copies_.data();
    } else {
      return weights_.data();
    }
  }

  /// `pushed` (count) is the data of a push; under `Elastic` it returns moved towards the centre. `now`: for an update.
  template <class Now> void hear(agree::Event const& e, Sent* pushed, Now now, agree::Actions<Most>& out) {
    decider_->hear(e, out);
    if (!pushed) return;  // only pushed data is taken
    for (agree::Action const& a : out) {
      if (a.what == agree::Done::Take) take(a, pushed);
      if (a.what == agree::Done::Update) update(pushed, now(a.version - 1));
    }
  }

  /// Makes the update that the first shard has decided, of what is kept here. `now`: for the update.
  template <class Now> agree::Followed follow(Decision const& d, Now now) {
    agree::Followed const answer = decider_->follow(d);
    if (answer != agree::Followed::Updates) return answer;
    taken_.clear();
    for (int w = 0; w < Most; ++w) {
      if (d.life[w] != 0) taken_.push_back(w);
    }
    update(nullptr, now(d.version - 1));
    return answer;
  }
  /// What was kept before a server was started again.
  void keep(int worker, int life, Sent const* pushed) {
    agree::Actions<Most> out;
    decider_->hear({agree::Heard::Pushed, worker, life, version()}, out);
    for (agree::Action const& a : out) take(a, pushed);
  }
  /// visit(worker, life, push (count)) for what is kept for the next update, if the shard follows the first.
  template <class Visit> void each_kept(Visit visit) const {
    for (int w = 0; w < Most; ++w) {
      if (int const life = decider_->kept(w); life != 0) visit(w, life, slot_[static_cast<std::size_t>(w)].data());
    }
  }

 private:
  void take(agree::Action const& a, Sent const* pushed) {
    share_ = static_cast<A>(a.share);
    if (rules_.together) {
      slot_[static_cast<std::size_t>(a.worker)].assign(pushed, pushed + count());
      if (decider_->kept(a.worker) == 0)
        taken_.push_back(a.worker);  // else another shard will say who is in the update
    }
  }
  static constexpr long piece = 512;
  static constexpr int most_depth = 16;
  struct Sums {
    alignas(64) A of[most_depth][piece];
  };
  void update(Sent* pushed, optim::Now<A> const& now) {
    std::sort(taken_.begin(), taken_.end());
    if (rules_.gradient_scale) {
      clip(pushed, now);
    } else {
      each_piece([&](long first, long n) {
        Sums sums;
        if (rules_.change == agree::Change::Elastic) return move(first, n, pushed);
        sum(first, n, pushed, sums);
        if (rules_.change == agree::Change::Average)
          return step_to_mean(first, n, A{1} / static_cast<A>(taken_.size()), sums.of[0]);
        step(first, n, sums.of[0], now, 1);
      });
    }
    if (rules_.change != agree::Change::Step) refresh_copies();
    taken_.clear();
  }
  /// All gradients are summed before the first weight is updated.
  void clip(Sent const* pushed, optim::Now<A> const& now) {
    gradients_.resize(weights_.size());
    each_piece([&](long first, long n) {
      Sums sums;
      sum(first, n, pushed, sums);
      std::copy_n(sums.of[0], n, gradients_.data() + first);
    });
    A const scale = rules_.gradient_scale(squares_of_ways(*rules_.program, gradients_.data()), nullptr);
    step(0, count(), gradients_.data(), now, scale);
  }
  template <class Visit> void each_piece(Visit visit) {
    for (long first = 0; first < count(); first += piece) visit(first, std::min(piece, count() - first));
  }
  /// To sums.of[0]: what was pushed, of the elements [first, first + n).
  void sum(long first, long n, Sent const* pushed, Sums& sums) const {
    if (!rules_.together) {
      for (long i = 0; i < n; ++i) sums.of[0][i] = share_ * static_cast<A>(pushed[first + i]);
      return;
    }
    int const leaves = static_cast<int>(taken_.size());
    schedule::TreeSum tree{leaves};
    for (int l = 0; l < leaves; ++l) {
      Sent const* const from = slot_[static_cast<std::size_t>(taken_[static_cast<std::size_t>(l)])].data() + first;
      A* const to = sums.of[tree.depth];
      for (long i = 0; i < n; ++i) to[i] = static_cast<A>(from[i]);
      tree.push({l, 1}, [&](int a, int b) {
        for (long i = 0; i < n; ++i) sums.of[a][i] += sums.of[b][i];
      });
    }
  }
  /// By the gradients g (n).
  void step(long first, long n, A const* g, optim::Now<A> const& now, A scale) {
    rules_.groups.each(begin_ + first, n, [&](long in_way, long many, optim::RunGroup const& group) {
      long const at = in_way - begin_;
      rules_.step(weights() + at, narrow ? copies_.data() + at : nullptr, g + (at - first),
                  moments_.empty() ? nullptr : moments() + at, count(), many, now.in(group), scale);
    });
  }
  /// Average: to the mean, scale * sum, or by the agreement's outer step.
  void step_to_mean(long first, long n, A scale, A const* sum) {
    A* const x = weights() + first;
    if (rules_.outer.is_mean()) {
      for (long i = 0; i < n; ++i) x[i] = scale * sum[i];
      return;
    }
    A const rate = static_cast<A>(rules_.outer.rate) / A{100},
            momentum = static_cast<A>(rules_.outer.momentum) / A{100};
    A* const v = moments() + first;
    rules_.groups.each(begin_ + first, n, [&](long in_way, long many, optim::RunGroup const& group) {
      long const from = in_way - begin_ - first;
      for (long i = from; i < from + many; ++i) {
        A const pull = x[i] - scale * sum[i];
        if (group.average != 0) {  // of running means: the mean
          x[i] -= pull;
          continue;
        }
        v[i] = momentum * v[i] + pull;
        x[i] -= rate * (pull + momentum * v[i]);
      }
    });
  }
  /// Elastic: the centre and what was pushed move towards each other.
  void move(long first, long n, Sent* pushed) {
    if constexpr (std::is_same_v<Sent, A>) {
      A const alpha = static_cast<A>(rules_.percent) / A{100};
      for (long i = first; i < first + n; ++i) {
        A const pull = alpha * (pushed[i] - weights_[static_cast<std::size_t>(i)]);
        weights_[static_cast<std::size_t>(i)] += pull;
        pushed[i] -= pull;
      }
    }
  }

  std::unique_ptr<Decider> decider_;
  ShardRules<T> rules_;
  long begin_;
  std::vector<A> weights_, moments_;
  std::vector<A> gradients_;             // if they are clipped
  std::vector<T> copies_;                // low-precision formats only
  std::vector<std::vector<Sent>> slot_;  // for each worker, if an update needs several
  std::vector<int> taken_;
  A share_ = 1;
};

}  // namespace cleave::backend::host
