// data/loader.hpp - samples as a feed: shuffled by epoch, scaled, and read ahead of the steps by threads of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../meta/in_library.hpp"
#include "sample_source.hpp"
#include "shuffle.hpp"

namespace cleave::session {

struct LoaderOptions {
  int batch = 1;
  std::uint64_t seed = 1;
  bool shuffled = true;  // and varied, where the data set does that
  int readers = 0;       // threads
  int at_once = 1;       // steps that ranks may be in at the same time
  SampleCheck check;

  LoaderOptions in_order() const {
    LoaderOptions out = *this;
    out.shuffled = false;
    return out;
  }
};

/// Samples of a source by position: of an epoch that begins at `first_step`, position p is row p mod batch of step
/// first_step + p / batch. Every rank asks for rows of its own. A row that is not in memory is read once, by whoever
/// needs it first: a reader, as far ahead as there are slots, or the rank. What a row holds depends on its position
/// alone, so the number of readers changes no bit.
class Loader {
 public:
  CLEAVE_IN_LIBRARY Loader(SampleSource of, Scaling const& scaling, LoaderOptions const& how)
      : of_(std::move(of)),
        how_(how),
        ahead_(of_.in_memory ? 0 : 2),
        slots_(ahead_ + how.at_once),
        mean_(scaling.mean),
        inverse_(scaling.inverse_deviations()),
        order_(static_cast<std::size_t>(of_.size())),
        inputs_(static_cast<std::size_t>(of_.input.size())),
        outputs_(static_cast<std::size_t>(of_.outputs)),
        labels_(static_cast<std::size_t>(of_.labels)) {
    if (of_.size() < 1) throw Error("a data set has no samples");
    auto const channels = static_cast<std::size_t>(of_.channels());
    if (!mean_.empty() && (mean_.size() != channels || inverse_.size() != channels))
      throw Error({"inputs of ", channels, " channels, but means of ", mean_.size(), " and deviations of ",
                   inverse_.size(), ": they are of another data set"});
    std::iota(order_.begin(), order_.end(), 0);
    auto const rows = static_cast<std::size_t>(slots_ * how_.batch);
    rows_ = std::vector<Row>(rows);
    x_.resize(rows * inputs_);
    y_.resize(rows * outputs_);
    classes_.resize(rows * labels_);
    asked_.assign(static_cast<std::size_t>(how_.batch), never);
    try {
      for (int r = 0; r < how_.readers && ahead_ > 0; ++r) readers_.emplace_back([this] { read_ahead(); });
    } catch (std::system_error const&) {  // no more threads: those that are here, or the ranks, read
    }
  }
  Loader(Loader const&) = delete;
  Loader& operator=(Loader const&) = delete;
  CLEAVE_IN_LIBRARY ~Loader() {
    {
      std::lock_guard const lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : readers_) t.join();
  }

  long size() const { return of_.size(); }
  /// Samples beyond the last whole batch of an epoch are left out of it.
  long steps_per_epoch() const { return of_.size() / how_.batch; }

  /// Before the steps of an epoch, while none runs.
  CLEAVE_IN_LIBRARY void begin_epoch(long epoch, long first_step) {
    std::unique_lock lock(mutex_);
    cursor_ = end_ = 0;
    changed_.wait(lock, [&] { return reading_ == 0; });
    epoch_ = epoch;
    first_step_ = first_step;
    for (Row& row : rows_) row.position = -1;
    for (std::size_t r = 0; r < asked_.size(); ++r)
      if (asked_[r] != never) asked_[r] = static_cast<long>(r) - how_.batch;
    newest_ = -1;
    if (how_.shuffled) shuffle(order_, {how_.seed, tensor::Purpose::Shuffle, static_cast<std::uint32_t>(epoch_)});
    end_ = how_.shuffled ? steps_per_epoch() * how_.batch : of_.size();
    lock.unlock();
    changed_.notify_all();
  }

  /// Must not outlive this.
  CLEAVE_IN_LIBRARY backend::host::Feed feed() {
    backend::host::Feed out{
        this,
        [](void const* self, long step, long first, int count, float* to) { me(self).inputs(step, first, count, to); },
        nullptr, nullptr, nullptr};
    if (of_.has_weights()) {
      out.sample_weights = [](void const* self, long step, long first, int count, float* to) {
        me(self).sample_weights(step, first, count, to);
      };
    }
    if (of_.has_labels()) {
      out.labels = [](void const* self, long step, long first, int count, int* to) {
        me(self).labels(step, first, count, to);
      };
    } else {
      out.targets = [](void const* self, long step, long first, int count, float* to) {
        me(self).targets(step, first, count, to);
      };
    }
    return out;
  }

 private:
  static constexpr long never = std::numeric_limits<long>::min();

  struct Row {
    std::mutex busy;
    long position = -1;
  };

  static Loader& me(void const* self) { return *static_cast<Loader*>(const_cast<void*>(self)); }

