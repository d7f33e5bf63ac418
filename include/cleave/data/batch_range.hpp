// data/batch_range.hpp - the batches of several epochs, for a training loop of one's own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "loader.hpp"

namespace cleave::session {

/// One step: `trainer.step(at)`.
struct BatchAt {
  long step = 0;            ///< the trainer's number of it, from 0
  int epoch = 1;            ///< of this loop, from 1
  bool ends_epoch = false;  ///< it is the last step of its epoch
  backend::host::Feed feed;
};

/// `for (auto const& at : trainer.batches(x, y, {.epochs = 20}))`. Each epoch has its own order, the same as in `fit`;
/// to be gone through once, from begin to end. Views the arrays or the data set, which must outlive it.
class BatchRange {
 public:
  BatchRange(SampleSource samples, Scaling const& scaling, LoaderOptions const& how, long first_step, int epochs)
      : loader_(std::make_unique<Loader>(std::move(samples), scaling, how)), first_(first_step), epochs_(epochs) {}

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = BatchAt;

    explicit Iterator(BatchRange* range) : range_(range), at_(range->skipped_) {
      if (at_ < range_->steps()) range_->begin_epoch(at_);
    }
    BatchAt operator*() const {
      long const each = range_->steps_per_epoch();
      return {range_->first_ + at_, static_cast<int>(at_ / each) + 1, (at_ + 1) % each == 0, range_->loader_->feed()};
    }
    Iterator& operator++() {
      ++at_;
      if (at_ % range_->steps_per_epoch() == 0 && at_ < range_->steps()) range_->begin_epoch(at_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(Iterator const& i, std::default_sentinel_t) { return i.at_ >= i.range_->steps(); }

   private:
    BatchRange* range_;
    long at_;
  };
  Iterator begin() { return Iterator(this); }
  static std::default_sentinel_t end() { return {}; }

  /// Samples beyond the last whole batch of an epoch are left out of it.
  long steps_per_epoch() const { return loader_->steps_per_epoch(); }
  long steps() const { return steps_per_epoch() * epochs_; }
  /// Leaves out the first `steps`, which were made before.
  void skip(long steps) { skipped_ = steps; }

 private:
  void begin_epoch(long at) {
    long const first = first_ + at - at % steps_per_epoch();
    loader_->begin_epoch(first / steps_per_epoch(), first);
  }

  std::unique_ptr<Loader> loader_;
  long first_, skipped_ = 0;
  int epochs_;
};

}  // namespace cleave::session
