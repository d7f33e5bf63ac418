// golden/listings.cpp FOLDER - writes, for each plan of plans.hpp, what is planned on 1, 2, 3, 4 and 8 replicas, as
// text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "plans.hpp"

using namespace cleave;

namespace {

/// The listing, the summary and each rank's traffic; or why there is no such plan.
template <class P> std::string text(int replicas) {
  try {
    if constexpr (P::agreed::waits) session::checked_replicas<P>(replicas);
  } catch (Error const& e) {
    return std::string(e.what()) + "\n";
  }
  schedule::Ranks const mesh{replicas, P::ways}, ranks = P::ranks_of(replicas);
  std::string out = schedule::listing<P>(mesh) + schedule::summary<P>(mesh);
  std::string before;
  for (int rank = 0, first = 0; rank <= ranks.world(); ++rank) {  // ranks that send alike share a line
    auto const of = [&](bool evaluation) {
      schedule::Traffic const t =
          schedule::traffic(P::schedule, P::placed, P::request_of(replicas), P::format, ranks, rank, evaluation);
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
#if GOLDEN == 1
  golden::each_split(write);
#elif GOLDEN == 2
  golden::each_sum(write);
#else
  golden::each_agreement(write);
#endif
}
