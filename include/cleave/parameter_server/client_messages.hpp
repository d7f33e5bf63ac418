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
template <class F>
backend::tcp::Head ClientOf<F>::message(int s, agree::Said const& said, float rate,
                                        std::vector<unsigned char>& payload) {
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Event;
  h.shard = s;
  h.rate = rate;
  h.event = {said.push ? agree::Heard::Pushed : agree::Heard::Asked,
             index_,
             life_,
             worker_.weights_of(of_.decided_by(s)),
             said.count,
             said.ask};
  payload.clear();
  if (!said.push) return h;
  pushes_.write(replica_, s, payload);
  sent_ += pushes_.elements(s) + pushes_.rows(replica_, s).elements;
  sent_bytes_ += static_cast<long>(payload.size());
  return h;
}
template <class F> agree::Turn ClientOf<F>::say(agree::Said const& said, float rate) {
  agree::Turn turn = said.turn;
  if (said.push) pushes_.encode(replica_);
  if (of_.in_step() && said.push) {
    // Newer weights may come before all shards have the push: what the first one gets is written before, and nothing is
    // computed before all have come.
    worker_.pause();
    backend::tcp::Head first = message(0, said, rate, first_message_);
    for (int s = 1; s < shards_; ++s) {
      backend::tcp::Head const h = message(s, said, rate, message_);
      backend::tcp::send(link(s), h, message_.data(), message_.size(), deadline_);
      ++unconfirmed_[static_cast<std::size_t>(s) % link_.size()];
    }
    for (std::size_t i = 0; i < link_.size(); ++i) {
      while (unconfirmed_[i] > 0) one_answer(link_[i]);
    }
    if (link_.size() > 1) first.version = *std::min_element(in_file_.begin() + 1, in_file_.end());
    backend::tcp::send(link(0), first, first_message_.data(), first_message_.size(), deadline_);
    turn = worker_.go_on();
  } else {
    for (int s = 0; s < shards_; ++s) {
      backend::tcp::Head const h = message(s, said, rate, message_);
      backend::tcp::send(link(s), h, message_.data(), message_.size(), deadline_);
    }
  }
  if (said.push) replica_.forget_pushed();
  return turn;
}
template <class F> void ClientOf<F>::follow(int version) {
  if (!of_.in_step() || version <= followed_) return;
  followed_ = version;
  backend::tcp::Head h;
  h.kind = backend::tcp::Kind::Follow;
  h.version = version;
  std::size_t const weights = static_cast<std::size_t>(of_.count(0)) * sizeof(Sent);
  for (h.shard = 1; h.shard < shards_; ++h.shard) {
    backend::tcp::send(link(h.shard), h, payload_.data() + weights, payload_.size() - weights, deadline_);
  }
}
template <class F> agree::Turn ClientOf<F>::mail() {
  agree::Turn turn = agree::Turn::Nothing;
  for (std::size_t i = 0; i < link_.size(); ++i) {
    bool const missing = missing_from(i);
    while (missing
               ? turn == agree::Turn::Nothing && missing_from(i)
               : (turn == agree::Turn::Nothing || !of_.in_step()) && link_[i].readable(backend::tcp::Milliseconds(0))) {
      agree::Turn const t = one_answer(link_[i]);
      if (t != agree::Turn::Nothing) turn = t;
    }
  }
  for (auto const& l : link_) {  // newer ones that have arrived already; of shards in step there is no part of them
    while (!of_.in_step() && turn == agree::Turn::Compute && l.readable(backend::tcp::Milliseconds(0))) one_answer(l);
  }
  return turn;
}
template <class F> agree::Turn ClientOf<F>::one_answer(backend::tcp::Socket const& from) {
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
    auto const newest = std::max_element(worker_.mailbox.begin(), worker_.mailbox.end());
    if (of_.in_step() && *newest > worker_.mailbox.front()) {
      throw Error({"shard ", newest - worker_.mailbox.begin(), ": it has update ", *newest - 1,
                   ", and the first shard ", worker_.mailbox.front() - 1, unequal_parts});
    }
    throw Error({"no new weights from ", from.peer(), " within ", deadline_.count(),
                 " ms: ", (text.empty() ? "it answers, and waits for no replica; it is far too slow" : text)});
  }
  if (h.kind == backend::tcp::Kind::Refused) refused(from);
  if (h.kind == backend::tcp::Kind::Stopped) stopped();
  bool const one_of_them = h.shard >= 0 && h.shard < shards_;
  if (h.kind == backend::tcp::Kind::Kept && one_of_them && of_.follows(h.shard)) {
    std::size_t const part = static_cast<std::size_t>(h.shard) % link_.size();
    --unconfirmed_[part];
    in_file_[part] = h.version;
    return agree::Turn::Nothing;
  }
  std::size_t const more = of_.in_step() && h.shard == 0 ? decided_bytes(replicas_) : 0;
  if (h.kind != backend::tcp::Kind::Grant || !one_of_them ||
      payload_.size() != static_cast<std::size_t>(of_.count(h.shard)) * sizeof(Sent) + more) {
    throw Error({from.peer(), " sent what does not belong to this plan"});
  }
  if (h.shard == 0) follow(h.version);
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
