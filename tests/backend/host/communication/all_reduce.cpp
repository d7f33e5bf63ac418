// backend/host/communication/all_reduce.cpp - sums over ranks are those of a sequential oracle, bit for bit, for any number of ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/communication/all_reduce.hpp>
#include <cleave/backend/host/communication/transfers.hpp>
#include <cleave/backend/host/team.hpp>

#include <cleave/schedule/exchange.hpp>
#include <cleave/tensor/philox.hpp>

#include <atomic>
#include <cstdlib>

using namespace cleave;
using namespace cleave::backend::host;

namespace {

/// What one thread makes of all leaves in the tree.
std::vector<float> oracle(std::vector<std::vector<float>> const& leaves) {
  int const n = static_cast<int>(leaves.size());
  schedule::TreeSum sum{n};
  std::vector<std::vector<float>> stack(schedule::most_branches);
  for (int s = 0; s < n; ++s) {
    stack[static_cast<std::size_t>(sum.depth)] = leaves[static_cast<std::size_t>(s)];
    sum.push({s, 1}, [&](int a, int b) {
      for (std::size_t i = 0; i < stack[0].size(); ++i)
        stack[static_cast<std::size_t>(a)][i] += stack[static_cast<std::size_t>(b)][i];
    });
  }
  return stack[0];
}

/// Ordered sums over ranks of tensors that are `stride` floats apart in each rank's memory: a rank's branches, and
/// somewhere their sum.
class Sums {
 public:
  Sums(int micro_batches, int ranks, long stride) : share_{micro_batches, {ranks, 1}} {
    program_.bucket = &bucket_;
    layout_.gradient.count = stride;
  }
  void sum(Member& m, long n, int result) const {
    schedule::SumOverRanks const sum{schedule::group_over(schedule::over_data, share_.ranks, m.rank),
                                     {schedule::Storage::Gradient},
                                     {schedule::Storage::Gradient, result},
                                     n};
    schedule::Offsets const at{&program_, &layout_, 0};
    bool const one_each = share_.micro_batches == 2;
    if (one_each && are_two(m, sum.group))
      return all_reduce_of_two<float, float>(m, sum.group, 0, false, at(sum.from), at(sum.to), n);
    schedule::TransferList list;
    schedule::ValueExchange<schedule::TransferList> exchange{{list, m.rank}, program_, share_};
    exchange.all_reduce(sum, [&](schedule::Strided own) {
      schedule::each_branch(share_, schedule::over_data, true, [&](int i, int branch, int merges) {
        list.source({i, {schedule::Storage::Gradient, branch}, own, merges});
      });
    });
    Transfers<float>(m, at).run(list, sum.group, 0);
  }

 private:
  schedule::Share share_;
  schedule::Bucket bucket_;
  schedule::Program program_;
  schedule::RuntimeLayout places_;
  schedule::LayoutView layout_{places_};
};

void reduces(int ranks, int micro_batches, long elements, int rounds) {
  World world({ranks, 1}, 1);
  Team team(world);
  long const stride = (elements + 16) * static_cast<long>(sizeof(float)), result = 8 * stride;
  Sums const sums(micro_batches, ranks, elements + 16);
  std::vector<std::vector<std::byte>> arenas(static_cast<std::size_t>(ranks),
                                             std::vector<std::byte>(static_cast<std::size_t>(9 * stride)));
  std::vector<Member> members(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto& m = members[static_cast<std::size_t>(r)];
    m.world = &world;
    m.rank = r;
    m.received.assign(static_cast<std::size_t>(ranks), 0);
    m.received_bytes = m.received;
    world.arena(r) = arenas[static_cast<std::size_t>(r)].data();
  }
  for (int round = 1; round <= rounds; ++round) {
    tensor::Random const random{static_cast<std::uint64_t>(round), tensor::Purpose::Shuffle, 0};
    std::vector<std::vector<float>> leaves(static_cast<std::size_t>(micro_batches),
                                           std::vector<float>(static_cast<std::size_t>(elements)));
    for (std::size_t s = 0; s < leaves.size(); ++s) {
      for (std::size_t i = 0; i < leaves[s].size(); ++i) leaves[s][i] = random.uniform(s * 100003 + i) - 0.5f;
    }
    auto const wanted = oracle(leaves);
    team.run([&](int r) {
      Member& m = members[static_cast<std::size_t>(r)];
      m.round = round;
      schedule::Range const range = schedule::slices(micro_batches, r, ranks);
      schedule::TreeSum sum{micro_batches};
      for (int s = range.begin; s < range.end; ++s) {
        std::copy(leaves[static_cast<std::size_t>(s)].begin(), leaves[static_cast<std::size_t>(s)].end(),
                  m.at<float>(r, sum.depth * stride));
        sum.push({s, 1}, [&](int a, int b) {
          add_range<float>(m.at<float>(r, a * stride), m.at<float>(r, b * stride), elements, false);
        });
      }
      sums.sum(m, elements, 8);
    });
    for (int r = 0; r < ranks; ++r) {
      float const* got = members[0].at<float>(r, result);
      for (long i = 0; i < elements; ++i) REQUIRE(got[i] == wanted[static_cast<std::size_t>(i)]);
    }
  }
}

/// Element i of what rank r brings to a round.
float brought(long round, int r, long i) {
  auto h = static_cast<std::uint32_t>(round * 2654435761L + r * 40503L + i * 2246822519L);
  h ^= h >> 15;
  h *= 0x85EBCA6Bu;
  return static_cast<float>(h >> 8) * 0x1p-24f - 0.5f;
}
/// Rounds of 1 to 4,096 floats; in each, one rank compares what all have with what it adds up alone. Returns
/// differences.
long soak(int ranks, long rounds) {
  World world({ranks, 1}, 2);
  Team team(world);
  constexpr long stride = 4096 * sizeof(float);
  std::vector<std::vector<std::byte>> arenas(static_cast<std::size_t>(ranks), std::vector<std::byte>(3 * stride));
  std::vector<Member> members(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    Member& m = members[static_cast<std::size_t>(r)];
    m.world = &world;
    m.rank = r;
    m.received.assign(static_cast<std::size_t>(ranks), 0);
    m.received_bytes = m.received;
    world.arena(r) = arenas[static_cast<std::size_t>(r)].data();
  }
  Sums const sums(ranks, ranks, 4096);
  std::atomic<long> wrong{0};
  team.run([&](int r) {
    Member& m = members[static_cast<std::size_t>(r)];
    tensor::Random const random{static_cast<std::uint64_t>(ranks), tensor::Purpose::Shuffle, 1};
    for (long round = 1; round <= rounds; ++round) {
      long const n = 1 + random.below(4096, static_cast<std::uint64_t>(round)) / (round % 4 == 0 ? 1 : 64);
      float* const mine = m.at<float>(r, 0);
      for (long i = 0; i < n; ++i) mine[i] = brought(round, r, i);
      m.round = round;
      long const result = (1 + round % 2) * stride;  // others may be one round ahead of whoever compares
      sums.sum(m, n, static_cast<int>(1 + round % 2));
      m.reach(1, 1);
      m.await(m.group(world.ranks().all()), 1, 1);  // a sum ends when it is here, not when all have it
      if (round % ranks != r) continue;
      for (long i = 0; i < n; ++i) {
        float stack[schedule::most_branches];
        schedule::TreeSum sum{ranks};
        for (int s = 0; s < ranks; ++s) {
          stack[sum.depth] = brought(round, s, i);
          sum.push({s, 1}, [&](int a, int b) { stack[a] += stack[b]; });
        }
        for (int s = 0; s < ranks; ++s) wrong += m.at<float>(s, result)[i] != stack[0];
      }
    }
  });
  return wrong;
}

}  // namespace

