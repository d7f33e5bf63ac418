// predict/batching_predictor.hpp - BatchingPredictor<Net>: a trained model that many threads ask at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "predictor.hpp"

namespace cleave {

/// Of a batching predictor: `BatchingPredictor<Net> const predict("mine.safetensors", {.threads = 2});`
struct BatchingOptions {
  int threads = 1;  ///< that compute
  /// How long a request may wait for others, if there are fewer than a block; 0: none waits while a thread is free.
  std::chrono::microseconds wait{0};
};

/// For servers: any number of threads call it at once. Requests that come while the computing threads are busy run
/// together, in blocks; the outputs are those of Predictor, whatever runs beside them. Calls wait for their outputs.
template <class Net, class Number = f32> class BatchingPredictor {
 public:
  using Single = Predictor<Net, Number>;
  static constexpr long inputs = Single::inputs, outputs = Single::outputs, width = Single::width;

  /// Throws Error as Predictor does.
  explicit BatchingPredictor(std::string const& file, BatchingOptions const& how = {})
      : BatchingPredictor(Single(file), how) {}
  explicit BatchingPredictor(Single of, BatchingOptions const& how = {}) : wait_(how.wait), names_(of.class_names()) {
    if (how.threads < 1) throw Error({"predict: ", how.threads, " threads; say at least 1"});
    if (how.wait.count() < 0) throw Error({"predict: a wait of ", how.wait.count(), " us; say at least 0"});
    try {
      for (int t = 0; t < how.threads; ++t) threads_.emplace_back([this, own = of]() mutable { serve(own); });
    } catch (...) {
      end();
      throw;
    }
  }
  BatchingPredictor(BatchingPredictor const&) = delete;
  BatchingPredictor& operator=(BatchingPredictor const&) = delete;
  /// No thread may be in a call.
  ~BatchingPredictor() { end(); }

  /// As of Predictor. Throws Error if x is no whole number of samples.
  std::vector<float> operator()(std::span<float const> x) const {
    std::vector<float> y(session::samples_of(x, inputs) * static_cast<std::size_t>(outputs));
    session::check_tokens(x, inputs, Single::tokens);
    PendingCall mine{x, y, {}, {}, false};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    samples_ += x.size() / static_cast<std::size_t>(inputs);
    asked_.notify_one();
    mine.ended.wait(lock, [&] { return mine.done; });
    if (mine.failed) std::rethrow_exception(mine.failed);
    return y;
  }
  std::vector<float> probabilities(std::span<float const> x) const {
    return session::probabilities_of<Net>((*this)(x), outputs, width);
  }
  std::vector<int> classes(std::span<float const> x) const {
    return session::classes_of<Net>((*this)(x), outputs, width);
  }
  std::vector<std::string> names(std::span<float const> x) const { return session::names_of(classes(x), names_); }
  std::vector<std::string> const& class_names() const { return names_; }

 private:
  struct PendingCall {
    std::span<float const> x;
    std::span<float> y;
    std::condition_variable ended;
    std::exception_ptr failed;
    bool done = false;
  };

  void serve(Single& predict) const {
    std::vector<PendingCall*> now;
    std::vector<float> x, y;
    std::unique_lock lock(mutex_);
    while (take(lock, now)) {
      if (now.empty()) continue;  // another thread took them
      lock.unlock();
      std::exception_ptr failed;
      try {
        x.clear();
        for (PendingCall const* r : now) x.insert(x.end(), r->x.begin(), r->x.end());
        y.resize(x.size() / static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs));
        predict(x, y);
        auto from = y.begin();
        for (PendingCall const* r : now) {
          std::copy_n(from, r->y.size(), r->y.begin());
          from += static_cast<long>(r->y.size());
        }
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      for (PendingCall* r : now) {
        r->failed = failed;
        r->done = true;
        r->ended.notify_one();  // under the lock: the request is gone once its caller runs
      }
    }
  }
  /// Waits for requests and takes those of a block, or all; false: there will be none.
  bool take(std::unique_lock<std::mutex>& lock, std::vector<PendingCall*>& now) const {
    auto const any = [&] { return ended_ || !waiting_.empty(); };
    asked_.wait(lock, any);
    if (wait_.count() > 0)
      asked_.wait_for(lock, wait_, [&] { return ended_ || samples_ >= static_cast<std::size_t>(Single::block); });
    now.clear();
    for (std::size_t n = 0; !waiting_.empty() && n < static_cast<std::size_t>(Single::block); waiting_.pop_front()) {
      now.push_back(waiting_.front());
      n += now.back()->x.size() / static_cast<std::size_t>(inputs);
      samples_ -= now.back()->x.size() / static_cast<std::size_t>(inputs);
    }
    if (!waiting_.empty()) asked_.notify_one();
    return !now.empty() || !ended_;
  }
  void end() {
    {
      std::lock_guard const lock(mutex_);
      ended_ = true;
    }
    asked_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  std::chrono::microseconds wait_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable asked_;
  mutable std::deque<PendingCall*> waiting_;
  mutable std::size_t samples_ = 0;  // that wait
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cleave
