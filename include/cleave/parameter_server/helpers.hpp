// parameter_server/helpers.hpp - Sandblaster replicas in other processes: a coordinator sends them portions over TCP.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../backend/tcp/greeting.hpp"
#include "../train/fingerprint.hpp"
#include "hand.hpp"

namespace cleave::session {

/// A replica over a connection. It holds the weights to be sent with the next portion, and the last gradient.
template <class F> class Far : public Hand<F> {
 public:
  using Sent = typename F::Sent;

  /// `elements`: the weights of a way; those of all ways are sent one after the other.
  Far(long elements, int ways, backend::tcp::Socket to, backend::tcp::Milliseconds deadline,
      std::atomic<bool> const* finished = nullptr)
      : to_(std::move(to)),
        deadline_(deadline),
        finished_(finished),
        of_way_(elements),
        weights_(static_cast<std::size_t>(elements * ways)),
        gradient_(weights_) {}
  ~Far() override {
    try {
      send(nullptr, 0, finished_ && *finished_);
    } catch (Error const&) {  // it has gone before
    }
  }
  Far(Far const&) = delete;
  Far& operator=(Far const&) = delete;

  void take(int way, long begin, Sent const* from, long count) override {
    std::copy_n(from, count, weights_.begin() + way * of_way_ + begin);
    newer_ = true;
  }
  double gradient(long portion, long first, backend::host::Feed const&) override {
    long const which[2] = {first, portion};
    message_.resize(sizeof which + (newer_ ? weights_.size() * sizeof(Sent) : 0));
    std::memcpy(message_.data(), which, sizeof which);
    if (newer_) std::memcpy(message_.data() + sizeof which, weights_.data(), weights_.size() * sizeof(Sent));
    try {
      send(message_.data(), message_.size());
      auto const h = backend::tcp::receive(to_, message_, most_bytes(), deadline_);
      if (h.kind != backend::tcp::Kind::Finished || message_.size() != most_bytes()) throw typename Hand<F>::Gone{};
    } catch (Error const&) {  // it died, or does not answer: others compute its portion
      to_.shut();
      throw typename Hand<F>::Gone{};
    }
    newer_ = false;
    double loss = 0;
    std::memcpy(&loss, message_.data(), sizeof loss);
    std::memcpy(gradient_.data(), message_.data() + sizeof loss, gradient_.size() * sizeof(Sent));
    return loss;
  }
  Sent* pushed(int way, long begin, long) override { return gradient_.data() + way * of_way_ + begin; }

  std::size_t most_bytes() const { return sizeof(double) + sizeof(Sent) * gradient_.size(); }

 private:
  void send(void const* payload, std::size_t bytes, bool finished = false) {
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Portion;
    h.version = finished ? 1 : 0;
    backend::tcp::send(to_, h, payload, bytes, deadline_);
  }
  backend::tcp::Socket to_;
  backend::tcp::Milliseconds deadline_;
  std::atomic<bool> const* finished_;  // by the time this one ends
  long of_way_;
  std::vector<Sent> weights_, gradient_;
  std::vector<unsigned char> message_;
  bool newer_ = false;
};

/// What coordinator and helpers must agree on: the plan, and `job`, any number that identifies the data.
inline std::uint64_t helpers_plan(Serving const& of, int replicas, std::uint64_t job) {
  return of.fingerprint(replicas) ^ job * 0x9E3779B97F4A7C15u;
}

/// Admits a helper, or sends it the reason of its refusal.
template <class F>
void let_in(Service<F> const& of, backend::tcp::Socket s, int replicas, std::uint64_t job, std::string const& token,
            backend::tcp::Milliseconds deadline, std::atomic<bool> const* finished, HandsOf<F>& all) {
  backend::tcp::Milliseconds const second(1000);
  try {
    try {
      std::string nothing;
      auto const hello = backend::tcp::hear_hello(s, nothing, token, second);
      if (hello.plan != helpers_plan(of, replicas, job)) {
        throw backend::tcp::Refusal(
            "the coordinator runs another plan, other data or seed, another number of replicas (" +
            std::to_string(replicas) + ") or version of cleave (it has " + std::string(version) + ")");
      }
    } catch (backend::tcp::Refusal const& e) {
      return backend::tcp::refuse(s, e, second);
    }
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Welcome;
    backend::tcp::send(s, h, nullptr, 0, second);
    all.push_back(std::make_unique<Far<F>>(of.elements(), of.ways(), std::move(s), deadline, finished));
  } catch (Error const&) {  // it has gone, or never spoke this protocol
  }
}
/// Waits for so many helpers of this plan, of `replicas` in all. Who runs another one is told, and not counted; who
/// says nothing keeps nobody waiting. `finished` is looked at when the helpers are sent away, and tells them that the
/// run has come to its end.
template <class F>
HandsOf<F> gather_for(Service<F> const& of, backend::tcp::Socket const& door, int helpers, int replicas,
                      std::uint64_t job, backend::tcp::Deadline const& by, std::string const& token,
                      std::atomic<bool> const* finished) {
  constexpr std::size_t most_waiting = 64;
  HandsOf<F> all;
  std::vector<backend::tcp::Socket> waiting;
  while (static_cast<int>(all.size()) < helpers) {
    if (by.left().count() == 0) {
      throw Error({all.size(), " of ", helpers, " helpers have come to port ", door.port(), " within ",
                   by.whole.count(), " ms"});
    }
    if (auto s = door.accept(std::min(by.left(), backend::tcp::Milliseconds(20))); s.valid()) {
      if (waiting.size() == most_waiting) waiting.erase(waiting.begin());
      waiting.push_back(std::move(s));
    }
    for (std::size_t i = waiting.size(); i-- > 0 && static_cast<int>(all.size()) < helpers;) {
      if (!waiting[i].readable(backend::tcp::Milliseconds(0))) continue;
      let_in(of, std::move(waiting[i]), replicas, job, token, by.whole, finished, all);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return all;
}
/// Of plan P.
template <class P>
Hands<P> gather(backend::tcp::Socket const& door, int helpers, int replicas, std::uint64_t job,
                backend::tcp::Deadline const& by, std::string const& token = {},
                std::atomic<bool> const* finished = nullptr) {
  return gather_for(service<P>, door, helpers, replicas, job, by, token, finished);
}

/// A feed whose step 0 is step `first` of another.
struct FeedFrom {
  backend::host::Feed const& of;
  long first = 0;
  backend::host::Feed feed() const {
    backend::host::Feed out{this, pixels, nullptr};
    if (of.labels) out.labels = labels;
    if (of.targets) out.targets = targets;
    if (of.sample_weights) out.sample_weights = sample_weights;
    return out;
  }

 private:
  static backend::host::Feed const& source(void const* self) { return static_cast<FeedFrom const*>(self)->of; }
  static long from(void const* self) { return static_cast<FeedFrom const*>(self)->first; }
  static void pixels(void const* self, long step, long sample, int count, float* out) {
    source(self).pixels(source(self).self, from(self) + step, sample, count, out);
  }
  static void labels(void const* self, long step, long sample, int count, int* out) {
    source(self).labels(source(self).self, from(self) + step, sample, count, out);
  }
  static void targets(void const* self, long step, long sample, int count, float* out) {
    source(self).targets(source(self).self, from(self) + step, sample, count, out);
  }
  static void sample_weights(void const* self, long step, long sample, int count, float* out) {
    source(self).sample_weights(source(self).self, from(self) + step, sample, count, out);
  }
};

/// How a helper's work has ended.
struct Helped {
  long made = 0;          // gradients
  bool finished = false;  // the coordinator said that the run had come to its end
};

/// Makes gradients for a coordinator until that says it is over, or has gone. The feed is the coordinator's own, with
/// the same samples at the same steps, and so is the seed.
template <class F>
Helped help_by(Service<F> const& of, RanksOf<typename F::T> const& by, backend::tcp::Address const& coordinator,
               int replicas, std::uint64_t job, std::uint64_t seed, backend::host::Feed const& feed,
               backend::tcp::Milliseconds deadline, std::string const& token) {
  using Sent = typename F::Sent;
  long const of_way = of.elements();
  std::size_t const weights = sizeof(Sent) * static_cast<std::size_t>(of_way * of.ways());
  auto const to = backend::tcp::Socket::connect(coordinator, deadline);
  std::vector<unsigned char> message;
  backend::tcp::Head hello;
  hello.plan = helpers_plan(of, replicas, job);
  backend::tcp::introduce(to, hello, {}, token, deadline);
  auto const mine = std::move(near_by(of, by, 1, seed)[0]);
  Helped all;
  try {
    for (;; ++all.made) {
      auto const h = backend::tcp::receive(to, message, 2 * sizeof(long) + weights, std::chrono::hours(1));
      if (h.kind != backend::tcp::Kind::Portion) throw Error({to.peer(), " sends what is no portion"});
      if (message.empty()) {
        all.finished = h.version != 0;
        return all;
      }
      long which[2];  // the feed's step of portion 0, and the portion
      if (message.size() != sizeof which && message.size() != sizeof which + weights) {
        throw Error({to.peer(), " sends a portion of ", message.size(), " bytes; is it the same plan?"});
      }
      std::memcpy(which, message.data(), sizeof which);
      if (message.size() > sizeof which) {
        std::vector<Sent> point(static_cast<std::size_t>(of_way * of.ways()));
        std::memcpy(point.data(), message.data() + sizeof which, weights);
        for (int w = 0; w < of.ways(); ++w) mine->take(w, 0, point.data() + w * of_way, of_way);
      }
      FeedFrom const from{feed, which[0]};
      double const loss = mine->gradient(which[1], which[0], from.feed());
      message.resize(sizeof loss + weights);
      std::memcpy(message.data(), &loss, sizeof loss);
      for (int w = 0; w < of.ways(); ++w) {
        auto const bytes = sizeof(Sent) * static_cast<std::size_t>(of_way);
        std::memcpy(message.data() + sizeof loss + static_cast<std::size_t>(w) * bytes, mine->pushed(w, 0, of_way),
                    bytes);
      }
      backend::tcp::Head done;
      done.kind = backend::tcp::Kind::Finished;
      backend::tcp::send(to, done, message.data(), message.size(), deadline);
    }
  } catch (backend::tcp::Closed const&) {  // the coordinator has what it wanted, or gave this helper up for being late
    return all;
  }
}

/// Of plan P. `Ranks` compute.
template <class P, class Ranks = ThreadRanks<P>>
Helped help(backend::tcp::Address const& coordinator, int replicas, std::uint64_t job, std::uint64_t seed,
            backend::host::Feed const& feed, backend::tcp::Milliseconds deadline = std::chrono::seconds(60),
            std::string const& token = {}) {
  return help_by(service<P>, ranks_by<P, Ranks>, coordinator, replicas, job, seed, feed, deadline, token);
}

}  // namespace cleave::session
