// data/batch_range.hpp - the batches of several epochs, for a training loop of one's own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "arrays.hpp"
#include "batches.hpp"

namespace cleave::session {

/// One step: `trainer.step(at)`.
struct BatchAt {
  long step = 0;            ///< the trainer's number of it, from 0
  int epoch = 1;            ///< of this loop, from 1
  bool ends_epoch = false;  ///< it is the last step of its epoch
  backend::host::Feed feed;
};

/// `for (auto const& at : trainer.batches(x, y, {.epochs = 20}))`. Each epoch has its own order, the same as in `fit`;
/// to be gone through once, from begin to end. Views the arrays, which must outlive it.
class BatchRange {
 public:
  BatchRange(Arrays samples, Scaling scaling, int batch, std::uint64_t seed, long first_step, int epochs)
      : samples_(std::make_unique<Arrays>(std::move(samples))),
        batches_(std::make_unique<Batches<Arrays>>(*samples_, std::move(scaling), batch, seed)),
        first_(first_step),
        epochs_(epochs) {}

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = BatchAt;

    explicit Iterator(BatchRange* range) : range_(range) { range_->begin_epoch(0); }
    BatchAt operator*() const {
      long const each = range_->steps_per_epoch();
      return {range_->first_ + at_, static_cast<int>(at_ / each) + 1, (at_ + 1) % each == 0, range_->batches_->feed()};
    }
    Iterator& operator++() {
      ++at_;
      if (at_ % range_->steps_per_epoch() == 0 && at_ < range_->steps()) range_->begin_epoch(at_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(Iterator const& i, std::default_sentinel_t) { return i.at_ == i.range_->steps(); }

   private:
    BatchRange* range_;
    long at_ = 0;
  };
  Iterator begin() { return Iterator(this); }
  static std::default_sentinel_t end() { return {}; }

  /// Samples beyond the last whole batch of an epoch are left out of it.
  long steps_per_epoch() const { return batches_->steps_per_epoch(); }
  long steps() const { return steps_per_epoch() * epochs_; }

 private:
  void begin_epoch(long at) { batches_->shuffle((first_ + at) / steps_per_epoch(), first_ + at); }

  std::unique_ptr<Arrays> samples_;
  std::unique_ptr<Batches<Arrays>> batches_;
  long first_;
  int epochs_;
};

}  // namespace cleave::session
