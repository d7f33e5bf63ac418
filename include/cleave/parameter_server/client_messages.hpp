// parameter_server/client_messages.hpp - what a client sends to its server, and what it reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "client_of.hpp"

namespace cleave::session {

template <class F> void ClientOf<F>::hear_whether_stopped() {
  for (auto const& l : link_) {
    try {
      while (l.readable(backend::tcp::Milliseconds(0))) {
        auto const h = backend::tcp::receive(l, payload_, most_bytes(), deadline_);
        if (h.kind == backend::tcp::Kind::Stopped) stopped();
      }
    } catch (backend::tcp::Closed const&) {
    }
  }
}
template <class F> void ClientOf<F>::say(int s, agree::Said const& said, float rate) {
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Event;
  h.shard = s;
  h.rate = rate;
  h.event = {
      said.push ? agree::Heard::Pushed : agree::Heard::Asked, index_, 0, worker_.weights_of(s), said.count, said.ask};
  message_.clear();
  if (said.push) pushes_.write(replica_, s, message_);
  backend::tcp::send(link(s), h, message_.data(), message_.size(), deadline_);
  if (said.push) sent_ += pushes_.elements(s) + pushes_.rows(replica_, s).elements;
  sent_bytes_ += static_cast<long>(message_.size());
}
template <class F> agree::Turn ClientOf<F>::mail() {
  agree::Turn turn = agree::Turn::Nothing;
  for (std::size_t i = 0; i < link_.size(); ++i) {
    bool const missing = missing_from(i);
    while (missing ? turn == agree::Turn::Nothing && missing_from(i)
                   : link_[i].readable(backend::tcp::Milliseconds(0))) {
      agree::Turn const t = one_grant(link_[i]);
      if (t != agree::Turn::Nothing) turn = t;
    }
  }
  for (auto const& l : link_) {  // newer ones that have arrived already
    while (turn == agree::Turn::Compute && l.readable(backend::tcp::Milliseconds(0))) one_grant(l);
  }
  return turn;
}
template <class F> agree::Turn ClientOf<F>::one_grant(backend::tcp::Socket const& from) {
  backend::tcp::Deadline const by(deadline_);
  bool silent = false;
  while (!silent && !from.readable(std::min(by.left(), backend::tcp::Milliseconds(100)))) {
    if (while_waiting) while_waiting();
    silent = by.left().count() == 0;
  }
  if (silent) ask_whom(from);
  auto const h = backend::tcp::receive(from, payload_, most_bytes(), deadline_);
  if (h.kind == backend::tcp::Kind::Whom) {
    if (!silent) return agree::Turn::Nothing;  // it was asked, but then sent weights
    std::string const text(payload_.begin(), payload_.end());
    throw Error({"no new weights from ", from.peer(), " within ", deadline_.count(),
                 " ms: ", (text.empty() ? "it answers, and waits for no replica; it is far too slow" : text)});
  }
  if (h.kind == backend::tcp::Kind::Refused) refused(from);
  if (h.kind == backend::tcp::Kind::Stopped) stopped();
  if (h.kind != backend::tcp::Kind::Grant || h.shard < 0 || h.shard >= shards_ ||
      payload_.size() != static_cast<std::size_t>(of_.count(h.shard)) * sizeof(Sent)) {
    throw Error({from.peer(), " sent what does not belong to this plan"});
  }
  Sent const* const sent = reinterpret_cast<Sent const*>(payload_.data());
  long const begin = of_.begin(h.shard), count = of_.end(h.shard) - begin;
  if (of_.elastic() && worker_.computed > 0) {
    replica_.came_back(of_.way(h.shard), begin, sent, count);
  } else {
    replica_.take(of_.way(h.shard), begin, sent, count);
  }
  bool const computing = worker_.computing;
  agree::Turn const turn = worker_.granted(h.shard, h.version);
  if (computing)
    worker_.version[static_cast<std::size_t>(h.shard)] =
        h.version + 1;  // read before the step began: the version that the step uses
  return turn;
}
template <class F> std::vector<typename ClientOf<F>::A> ClientOf<F>::fetch(int s, int what) {
  std::vector<A> out;
  while (!again([&] { out = fetch_once(s, what); })) {
  }
  return out;
}
template <class F> std::vector<typename ClientOf<F>::A> ClientOf<F>::fetch_once(int s, int what) {
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Pull;
  h.shard = s;
  h.version = what;
  backend::tcp::send(link(s), h, nullptr, 0, deadline_);
  h = backend::tcp::receive(link(s), payload_, most_bytes(), deadline_);
  if (h.kind != backend::tcp::Kind::Grant) refused(link(s));
  steps_ = h.version * long{of_.pace().push};
  std::vector<A> out(payload_.size() / sizeof(A));
  std::memcpy(out.data(), payload_.data(), out.size() * sizeof(A));
  return out;
}

}  // namespace cleave::session
