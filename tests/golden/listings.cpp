// golden/listings.cpp FOLDER - writes, for each plan of plans.hpp, what is planned on 1, 2, 3, 4 and 8 replicas, as
// text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cleave/schedule/exchange_goal.hpp>
#include <cleave/schedule/exchange_traffic.hpp>
#include "plans.hpp"

using namespace cleave;

namespace {

/// FNV-1a over numbers.
struct Digest {
  std::uint64_t value = 14695981039346656037u;
  void add(long number) {
    for (int shift = 0; shift < 64; shift += 8) value = (value ^ (number >> shift & 255)) * 1099511628211u;
  }
  std::string text() const {
    char out[17];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(value));
    return out;
  }
};

/// A layout that is made at run time is the constant one.
template <class P>
bool is_same_at_run_time(schedule::Layout<P::ops::size> const& l, place::Request request, schedule::Ranks ranks,
                         int stage) {
  schedule::RuntimeLayout const h = schedule::runtime_layout(schedule::program<P>, request, ranks, stage);
  auto const regions = [](schedule::Regions const& r) {
    std::vector<long> all{r.weights, r.copies,        r.states,   r.moments,   r.gradients, r.scratch,     r.wire,
                          r.labels,  r.losses,        r.targets,  r.workspace, r.outbox,    r.batch_sums,  r.norm,
                          r.coding,  r.factor_levels, r.branches, r.deepest,   r.kept,      r.memory.total};
    all.insert(all.end(), std::begin(r.memory.bytes), std::end(r.memory.bytes));
    return all;
  };
  auto const same = [](auto const& held, auto const& constant, int count) {
    return held.size() == static_cast<std::size_t>(count) &&
           std::equal(held.data(), held.data() + held.size(), constant);
  };
  return regions(h) == regions(l) && same(h.buffer, l.buffer, P::schedule.buffers) &&
         same(h.encoded, l.encoded, P::schedule.buckets) && same(h.left, l.left, P::schedule.buckets) &&
         same(h.left_of_sum, l.left_of_sum, P::schedule.buckets) &&
         same(h.rows_apart, l.rows_apart, P::schedule.buckets) &&
         same(h.slots_apart, l.slots_apart, P::schedule.buffers);
}

/// Where the arena's regions begin and how many bytes each takes up to the next, then each buffer: "offset+bytes", and
/// from which step to which it lives.
template <class P> std::string arena(schedule::Ranks ranks, place::Request request, int stage) {
  auto const layout = schedule::layout(P::schedule, P::lives, request, P::format, ranks, stage);
  if (!is_same_at_run_time<P>(layout, request, ranks, stage)) return "arena: runtime_layout() differs from layout()\n";
  std::vector<std::pair<std::string, long>> regions{{"workspace", layout.workspace}, {"weights", layout.weights}};
  if (layout.copies != layout.weights) regions.emplace_back("copies", layout.copies);
  regions.insert(regions.end(), {{"states", layout.states},
                                 {"moments", layout.moments},
                                 {"gradients", layout.gradients},
                                 {"scratch", layout.scratch},
                                 {"batch sums", layout.batch_sums}});
  if (layout.wire != layout.gradients) regions.emplace_back("wire", layout.wire);
  auto const where = [&](std::string const& name, long at) {  // those that a plan has not are at 0
    if (at > 0) regions.emplace_back(name, at);
  };
  where("outbox", layout.outbox);
  for (int b = 0; b < P::schedule.buckets; ++b) {
    std::string const of = " of bucket " + std::to_string(b);
    where("messages" + of, layout.encoded[b]);
    where("residuals" + of, layout.left[b]);
    where("residuals of sums" + of, layout.left_of_sum[b]);
  }
  where("codec", layout.coding);
  where("sums of factors", layout.factor_levels);
  where("labels", layout.labels);
  where("targets", layout.targets);
  where("losses", layout.losses);
  where("norm", layout.norm);
  long buffers = layout.memory.total;
  auto const here = [&](int k) { return P::schedule.pipeline.stage(P::schedule.buffer[k].part) == stage; };
  for (int k = 0; k < P::schedule.buffers; ++k) buffers = here(k) ? std::min(buffers, layout.buffer[k]) : buffers;
  regions.emplace_back("buffers", buffers);
  regions.emplace_back("", layout.memory.total);

  std::string out = "arena:";
  for (std::size_t i = 0; i + 1 < regions.size(); ++i) {
    auto const& [name, at] = regions[i];
    long const bytes = regions[i + 1].second - at;
    if (bytes != 0) out += " " + name + " " + std::to_string(at) + "+" + std::to_string(bytes) + ",";
  }
  out += "\nbuffers:";
  schedule::Share const share = schedule::shared(request, ranks);
  for (int k = 0; k < P::schedule.buffers; ++k) {
    schedule::Buffer const& b = P::schedule.buffer[k];
    if (!here(k)) continue;
    long const count = b.elements * (b.per_slice ? share.most(b.batch_axes) : 1);
    long const bytes = count * (!b.per_slice ? P::format.batch_sum : b.wide ? P::format.sum : P::format.data);
    out += " " + std::to_string(layout.buffer[k]) + "+" + std::to_string(bytes) + " " +
           std::to_string(P::lives.of[k].birth) + "-" + std::to_string(P::lives.of[k].death) +
           (layout.slots_apart[k] > 0 ? " in slots" : "") + ",";
  }
  return out + "\n";
}

