// parameter_server/client_of.hpp - a client of a server for any plan of its formats of numbers.
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

/// The base of `Client<P>` (client.hpp), the same code for all plans of the same formats. Members that are not defined
/// here are in client_messages.hpp; include client.hpp.
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
           std::optional<backend::tcp::Milliseconds> connects_within);

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
             Tell const& tell);

  /// Tells the server that this client was stopped by a signal, or is tcp::diverged, and takes no more part: whoever
  /// waits for it is stopped too. It cannot train again.
  void leave(int signal);
  /// Notes what it does in its next so many steps.
  void trace(int steps) { replica_.trace(steps); }
  /// Timelines of the ranks of the run; null for those of other replicas.
  std::vector<backend::host::Timeline const*> timelines();

  /// Loads the server's weights into this replica.
  void pull();
  /// For checkpoints: reads from the server.
  void read(int way, backend::host::Region region, long offset, long count, A* out);
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples);
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
  void take_part(long first, long last, backend::host::Feed const& feed, Rate const& rate, Before const& before,
                 Tell const& tell);
  /// A client that does not train evaluates whole batches.
  schedule::Range own_part(int replica, int replicas) const {
    of_.parts(replicas);  // throws if there are not so many
    return replica < 0 ? schedule::Range{0, of_.micro_batches()} : of_.part(std::min(replica, replicas - 1), replicas);
  }
  /// If replicas do not wait: the step whose samples the gradient of a turn uses; every turn of all replicas covers as
  /// many steps as there are replicas.
  long own(long first, long turn);
  /// Pushes all pending steps, and waits for the answer: then the server has them and, where replicas wait for each
  /// other, those of all.
  void flush(float rate);
  backend::tcp::Socket const& link(int s) const { return link_[static_cast<std::size_t>(s) % link_.size()]; }
  std::size_t most_bytes() const {
    std::size_t most = 1024;
    for (int s = 0; s < shards_; ++s) {
      most = std::max(most, static_cast<std::size_t>(of_.count(s)) * sizeof(A));
    }
    if (of_.in_step()) most += decided_bytes(replicas_);
    return most;
  }
  [[noreturn]] void refused(backend::tcp::Socket const& by) const {
    throw Error({by.peer(), ": ", std::string(payload_.begin(), payload_.end())});
  }
  [[noreturn]] void stopped() const { throw StoppedElsewhere(std::string(payload_.begin(), payload_.end())); }
  /// A connection that could not be written to may still hold why it was closed.
  void hear_whether_stopped();
  /// Pushes or asks, at every shard; returns what it is to do next. The first of shards in step gets a push when all
  /// others have confirmed theirs.
  agree::Turn say(agree::Said const& said, float rate);
  backend::tcp::Head message(int s, agree::Said const& said, float rate, std::vector<unsigned char>& payload);
  /// The first shard has sent its weights of this version, and which update made them: asks the others for theirs.
  void follow(int version);
  /// Reads what has arrived from every server, and waits for the one whose grant is missing.
  agree::Turn mail();
  bool missing_from(std::size_t i) const {
    for (std::size_t s = i; s < static_cast<std::size_t>(shards_); s += link_.size()) {
      if (worker_.mailbox[s] <= worker_.version[s] || (of_.in_step() && worker_.mailbox[s] < wanted(s))) return true;
    }
    return false;
  }
  /// Of shards in step: the others send what the first one has sent, and if one of them is ahead, the first will send
  /// that too.
  int wanted(std::size_t s) const {
    return s > 0 ? worker_.mailbox.front() : *std::max_element(worker_.mailbox.begin(), worker_.mailbox.end());
  }
  agree::Turn one_answer(backend::tcp::Socket const& from);
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
    worker_ = of_.worker();
    done_ = welcome.version;
    life_ = welcome.event.life;
    followed_ = -1;
    unconfirmed_.assign(link_.size(), 0);
    in_file_.assign(link_.size(), 0);
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
  std::vector<A> fetch(int s, int what);
  std::vector<A> fetch_once(int s, int what);

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  bool const waits_;
  int index_, replicas_;
  backend::tcp::Milliseconds deadline_;
  Replica<F> replica_;
  Links link_;
  agree::AnyWorker worker_;
  std::vector<unsigned char> payload_, message_, first_message_;
  bool left_ = false;  // it has finished its steps
  long sent_ = 0, sent_bytes_ = 0, steps_ = 0, last_ = std::numeric_limits<long>::max();
  int life_ = 0, followed_ = -1;  // its life at the first shard, and that shard's version that it has asked others for
  // Of each part of the server: pushes to shards that follow the first, and the update in its newest file.
  std::vector<int> unconfirmed_, in_file_;
  long done_ = 0;  // gradients that the server received from earlier incarnations of this replica
};

