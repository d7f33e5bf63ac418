// parameter_server/client.hpp - one replica in a separate process, which needs only the server's address and a container name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <optional>

#include "ledger.hpp"
#include "links.hpp"
#include "pushes.hpp"

namespace cleave::session {

/// The run has been stopped elsewhere: what() says where and by what.
struct StoppedElsewhere : Error {
  using Error::Error;
};

/// The base of `Client<P>`, for all plans of the same formats.
template <class F> class ClientOf {
 public:
  using Common = ClientOf;  // the type by which other code takes a client, whatever its plan
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;
  using Addresses = std::vector<backend::tcp::Address>;
  using Before = std::function<void(long step)>;
  using Tell = std::function<void(long step, double loss)>;

  ClientOf(Service<F> const& of, RanksOf<T> const& ranks, Addresses const& servers, std::string const& container,
           int replica, int replicas, std::uint64_t seed, backend::tcp::Milliseconds deadline, std::string token,
           std::optional<backend::tcp::Milliseconds> connects_within)
      : of_(of),
        pushes_(of),
        shards_(of.shards()),
        waits_(of.waits()),
        index_(replica),
        replicas_(replicas),
        deadline_(deadline),
        replica_(of, ranks, Replica<F>::checked_room(of, ranks, own_part(replica, replicas), 1), seed),
        link_(servers, hello(replica, replicas), container, std::move(token), deadline) {
    if (replica >= replicas) {
      throw Error("replica " + std::to_string(replica) + " of a run of " + std::to_string(replicas) +
                  ": replicas are counted from 0");
    }
    begin(link_.connect(connects_within.value_or(deadline), deadline));
  }

  Description const& description() const { return *of_.plan; }

  /// How long to try to reconnect to a lost server (otherwise it is an error), and where to report it.
  void reconnect(backend::tcp::Milliseconds patience, std::function<void(std::string const&)> say) {
    link_.set_patience(patience, std::move(say));
  }

  /// Called ten times a second while it waits for weights, and before each attempt to reconnect; may throw.
  std::function<void()> while_waiting;

  /// Takes part in the steps [first, last) of the run; `before(step)` and `tell(step, loss)` around each of its own.
  /// One that has died, and comes back, goes on behind what the server has heard of it.
  /// Throws StoppedElsewhere where the server says that the run has been stopped.
  void train(long first, long last, backend::host::Feed const& feed, Rate const& rate, Before const& before,
             Tell const& tell) {
    while (!again([&] { take_part(first, last, feed, rate, before, tell); })) {
    }
  }

 private:
  void take_part(long first, long last, backend::host::Feed const& feed, Rate const& rate, Before const& before,
                 Tell const& tell) {
    replica_.forget_pushed();
    long turns = std::exchange(done_, 0);
    float rate_now = rate.at(first);
    agree::Turn turn = agree::Turn::Nothing;
    for (;;) {
      long since = backend::host::Timeline::now();
      if (turn == agree::Turn::Nothing) {
        while (turn == agree::Turn::Nothing) turn = mail();
        replica_.note(backend::host::Did::Wait, since);
      }
      long const step = waits_ ? long{worker_.weights_of(0)} * of_.pace().push + worker_.computed % of_.pace().push
                               : own(first, turns++);
      if (step >= last) break;
      before(step);
      rate_now = rate.at(step);
      double const loss = replica_.step(step, feed, rate_now, step);
      replica_.check(loss, index_, step);
      agree::Said const said = worker_.ready();
      since = backend::host::Timeline::now();
      if (said.push) pushes_.encode(replica_);
      for (int s = 0; s < shards_ && (said.push || said.ask); ++s) say(s, said, rate_now);
      if (said.push) replica_.forget_pushed();
      if (said.push) replica_.note(backend::host::Did::Push, since);
      turn = said.turn;
      tell(step, loss);
    }
    flush(rate_now);
    left_ = true;
    backend::tcp::Head bye;
    for (auto const& l : link_) backend::tcp::send(l, bye, nullptr, 0, deadline_);
  }

 public:
  /// Tells the server that this client was stopped by a signal and takes no more part: whoever waits for it is stopped
  /// too. It cannot train again.
  void leave(int signal) {
    left_ = true;
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Stopped;
    h.version = signal;
    for (auto const& l : link_) {
      try {
        backend::tcp::send(l, h, nullptr, 0, std::min(deadline_, backend::tcp::Milliseconds(1000)));
      } catch (Error const&) {  // the server has gone before
      }
    }
  }
  /// Notes what it does in its next so many steps.
  void trace(int steps) { replica_.trace(steps); }
  /// Timelines of the ranks of the run; null for those of other replicas.
  std::vector<backend::host::Timeline const*> timelines() {
    std::vector<backend::host::Timeline const*> all(static_cast<std::size_t>((index_ + 1) * of_.ways()));
    for (int w = 0; w < of_.ways(); ++w) all[static_cast<std::size_t>(index_ * of_.ways() + w)] = &replica_.timeline(w);
    return all;
  }

  /// Loads the server's weights into this replica.
  void pull() {
    for (int w = 0; w < of_.ways(); ++w) {
      read(w, backend::host::Region::Weights, 0, of_.elements(), replica_.at(w).weights());
    }
    replica_.refresh_copies();
  }
  /// For checkpoints: reads from the server.
  void read(int way, backend::host::Region region, long offset, long count, A* out) {
    long const all = of_.elements(), tensor = offset / all;
    bool const weights = region == backend::host::Region::Weights;
    of_.each_piece(way, offset % all, count, [&](int s, long there, long here, long n) {
      std::vector<A> const part = fetch(s, weights ? -1 : static_cast<int>(tensor) + 1);
      std::copy_n(part.begin() + there, n, out + here);
    });
  }
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    if (replica_.part() < 1) {
      throw Error("replica " + std::to_string(index_) +
                  " has a part of each batch; evaluate with a client that has no replica number (-1)");
    }
    pull();
    return replica_.score(feed, samples);
  }
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }
  /// Steps that the server has, as far as this client knows. A last push of fewer steps counts like others, but not
  /// beyond the end of the run.
  long steps() const {
    long const seen = worker_.weights_of(0) < 0 ? steps_ : worker_.weights_of(0) * long{of_.pace().push};
    return std::min(seen, last_);
  }
  void ends_at(long last) { last_ = last; }
  /// Elements and bytes that it has pushed.
  long sent() const { return sent_; }
  long sent_bytes() const { return sent_bytes_; }

 private:
  /// A client that does not train evaluates whole batches.
  schedule::Range own_part(int replica, int replicas) const {
    of_.parts(replicas);  // throws if there are not so many
    return replica < 0 ? schedule::Range{0, of_.micro_batches()} : of_.part(std::min(replica, replicas - 1), replicas);
  }
  /// If replicas do not wait: the step whose samples the gradient of a turn uses; every turn of all replicas covers as
  /// many steps as there are replicas.
  long own(long first, long turn) {
    place::Portions const& p = of_.portions();
    if (p.groups == 0) return first + turn * replicas_ + index_;
    long const at = turn * replicas_ * of_.micro_batches() + p.before(index_, replicas_);
    replica_.begin_at(static_cast<int>(at % of_.micro_batches()));
    return first + at / of_.micro_batches();
  }
  /// Pushes all pending steps, and waits for the answer: then the server has them and, where replicas wait for each
  /// other, those of all.
  void flush(float rate) {
    if (!worker_.pending()) return;
    agree::Said const said = worker_.flush();
    pushes_.encode(replica_);
    for (int s = 0; s < shards_; ++s) say(s, said, rate);
    replica_.forget_pushed();
    for (agree::Turn turn = said.turn; turn == agree::Turn::Nothing;) turn = mail();
  }
  backend::tcp::Socket const& link(int s) const { return link_[static_cast<std::size_t>(s) % link_.size()]; }
  std::size_t most_bytes() const {
    std::size_t most = 1024;
    for (int s = 0; s < shards_; ++s) {
      most = std::max(most, static_cast<std::size_t>(of_.count(s)) * sizeof(A));
    }
    return most;
  }
  [[noreturn]] void refused(backend::tcp::Socket const& by) const {
    throw Error(by.peer() + ": " + std::string(payload_.begin(), payload_.end()));
  }
  [[noreturn]] void stopped() const { throw StoppedElsewhere(std::string(payload_.begin(), payload_.end())); }
  /// A connection that could not be written to may still hold why it was closed.
  void hear_whether_stopped() {
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
  void say(int s, agree::Said const& said, float rate) {
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
  /// Reads what has arrived from every server, and waits for the one whose grant is missing.
  agree::Turn mail() {
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
  bool missing_from(std::size_t i) const {
    for (std::size_t s = i; s < static_cast<std::size_t>(shards_); s += link_.size()) {
      if (worker_.mailbox[s] <= worker_.version[s]) return true;
    }
    return false;
  }
  agree::Turn one_grant(backend::tcp::Socket const& from) {
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
      throw Error("no new weights from " + from.peer() + " within " + std::to_string(deadline_.count()) +
                  " ms: " + (text.empty() ? "it answers, and waits for no replica; it is far too slow" : text));
    }
    if (h.kind == backend::tcp::Kind::Refused) refused(from);
    if (h.kind == backend::tcp::Kind::Stopped) stopped();
    if (h.kind != backend::tcp::Kind::Grant || h.shard < 0 || h.shard >= shards_ ||
        payload_.size() != static_cast<std::size_t>(of_.count(h.shard)) * sizeof(Sent)) {
      throw Error(from.peer() + " sent what does not belong to this plan");
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
  /// Asks which replicas the server waits for. A server that hangs does not answer that either.
  void ask_whom(backend::tcp::Socket const& server) {
    backend::tcp::Head h;
    h.kind = backend::tcp::Kind::Whom;
    for (std::size_t i = 0; i < link_.size(); ++i) {
      if (&link_[i] == &server) h.shard = static_cast<std::int32_t>(i);
    }
    backend::tcp::send(server, h, nullptr, 0, deadline_);
  }
  backend::tcp::Head hello(int replica, int replicas) const {
    backend::tcp::Head h;
    h.event.worker = replica;
    h.plan = of_.fingerprint(replicas);
    return h;
  }
  void begin(backend::tcp::Head const& welcome) {
    worker_ = agree::worker(of_.pace(), shards_);
    done_ = welcome.version;
  }
  /// Runs it and returns true; if a server has closed the connection meanwhile, reconnects and returns false.
  template <class What> bool again(What what) {
    try {
      what();
      return true;
    } catch (backend::tcp::Closed const& lost) {
      hear_whether_stopped();
      if (!link_.tries_again() || left_) throw;
      begin(link_.connect_again(lost, while_waiting));
      pushes_.forget(replica_);
      return false;
    }
  }
  std::vector<A> fetch(int s, int what) {
    std::vector<A> out;
    while (!again([&] { out = fetch_once(s, what); })) {
    }
    return out;
  }
  std::vector<A> fetch_once(int s, int what) {
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

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  bool const waits_;
  int index_, replicas_;
  backend::tcp::Milliseconds deadline_;
  Replica<F> replica_;
  Links link_;
  agree::AnyWorker worker_;
  std::vector<unsigned char> payload_, message_;
  bool left_ = false;  // it has finished its steps
  long sent_ = 0, sent_bytes_ = 0, steps_ = 0, last_ = std::numeric_limits<long>::max();
  long done_ = 0;  // gradients that the server received from earlier incarnations of this replica
};

/// `Client<Train> mine({{"host", 29500}}, "net", 3, 8); mine.train(0, 1000, feed);` A client without a replica number
/// (-1) does not train and may read. No call waits longer than the deadline, and to connect to a part
/// not longer than `connects_within`, where that is given. `Ranks` compute: threads, or a device's.
template <class P, class Ranks = ThreadRanks<P>> class Client : public ClientOf<formats_of<P>> {
 public:
  using plan = P;
  using typename ClientOf<formats_of<P>>::Addresses;

  Client(Addresses const& servers, std::string const& container, int replica, int replicas, std::uint64_t seed = 1,
         backend::tcp::Milliseconds deadline = std::chrono::seconds(60), std::string token = {},
         std::optional<backend::tcp::Milliseconds> connects_within = {})
      : ClientOf<formats_of<P>>(service<P>, ranks_by<P, Ranks>, servers, container, replica, replicas, seed, deadline,
                                std::move(token), connects_within) {}
};

}  // namespace cleave::session
