// backend/host/kernels/vectors.hpp - a shard's range of every vector of an optimizer without vectors: it executes its operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "../../../optim/lbfgs.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::host {

/// The elements [begin, end) of `vectors` vectors. Gradients of portions arrive in any order and are added in that of
/// their numbers, so that the bits of the sum do not depend on the order of arrival.
template <class T> class Vectors {
 public:
  using A = tensor::accumulate_t<T>;
  struct Counted {
    long begin, end;
  };

  /// `counted`: the elements that Dot adds, from the first on; others are also on a shard that counts them.
  Vectors(int vectors, A const* weights, long count, std::vector<Counted> counted)
      : count_(count), counted_(std::move(counted)) {
    of_.assign(static_cast<std::size_t>(vectors), std::vector<A>(static_cast<std::size_t>(count)));
    std::copy_n(weights, count, at(optim::Names::point));
  }

  long count() const { return count_; }
  A* at(int vector) { return of_[static_cast<std::size_t>(vector)].data(); }

  /// Only Dot returns a value other than 0: this shard's part.
  double run(optim::Operation const& o) {
    A* const to = at(o.to);
    A const *const from = at(o.from), *const with = at(o.with);
    A const factor = static_cast<A>(o.factor);
    double sum = 0;
    switch (o.what) {
      case optim::Verb::Copy:
        std::copy_n(from, count_, to);
        break;
      case optim::Verb::Scale:
        for (long i = 0; i < count_; ++i) to[i] = factor * from[i];
        break;
      case optim::Verb::Axpy:
        for (long i = 0; i < count_; ++i) to[i] += factor * from[i];
        break;
      case optim::Verb::Point:
        for (long i = 0; i < count_; ++i) to[i] = from[i] + factor * with[i];
        break;
      case optim::Verb::Dot:
        for (Counted const& c : counted_) {
          for (long i = c.begin; i < c.end; ++i) sum += static_cast<double>(from[i]) * static_cast<double>(with[i]);
        }
        break;
    }
    return sum;
  }

  /// Begins a gradient that is the mean of `portions` portions.
  void expect(int portions) {
    portions_ = portions;
    next_ = 0;
    early_.clear();
    std::fill_n(at(optim::Names::gradient), count_, A{0});
  }
  void add(int portion, T const* gradient) {
    if (portion != next_) {
      early_.emplace(portion, std::vector<T>(gradient, gradient + count_));
      return;
    }
    add_next(gradient);
    for (auto e = early_.begin(); e != early_.end() && e->first == next_; e = early_.erase(e)) {
      add_next(e->second.data());
    }
  }
  /// The point in the format of the data, as replicas fetch it.
  void send(T* to) {
    A const* const from = at(optim::Names::point);
    for (long i = 0; i < count_; ++i) to[i] = static_cast<T>(from[i]);
  }

 private:
  void add_next(T const* gradient) {
    A* const sum = at(optim::Names::gradient);
    for (long i = 0; i < count_; ++i) sum[i] += static_cast<A>(gradient[i]);
    if (++next_ < portions_) return;
    A const share = A{1} / static_cast<A>(portions_);
    for (long i = 0; i < count_; ++i) sum[i] *= share;
  }

  long count_;
  std::vector<Counted> counted_;
  std::vector<std::vector<A>> of_;
  int portions_ = 0, next_ = 0;
  std::map<int, std::vector<T>> early_;  // those that arrived before their turn
};

}  // namespace cleave::backend::host