/// Where the weights of each layer lie in every region of weights, in elements; the weights of each bucket; and, where
/// a server has several shards, what each has of which bucket.
template <class P> std::string weights() {
  std::string out = "weights:";
  for (int i = 0; i < P::schedule.weights; ++i) {
    schedule::Weight const& w = P::schedule.weight[i];
    place::Signature const& op = P::signatures.op[P::placed.node[w.node].op];
    out += " " + std::to_string(op.leaf) + "." + std::string(op.name) + " " + std::to_string(w.offset) + "+" +
           std::to_string(w.count) + ",";
  }
  out += "\nbuckets:";
  for (int b = 0; b < P::schedule.buckets; ++b)
    out += " " + std::to_string(P::schedule.bucket[b].offset) + "+" + std::to_string(P::schedule.bucket[b].count) + ",";
  out += "\n";
  for (int s = 0; P::format.shards > 1 && s < P::format.shards; ++s) {
    out += "shard " + std::to_string(s) + ":";
    for (int b = 0; b < P::schedule.buckets; ++b) {
      schedule::Run const run =
          schedule::in_shard(P::schedule.bucket[b], s, P::format.shards, P::schedule.weight_elements);
      if (run.count != 0)
        out +=
            " " + std::to_string(run.begin) + "+" + std::to_string(run.count) + " of bucket " + std::to_string(b) + ",";
    }
    out += "\n";
  }
  return out;
}

/// Of each bucket that goes by a route: what is read in its rounds, and a digest of who reads which elements from whom.
template <class P> std::string moves(schedule::Ranks ranks) {
  std::string out;
  if constexpr (P::routed) {
    using R = typename P::route;
    for (int b = 0; b < P::schedule.buckets; ++b) {
      schedule::Bucket const& bucket = P::schedule.bucket[b];
      if (bucket.apart()) continue;
      send::Group const group = schedule::group(bucket.over, ranks, P::format.data);
      Digest digest;
      long read = 0, elements = 0;
      int const rounds = R::rounds(bucket.count, group);
      for (int round = 0; round < rounds; ++round) {
        for (int rank = 0; rank < group.ranks; ++rank) {
          send::Move const m = R::move(bucket.count, rank, group, round);
          if (!m.any()) continue;
          ++read;
          elements += m.end - m.begin;
          for (long number : {long{round}, long{rank}, long{m.peer}, m.begin, m.end, long{m.add}}) digest.add(number);
        }
      }
      out += "bucket " + std::to_string(b) + " over " + std::to_string(group.ranks) +
             " ranks: " + std::to_string(elements) + " elements in " + std::to_string(rounds) + " rounds and " +
             std::to_string(read) + " messages, " + digest.text() + "\n";
    }
  }
  return out;
}