TEST_CASE(
    "ordered all-reduces of 1 to 4,096 floats over 1 to 8 ranks, one after the other; CLEAVE_SOAK says how many") {
  char const* const asked = std::getenv("CLEAVE_SOAK");
  long const all = asked ? std::atol(asked) : 8'000;
  for (int ranks = 1; ranks <= 8; ++ranks) CHECK(soak(ranks, all / 8) == 0);
}
TEST_CASE("ordered all-reduce equals the oracle bit for bit: 1 to 8 ranks, sizes that divide and that do not") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (long elements : {1L, 5L, 64L, 1000L, 4096L}) reduces(ranks, 8, elements, 20);
  }
  reduces(3, 7, 1031, 20);
  reduces(5, 13, 17, 20);
  for (long elements : {1022L, 1023L, 65'536L, 65'537L, 200'003L}) reduces(2, 2, elements, 3);
}
TEST_CASE("two ranks may sum in place: in a letter, in one piece, in several, and in bf16") {
  World world({1, 2}, 1);
  Team team(world);
  constexpr long most = 200'003;
  std::vector<std::vector<float>> values(2, std::vector<float>(most));
  std::vector<Member> members(2);
  for (int r = 0; r < 2; ++r) {
    Member& m = members[static_cast<std::size_t>(r)];
    m.world = &world;
    m.rank = r;
    m.received.assign(2, 0);
    m.received_bytes = m.received;
    world.arena(r) = reinterpret_cast<std::byte*>(values[static_cast<std::size_t>(r)].data());
  }
  auto const sums = [&]<class T>(T, long n, long round) {
    auto const of = [&](int r, long i) { return static_cast<T>(brought(round, r, i)); };
    for (auto& m : members) m.received = {0, 0};
    team.run([&](int r) {
      Member& m = members[static_cast<std::size_t>(r)];
      for (long i = 0; i < n; ++i) m.at<T>(r, 0)[i] = of(r, i);
      m.round = round;
      all_reduce_of_two<T, T>(m, m.group({1}), 0, false, 0, 0, n);
    });
    for (int r = 0; r < 2; ++r) {
      CHECK(members[static_cast<std::size_t>(r)].received[static_cast<std::size_t>(1 - r)] == n);
      T const* const got = members[0].at<T const>(r, 0);
      long wrong = 0;
      for (long i = 0; i < n; ++i) {
        T const wanted = static_cast<T>(static_cast<float>(of(0, i)) + static_cast<float>(of(1, i)));
        wrong += static_cast<float>(got[i]) != static_cast<float>(wanted);
      }
      CHECK(wrong == 0);
    }
  };
  long round = 0;
  for (long n : {1L, 1022L, 1023L, 65'536L, most}) {
    sums(float{}, n, ++round);
    sums(bf16{}, n, ++round);
  }
}