  long position(long step, long sample) const {
    return (how_.shuffled ? step - first_step_ : step) * how_.batch + sample;
  }
  int sample_at(long position) const { return order_[static_cast<std::size_t>(position % of_.size())]; }
  void read(long position, float* x, int* labels, float* targets) const {
    long const i = sample_at(position);
    Draw const draw{how_.seed, static_cast<std::uint32_t>(epoch_), 0, static_cast<std::uint64_t>(of_.number(i))};
    of_.read(i, of_.varied && how_.shuffled ? &draw : nullptr, x, labels, targets);
    if (!of_.checked) how_.check(of_, i, x, labels, targets);
    scale({x, inputs_}, mean_, inverse_, of_.by_position());
  }

  /// use(input, labels, targets) of a row, while nobody else does. With `ahead`, not if the slot has moved on to a
  /// later position: a reader that was held up must not take the place of what the rank has read itself since.
  template <class Use> void with_row(long position, Use use, bool ahead = false) {
    auto const r = static_cast<std::size_t>(position % (slots_ * how_.batch));
    Row& row = rows_[r];
    std::lock_guard const lock(row.busy);
    if (ahead && row.position > position) return;
    float *const x = x_.data() + r * inputs_, *const y = y_.data() + r * outputs_;
    int* const classes = classes_.data() + r * labels_;
    if (row.position != position) {
      row.position = -1;
      read(position, x, classes, y);
      row.position = position;
    }
    use(x, classes, y);
  }
  void inputs(long step, long first, int count, float* to) {
    ask(position(step, first), count);
    for (long s = first; s < first + count; ++s, to += inputs_)
      with_row(position(step, s), [&](float const* x, int const*, float const*) { std::copy_n(x, inputs_, to); });
  }
  void labels(long step, long first, int count, int* to) {
    for (long s = first; s < first + count; ++s, to += labels_) answers(position(step, s), to, nullptr);
  }
  void targets(long step, long first, int count, float* to) {
    for (long s = first; s < first + count; ++s, to += outputs_) answers(position(step, s), nullptr, to);
  }
  void sample_weights(long step, long first, int count, float* to) {
    for (long s = first; s < first + count; ++s) *to++ = of_.weight(sample_at(position(step, s)));
  }
  void answers(long position, int* labels, float* targets) {
    with_row(position, [&](float const*, int const* classes, float const* y) {
      if (labels) std::copy_n(classes, labels_, labels);
      if (targets) std::copy_n(y, outputs_, targets);
    });
  }

  /// A rank now needs these rows: readers may go on to later ones.
  void ask(long position, int count) {
    if (readers_.empty()) return;
    {
      std::lock_guard const lock(mutex_);
      for (long p = position; p < position + count; ++p)
        asked_[static_cast<std::size_t>(p % how_.batch)] =
            std::max(asked_[static_cast<std::size_t>(p % how_.batch)], p);
      newest_ = std::max(newest_, position / how_.batch);
      asked_once_ = true;
    }
    changed_.notify_all();
  }
  /// The next position to read, or -1 if there is none yet. Rows that no rank here has asked for are passed over.
  long next() {
    if (!asked_once_) return -1;  // which rows are needed here is not known
    for (; cursor_ < end_; ++cursor_) {
      long const asked = asked_[static_cast<std::size_t>(cursor_ % how_.batch)];
      if (cursor_ / how_.batch >= newest_ + ahead_ + 1) return -1;
      if (asked == never || cursor_ <= asked) continue;
      if (cursor_ > asked + ahead_ * how_.batch) return -1;
      return cursor_++;
    }
    return -1;
  }
  void read_ahead() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      long const position = next();
      if (position < 0) {
        changed_.wait(lock);
        continue;
      }
      ++reading_;
      lock.unlock();
      try {
        with_row(
            position, [](float const*, int const*, float const*) {}, true);
      } catch (...) {  // the rank that asks for it reads it again, and tells
      }
      lock.lock();
      if (--reading_ == 0) changed_.notify_all();
    }
  }

  SampleSource of_;
  LoaderOptions how_;
  long ahead_;                         // steps that readers may be ahead
  long slots_;                         // steps of which rows are here
  std::vector<float> mean_, inverse_;  // by channels
  std::vector<int> order_;
  std::size_t inputs_, outputs_, labels_;  // of a sample
  long epoch_ = 0, first_step_ = 0;

  std::vector<Row> rows_;  // (slots, batch)
  std::vector<float> x_, y_;
  std::vector<int> classes_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<long> asked_;  // the last position of each row of the batch that a rank has needed
  bool asked_once_ = false;
  long newest_ = -1;  // step of the epoch
  long cursor_ = 0, end_ = 0;
  int reading_ = 0;
  bool ended_ = false;
  std::vector<std::thread> readers_;
};

}  // namespace cleave::session