/// Nothing, unless an exchange is not sound or does not send what the closed forms say.
template <class P> std::string exchanges(schedule::Ranks ranks, place::Request request) {
  schedule::Program const& program = schedule::program<P>;
  schedule::Share const share = schedule::shared(request, ranks);
  std::string out;
  for (int s = 0; s < program.steps; ++s) {
    for (int round = 0; round < share.rounds; ++round) {
      if (schedule::ExchangeFault const f = schedule::check_exchange(program, s, share, round))
        out += "step " + std::to_string(s) + ": rank " + std::to_string(f.rank) + " " + std::string(f.what) + "\n";
    }
    for (int rank = 0; rank < ranks.world(); ++rank) {
      schedule::TrafficCount const count = schedule::sent(program, s, share, rank);
      schedule::Message const m = schedule::message(program.step[s], program, request, ranks, rank);
      if (m.verb != op::Verb::Push && (count.elements != m.sent || count.sent_bytes != m.bytes))
        out += "step " + std::to_string(s) + ": rank " + std::to_string(rank) + " sends " +
               std::to_string(count.elements) + " elements in its exchange, not " + std::to_string(m.sent) + "\n";
    }
  }
  return out;
}

/// The listing, the summary, the arena and each rank's traffic; or why there is no such plan.
template <class P> std::string text(int replicas) {
  try {
    if constexpr (P::agreed::waits) session::checked_replicas<P>(replicas);
  } catch (Error const& e) {
    return std::string(e.what()) + "\n";
  }
  schedule::Ranks const mesh{replicas, P::ways}, ranks = P::ranks_of(replicas);
  std::string out = schedule::listing<P>(mesh) + schedule::summary<P>(mesh);
  for (int stage = 0; stage < ranks.stages; ++stage) out += arena<P>(ranks, P::request_of(replicas), stage);
  out += weights<P>() + moves<P>(ranks);
  if (ranks.world() <= schedule::most_checked_ranks) out += exchanges<P>(ranks, P::request_of(replicas));
  std::string before;
  for (int rank = 0, first = 0; rank <= ranks.world(); ++rank) {  // ranks that send alike share a line
    auto const of = [&](bool evaluation) {
      schedule::Traffic const t =
          schedule::traffic(schedule::program<P>, P::request_of(replicas), ranks, rank, evaluation);
      return std::to_string(t.elements_per_step) + " elements, " + std::to_string(t.bytes_per_step) +
             " bytes, at most " + std::to_string(t.most_bytes_per_step) + ", in " + std::to_string(t.messages) +
             " messages";
    };
    std::string const now = rank == ranks.world() ? "" : of(false) + "; in an evaluation " + of(true);
    if (rank > 0 && now != before) {
      out += (rank - first > 1 ? "each of ranks " + std::to_string(first) + " to " : std::string("rank ")) +
             std::to_string(rank - 1) + " sends " + before + "\n";
      first = rank;
    }
    before = now;
  }
  return out;
}

/// The lines of `other` that are not in `first`.
std::string beyond(std::string const& first, std::string const& other) {
  std::set<std::string> known;
  std::istringstream lines(first), more(other);
  for (std::string line; std::getline(lines, line);) known.insert(line);
  std::string out;
  for (std::string line; std::getline(more, line);) {
    if (!known.contains(line)) out += line + "\n";
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto const write = [&]<class P>(char const* name, meta::type<P>) {
    std::ofstream file(std::string(argv[1]) + "/" + name + ".txt");
    std::string const one = text<P>(1);
    file << "1 replica\n" << one;
    for (int replicas : {2, 3, 4, 8})
      file << "\n" << replicas << " replicas, where it differs\n" << beyond(one, text<P>(replicas));
  };
#if GOLDEN == 0
  golden::few(write);
#elif GOLDEN == 1
  golden::each_split(write);
#elif GOLDEN == 2
  golden::each_sum(write);
#else
  golden::each_agreement(write);
  golden::each_pipeline(write);
#endif
}
