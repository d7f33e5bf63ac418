// backend/host/gradients/exchange.hpp - the interface of all-reduces: one way to sum a bucket's gradients over ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../execution/functions.hpp"
#include "norm.hpp"

namespace cleave::backend::host {

/// What an exchange is told of its rank; all of it outlives the exchange.
template <class T> struct ExchangeContext {
  schedule::Program const* program = nullptr;
  Functions<T> const* functions = nullptr;
  Kernels<T, Host> const* kernels = nullptr;
  Member* m = nullptr;
  schedule::Share const* share = nullptr;
  schedule::LayoutView const* layout = nullptr;
  bool ordered() const { return program->format.ordered; }
};

/// One way to sum a bucket's gradients. `start` prepares what peers read. Then come `stages`; each begins when the
/// ranks in `whom` have finished the one before. `step` comes last, after all ranks if it `reads_peers`. If all sums
/// are needed before a step, `gather` and then `step_gathered` take its place.
template <class T> class Exchange {
 public:
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  using Wire = std::conditional_t<narrow, T, A>;  // an element as it is sent

  explicit Exchange(ExchangeContext<T> const& of) : of_(of), m_(of.m), layout_(of.layout) {}
  virtual ~Exchange() = default;
  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;

  virtual void start(int b) = 0;
  virtual int stages(int) const { return 1; }
  virtual int whom(int, int /*stage*/) const { return everybody; }
  virtual void run(int b, int stage) = 0;
  virtual bool reads_peers() const { return false; }
  virtual void step(int b, Stepping<T> const& s) { step_gathered(b, s); }
  virtual void gather(int) {}
  virtual void step_gathered(int b, Stepping<T> const&) const = 0;
  /// Of the squares of `count` gradients of a gathered bucket, from its element `first` on, the sum.
  virtual double squares(int b, long first, long count) const = 0;

 protected:
  schedule::Bucket const& bucket(int b) const { return of_.program->bucket[b]; }
  Axis axis(int b) const { return axis_of(bucket(b)); }
  A* sums(int branch, long offset) const {
    return m_->template at<A>(m_->rank, layout_->gradients) + branch * of_.program->weight_elements + offset;
  }
  /// Sums in the format of the data under Ordered are rounded one by one: N ranks and one rank agree.
  bool rounded() const { return narrow && of_.ordered(); }
  Reduction reduction_over(Axis a) const { return reduction(*m_, a, *of_.share, of_.ordered(), rounded()); }

  ExchangeContext<T> const of_;
  Member* const m_;
  schedule::LayoutView const* const layout_;
};

/// An exchange that has the sum at `Self::whole(bucket)` when it is gathered.
template <class Self, class T> class WholeExchange : public Exchange<T> {
 public:
  using Exchange<T>::Exchange;
  void step_gathered(int b, Stepping<T> const& s) const override {
    s.step(this->bucket(b).offset, this->bucket(b).count, self().whole(b));
  }
  double squares(int b, long first, long count) const override { return host::squares(self().whole(b) + first, count); }

 private:
  Self const& self() const { return static_cast<Self const&>(*this); }
};

}  // namespace cleave::backend::host