template <class F>
ClientOf<F>::ClientOf(Service<F> const& of, RanksOf<T> const& ranks, Addresses const& servers,
                      std::string const& container, int replica, int replicas, std::uint64_t seed,
                      backend::tcp::Milliseconds deadline, std::string token,
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
    throw Error({"replica ", replica, " of a run of ", replicas, ": replicas are counted from 0"});
  }
  begin(link_.connect(connects_within.value_or(deadline), deadline));
}
template <class F>
void ClientOf<F>::train(long first, long last, backend::host::Feed const& feed, Rate const& rate, Before const& before,
                        Tell const& tell) {
  while (!again([&] { take_part(first, last, feed, rate, before, tell); })) {
  }
}
template <class F>
void ClientOf<F>::take_part(long first, long last, backend::host::Feed const& feed, Rate const& rate,
                            Before const& before, Tell const& tell) {
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
    turn = said.push || said.ask ? say(said, rate_now) : said.turn;
    if (said.push) replica_.note(backend::host::Did::Push, since);
    tell(step, loss);
  }
  flush(rate_now);
  left_ = true;
  backend::tcp::Head bye;
  for (auto const& l : link_) backend::tcp::send(l, bye, nullptr, 0, deadline_);
}
template <class F> void ClientOf<F>::leave(int signal) {
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
template <class F> std::vector<backend::host::Timeline const*> ClientOf<F>::timelines() {
  std::vector<backend::host::Timeline const*> all(static_cast<std::size_t>((index_ + 1) * of_.ways()));
  for (int w = 0; w < of_.ways(); ++w) all[static_cast<std::size_t>(index_ * of_.ways() + w)] = &replica_.timeline(w);
  return all;
}
template <class F> void ClientOf<F>::pull() {
  for (int w = 0; w < of_.ways(); ++w) {
    read(w, backend::host::Region::Weights, 0, of_.elements(), replica_.at(w).weights());
  }
  replica_.refresh_copies();
}
template <class F> void ClientOf<F>::read(int way, backend::host::Region region, long offset, long count, A* out) {
  long const all = of_.elements(), tensor = offset / all;
  bool const weights = region == backend::host::Region::Weights;
  of_.each_piece(way, offset % all, count, [&](int s, long there, long here, long n) {
    std::vector<A> const part = fetch(s, weights ? -1 : static_cast<int>(tensor) + 1);
    std::copy_n(part.begin() + there, n, out + here);
  });
}
template <class F> backend::host::Score ClientOf<F>::score(backend::host::Feed const& feed, long samples) {
  if (replica_.part() < 1) {
    throw Error(
        {"replica ", index_, " has a part of each batch; evaluate with a client that has no replica number (-1)"});
  }
  pull();
  return replica_.score(feed, samples);
}
template <class F> long ClientOf<F>::own(long first, long turn) {
  place::Portions const& p = of_.portions();
  if (p.groups == 0) return first + turn * replicas_ + index_;
  long const at = turn * replicas_ * of_.micro_batches() + p.before(index_, replicas_);
  replica_.begin_at(static_cast<int>(at % of_.micro_batches()));
  return first + at / of_.micro_batches();
}
template <class F> void ClientOf<F>::flush(float rate) {
  if (!worker_.pending()) return;
  agree::Said const said = worker_.flush();
  for (agree::Turn turn = say(said, rate); turn == agree::Turn::Nothing;) turn = mail();
}

}  // namespace cleave::session
