// parameter_server/links.hpp - a client's connections to the parts of its server, which are renewed when they are lost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../backend/tcp/greeting.hpp"

namespace cleave::session {

class Links {
 public:
  Links(std::vector<backend::tcp::Address> servers, backend::tcp::Head const& hello, std::string container,
        std::string token, backend::tcp::Milliseconds deadline)
      : servers_(std::move(servers)),
        hello_(hello),
        container_(std::move(container)),
        token_(std::move(token)),
        deadline_(deadline) {}

  std::size_t size() const { return link_.size(); }
  backend::tcp::Socket const& operator[](std::size_t i) const { return link_[i]; }
  auto begin() const { return link_.begin(); }
  auto end() const { return link_.end(); }

  /// Greets every part; returns the first one's welcome. Each part has `each` to be reachable, and all have until the
  /// deadline to answer.
  backend::tcp::Head connect(backend::tcp::Milliseconds each, backend::tcp::Deadline const& by) {
    backend::tcp::Head first;
    link_.clear();
    for (auto const& a : servers_) {
      link_.push_back(backend::tcp::Socket::connect(a, std::min(each, by.left())));
      auto const welcome = backend::tcp::introduce(link_.back(), hello_, container_, token_, by);
      if (link_.size() == 1) first = welcome;
    }
    return first;
  }
  /// Ends all connections, of which those that are whole say that this client will come back.
  void leave_to_return() {
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Returns;
    h.version = static_cast<std::int32_t>(std::min<std::int64_t>(patience_.count(), 1 << 30));
    for (auto const& l : link_) {
      try {
        if (link_.size() > 1)
          backend::tcp::send(l, h, nullptr, 0, std::min(deadline_, backend::tcp::Milliseconds(1000)));
      } catch (Error const&) {
      }
    }
    link_.clear();
  }
  /// How long to reconnect when a server has closed a connection, and where to report it. 0: not at all.
  void set_patience(backend::tcp::Milliseconds patience, std::function<void(std::string const&)> say) {
    patience_ = patience;
    say_ = std::move(say);
  }
  bool tries_again() const { return patience_.count() > 0; }
  /// Connects again, ever less often; returns the first part's welcome. A server that has not noticed yet that the old
  /// connection is gone refuses for now, and is asked again. Throws Error when patience is over, Refusal where there is
  /// no use in trying, and what `before_each` try throws.
  backend::tcp::Head connect_again(backend::tcp::Closed const& lost, std::function<void()> const& before_each) {
    tell(std::string(lost.what()) + "; connecting again for " + std::to_string(patience_.count()) + " ms");
    backend::tcp::Deadline const by(patience_);
    backend::tcp::Milliseconds const longest(5000);
    std::string refused, failed;
    for (backend::tcp::Milliseconds pause(100);; pause = std::min(2 * pause, longest)) {
      leave_to_return();
      if (before_each) before_each();
      std::this_thread::sleep_for(std::min(pause, by.left()));
      try {
        auto const welcome = connect(backend::tcp::Milliseconds(1000), std::min(by.left(), deadline_));
        tell("connected again");
        return welcome;
      } catch (backend::tcp::Refusal const& e) {
        if (!e.for_now) throw;
        refused = e.what();
      } catch (Error const& e) {
        failed = e.what();
      }
      if (by.left().count() > 0) continue;
      throw backend::tcp::Unreachable(std::string(lost.what()) + (refused.empty()
                                                                      ? ", and did not come back: " + failed
                                                                      : ", and refuses this client: " + refused));
    }
  }

 private:
  void tell(std::string const& what) const {
    if (say_) say_(what);
  }

  std::vector<backend::tcp::Address> servers_;
  backend::tcp::Head hello_;
  std::string container_, token_;
  backend::tcp::Milliseconds deadline_, patience_{};
  std::function<void(std::string const&)> say_;
  std::vector<backend::tcp::Socket> link_;
};

}  // namespace cleave::session
