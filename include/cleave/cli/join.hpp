// cli/join.hpp - a client of a parameter server as a command: trains its part, saves, and evaluates at the end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <exception>
#include <utility>

#include "../data/data.hpp"
#include "../parameter_server/client.hpp"
#include "../report/trace.hpp"
#include "apart.hpp"

namespace cleave::session {

/// A client, whose `Ranks` compute. Replica 0 saves what the server holds, now and then and when it is stopped; at the
/// end so does every client, but for those of a launcher, where rank 0 does. `any_of_all(bool)` waits for all processes
/// of a launcher that can be waited for, and tells whether it is true of one; their server is `host`.
template <class P, class Data, class Ranks, class Set, class Any>
int join(std::FILE* say, Apart const& a, Host<P>& host, int replicas, std::uint64_t seed, int epochs,
         Sets<Set> const& sets, Tracing const& tracing, std::string const& out, SaveEvery const& every, bool json,
         Any any_of_all) {
  auto const addresses = a.addresses();
  auto const& [training, held_out, preprocessing] = sets;
  Batches batches(training, preprocessing.scaling, P::batch, seed, true, variation_of<Data>()),
      test(held_out, preprocessing.scaling, P::batch, seed, false);
  long const last = batches.steps_per_epoch() * epochs;
  backend::tcp::Milliseconds const deadline = std::chrono::seconds(60);
  std::string const token = a.token();
  auto const lost = [&](std::string const& what) {
    std::fprintf(say, "replica %d: %s\n", *a.replica, what.c_str());
    std::fflush(say);
  };
  CheckpointFiles files(out);
  files.preprocessing = &preprocessing;
  bool const saves = *a.replica <= 0 || a.given_join.empty();
  if (saves) files.check(checkpoint_bytes(description<P>));  // before others count on this replica
  Client<P, Ranks> client(addresses, *a.container, *a.replica, replicas, seed, deadline, token);
  client.reconnect(std::chrono::seconds(*a.reconnect), lost);
  if (*a.replica >= 0 && tracing) client.trace(tracing.steps);
  // The server was reached before: who cannot connect soon finds it gone.
  auto const again = std::max<backend::tcp::Milliseconds>(std::chrono::seconds(*a.reconnect), std::chrono::seconds(2));
  auto const save_held = [&] {
    Client<P> reader(addresses, *a.container, -1, replicas, seed, deadline, token, again);
    reader.reconnect(std::chrono::seconds(*a.reconnect), lost);
    files.save(reader, seed, true);
    return std::pair{reader.steps(), host.save()};
  };
  double loss = 0;
  long own = 0;
  auto const begin = std::chrono::steady_clock::now();
  struct Stopped {};
  client.while_waiting = [] {
    if (StopSignals::received() != 0) throw Stopped{};
  };
  bool stopped = false;
  std::string elsewhere;
  auto const save_stopped = [&] {
    int const signal = StopSignals::received();
    std::string const why = signal != 0         ? "by " + StopSignals::name_of(signal)
                            : elsewhere.empty() ? "by a signal to another process"
                                                : "because " + elsewhere;
    auto const save_and_tell = [&] {
      if (!host.changed()) {
        std::fprintf(stderr, "replica %d: stopped %s; nothing was written: no step was made\n", *a.replica,
                     why.c_str());
        return;
      }
      auto const [at, whole] = save_held();
      std::fprintf(stderr, "replica %d: stopped %s; saved %s, step %ld%s\n", *a.replica, why.c_str(),
                   files.last.c_str(), at, a.given_join.empty() || !whole ? "" : "; go on with --resume auto");
    };
    if (!a.given_join.empty() && saves) save_and_tell();
    if (!a.given_join.empty() && !saves) std::fprintf(stderr, "replica %d: stopped %s\n", *a.replica, why.c_str());
    // A server that was started by hand saves what it holds when it is stopped, maybe before this client.
    if (a.given_join.empty()) wrote("replica " + std::to_string(*a.replica), save_and_tell);
  };
  auto saved = begin;
  // A full disk is a warning. A lost server is too where this client would reconnect; where not, it ends the run.
  auto const save_or_warn = [&] {
    std::exception_ptr ends;
    wrote("replica 0", [&] {
      try {
        save_held();
      } catch (backend::tcp::Unreachable const&) {
        if (*a.reconnect > 0) throw;
        ends = std::current_exception();
      }
    });
    if (ends) std::rethrow_exception(ends);
    saved = std::chrono::steady_clock::now();
  };
  if (*a.replica >= 0) {
    long epoch = -1, seen = -1;
    auto const due = [&](long step) {
      std::chrono::duration<double> const since = std::chrono::steady_clock::now() - saved;
      return every.due(std::exchange(seen, step), step, batches.steps_per_epoch(), since.count());
    };
    try {
      client.train(
          0, last, batches.feed(), P::rate.over(last),
          [&](long step) {
            if (StopSignals::received() != 0) throw Stopped{};
            if (seen < 0) {
              seen = step;
              if (step > (P::agreed::waits ? 0 : *a.replica))  // replicas that do not wait begin at different steps
                std::fprintf(say, "replica %d: resumed at step %ld of %ld\n", *a.replica, step, last);
            }
            if (*a.replica == 0 && due(step)) save_or_warn();
            if (step / batches.steps_per_epoch() != epoch) batches.shuffle(epoch = step / batches.steps_per_epoch());
          },
          [&](long step, double l) {
            loss = l;
            if (++own % 100 == 0) {
              std::fprintf(say, "replica %d: step %ld/%ld  loss %.4f\n", *a.replica, step, last, l);
              std::fflush(say);
            }
          });
    } catch (Stopped const&) {
      stopped = true;
      client.leave(StopSignals::received());
    } catch (StoppedElsewhere const& e) {
      stopped = true;
      elsewhere = e.what();
    } catch (Diverged const&) {
      host.diverged();
      client.leave(backend::tcp::diverged);
      throw;
    } catch (Error const&) {  // another replica was stopped first
      if (StopSignals::received() == 0) throw;
      stopped = true;
    }
    // What others still make is to be in the last checkpoint too.
    if (!stopped && !host.wait_for_others([&] {
          std::chrono::duration<double> const since = std::chrono::steady_clock::now() - saved;
          if (every.after(since.count())) save_or_warn();
        }))
      stopped = true;
    if (stopped) save_stopped();
  }
  // Made by all processes, whether they were stopped or are done.
  bool const any = any_of_all(stopped);
  if (any && !stopped && !a.given_join.empty()) save_stopped();
  if (any) return ExitCode::stopped;
  if (*a.replica >= 0) {
    std::fprintf(say, "replica %d has done its part: %ld gradients%s\n", *a.replica, own,
                 own == 0 ? ", no step was left" : "");
    if (tracing)
      wrote(meta::joined({"replica ", *a.replica}),
            [&] { tracing.write(say, schedule::program<P>, client.timelines()); });
  }
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Client<P> reader(addresses, *a.container, -1, replicas, seed, deadline, token);
  reader.reconnect(std::chrono::seconds(*a.reconnect), lost);
  reader.ends_at(last);
  auto const score = reader.score(test.feed(), held_out.count);
  std::fprintf(say, "held-out %s of %d %s; %.1f s\n", text_of(score).c_str(), held_out.count, plural_of<Set>, seconds);
  if (saves && (host.changed() || !io::exists(files.last))) {
    save(reader, written_through(files.last), seed, true, &preprocessing);
    std::fprintf(say, "wrote %s\n", files.last.c_str());
  } else if (saves) {
    std::fprintf(say, "nothing was written\n");
  }
  any_of_all(false);  // the server of rank 0 ends after all
  if (json && *a.replica <= 0) {
    io::JsonLine line;
    std::printf("%s\n", add_score(line, score)
                            .add("loss", loss)
                            .add("seconds", seconds)
                            .add("replica", long{*a.replica})
                            .add("elements_sent", client.sent())
                            .add("steps", reader.steps())
                            .text()
                            .c_str());
  }
  return 0;
}

}  // namespace cleave::session
