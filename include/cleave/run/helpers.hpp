// run/helpers.hpp - replicas of Sandblaster in processes of their own: a coordinator's portions go to them over TCP.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../backend/tcp/frame.hpp"
#include "crew.hpp"
#include "fingerprint.hpp"

namespace cleave::session {

/// A replica behind a connection. It holds the weights to be sent with the next portion, and the last gradient.
template <class P> class Far : public Hand<P> {
 public:
  using Sent = typename Hand<P>::Sent;
  static constexpr long elements = P::schedule.weight_elements;
  static constexpr std::size_t most_bytes = sizeof(double) + sizeof(Sent) * static_cast<std::size_t>(elements);

  Far(backend::tcp::Socket to, backend::tcp::Milliseconds deadline)
      : to_(std::move(to)), deadline_(deadline), weights_(static_cast<std::size_t>(elements)), gradient_(weights_) {}
  ~Far() override {
    try {
      send(nullptr, 0);
    } catch (Error const&) {  // it has gone before
    }
  }
  Far(Far const&) = delete;
  Far& operator=(Far const&) = delete;

  void take(int, long begin, Sent const* from, long count) override {
    std::copy_n(from, count, weights_.begin() + begin);
    newer_ = true;
  }
  double gradient(long portion, long first, backend::host::Feed const&) override {
    long const step = first + portion;
    message_.resize(sizeof step + (newer_ ? weights_.size() * sizeof(Sent) : 0));
    std::memcpy(message_.data(), &step, sizeof step);
    if (newer_) std::memcpy(message_.data() + sizeof step, weights_.data(), weights_.size() * sizeof(Sent));
    try {
      send(message_.data(), message_.size());
      auto const h = backend::tcp::receive(to_, message_, most_bytes, deadline_);
      if (h.kind != backend::tcp::Kind::Finished || message_.size() != most_bytes) throw typename Hand<P>::Gone{};
    } catch (Error const&) {  // it died, or does not answer: others do its portion
      to_.shut();
      throw typename Hand<P>::Gone{};
    }
    newer_ = false;
    double loss = 0;
    std::memcpy(&loss, message_.data(), sizeof loss);
    std::memcpy(gradient_.data(), message_.data() + sizeof loss, gradient_.size() * sizeof(Sent));
    return loss;
  }
  Sent* pushed(int, long begin, long) override { return gradient_.data() + begin; }

 private:
  void send(void const* payload, std::size_t bytes) {
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Portion;
    backend::tcp::send(to_, h, payload, bytes, deadline_);
  }
  backend::tcp::Socket to_;
  backend::tcp::Milliseconds deadline_;
  std::vector<Sent> weights_, gradient_;
  std::vector<unsigned char> message_;
  bool newer_ = false;
};

/// Waits for so many helpers of this plan, of `ranks` in all. Who runs another plan is told, and not counted.
template <class P>
Hands<P> gather(backend::tcp::Socket const& door, int helpers, int ranks, backend::tcp::Milliseconds deadline) {
  Hands<P> all;
  auto const until = std::chrono::steady_clock::now() + deadline;
  while (static_cast<int>(all.size()) < helpers) {
    backend::tcp::Socket s = door.accept(backend::tcp::Milliseconds(200));
    if (std::chrono::steady_clock::now() > until) {
      throw Error(std::to_string(all.size()) + " of " + std::to_string(helpers) + " helpers have come to port " +
                  std::to_string(door.port()) + " within " + std::to_string(deadline.count()) + " ms");
    }
    if (!s.valid()) continue;
    try {
      std::vector<unsigned char> nothing;
      auto const hello = backend::tcp::receive(s, nothing, 256, deadline);
      bool const known = hello.kind == backend::tcp::Kind::Hello && hello.plan == fingerprint<P>(ranks);
      std::string const why = known ? ""
                                    : "the coordinator runs another plan, number of ranks (" + std::to_string(ranks) +
                                          ") or version of cleave (it has " + std::string(version) + ")";
      backend::tcp::Head h;
      h.kind = known ? backend::tcp::Kind::Welcome : backend::tcp::Kind::Refused;
      backend::tcp::send(s, h, why.data(), why.size(), deadline);
      if (known) all.push_back(std::make_unique<Far<P>>(std::move(s), deadline));
    } catch (Error const&) {  // it has gone, or never spoke this protocol
    }
  }
  return all;
}

/// Makes gradients for a coordinator until that says it is over; returns how many. The feed is the coordinator's own:
/// the same samples at the same steps.
template <class P>
long help(backend::tcp::Address const& coordinator, int ranks, std::uint64_t seed, backend::host::Feed const& feed,
          backend::tcp::Milliseconds deadline = std::chrono::seconds(600)) {
  using Sent = typename Hand<P>::Sent;
  constexpr std::size_t weights = sizeof(Sent) * static_cast<std::size_t>(P::schedule.weight_elements);
  auto const to = backend::tcp::Socket::connect(coordinator, deadline);
  std::vector<unsigned char> message;
  backend::tcp::Head hello;
  hello.plan = fingerprint<P>(ranks);
  backend::tcp::send(to, hello, nullptr, 0, deadline);
  if (backend::tcp::receive(to, message, 1024, deadline).kind != backend::tcp::Kind::Welcome) {
    throw Error(to.peer() + ": " + std::string(message.begin(), message.end()));
  }
  Near<P> mine(seed);
  for (long made = 0;; ++made) {
    auto const h = backend::tcp::receive(to, message, sizeof(long) + weights, deadline);
    if (h.kind != backend::tcp::Kind::Portion) throw Error(to.peer() + " sends what is no portion");
    if (message.empty()) return made;
    long step = 0;
    if (message.size() != sizeof step && message.size() != sizeof step + weights) {
      throw Error(to.peer() + " sends a portion of " + std::to_string(message.size()) + " bytes; is it the same plan?");
    }
    std::memcpy(&step, message.data(), sizeof step);
    if (message.size() > sizeof step) {
      std::vector<Sent> point(static_cast<std::size_t>(P::schedule.weight_elements));
      std::memcpy(point.data(), message.data() + sizeof step, weights);
      mine.take(0, 0, point.data(), P::schedule.weight_elements);
    }
    double const loss = mine.gradient(step, 0, feed);
    message.resize(sizeof loss + weights);
    std::memcpy(message.data(), &loss, sizeof loss);
    std::memcpy(message.data() + sizeof loss, mine.pushed(0, 0, P::schedule.weight_elements), weights);
    backend::tcp::Head done;
    done.kind = backend::tcp::Kind::Finished;
    backend::tcp::send(to, done, message.data(), message.size(), deadline);
  }
}

}  // namespace cleave::session
