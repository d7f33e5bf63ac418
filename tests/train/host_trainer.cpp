// train/host_trainer.cpp - ranks as threads of several processes: the bits and the traffic of as many threads of one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <barrier>
#include <thread>

#include "values.hpp"

using namespace cleave;

namespace {

/// What "processes" that are threads of this one know of each other.
struct Wire {
  explicit Wire(int processes)
      : all(processes),
        table(static_cast<std::size_t>(processes)),
        arenas(static_cast<std::size_t>(processes)),
        said(static_cast<std::size_t>(processes)) {}
  std::barrier<> all;
  std::vector<std::atomic<long>*> table;
  std::vector<std::byte* const*> arenas;
  std::vector<std::vector<double>> said;
};
class Neighbour : public backend::host::Remote {
 public:
  Neighbour(Wire& wire, int process) : wire_(wire), process_(process) {}
  void share_counters(std::atomic<long>* table) override {
    wire_.table[own()] = table;
    wire_.all.arrive_and_wait();
  }
  void share_arenas(std::byte* const* of_rank) override {
    wire_.arenas[own()] = of_rank;
    wire_.all.arrive_and_wait();
  }
  void end_sharing() override { wire_.all.arrive_and_wait(); }
  void tell(std::size_t counter, long mark) override {
    for (std::size_t p = 0; p < wire_.table.size(); ++p) {
      if (p != own()) wire_.table[p][counter].store(mark, std::memory_order_release);
    }
  }
  void fetch(int process, ArenaPart from, std::byte* to, std::chrono::milliseconds) override {
    std::byte const* const at = wire_.arenas[static_cast<std::size_t>(process)][from.rank] + from.offset;
    for (long r = 0; r < from.blocks * from.lines; ++r) {
      long const line = r / from.lines * from.block_apart + r % from.lines * from.apart;
      std::memcpy(to + line, at + line, static_cast<std::size_t>(from.bytes));
    }
  }
  void progress() override {}
  void sum(double* values, int count) override {
    wire_.said[own()].assign(values, values + count);
    wire_.all.arrive_and_wait();
    std::fill_n(values, count, 0.0);
    for (auto const& of : wire_.said) {
      for (int i = 0; i < count; ++i) values[i] += of[static_cast<std::size_t>(i)];
    }
    wire_.all.arrive_and_wait();
  }
  int process() const override { return process_; }
  int processes() const override { return static_cast<int>(wire_.table.size()); }

 private:
  std::size_t own() const { return static_cast<std::size_t>(process_); }
  Wire& wire_;
  int process_;
};

struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<16>, Relu,
                             Dropout<20>, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<16>, MicroBatches<8>, Momentum, Ps...> {};

/// Losses, weights, moments and statistics, and the result of an evaluation.
template <class P> std::vector<double> trained(int replicas, backend::host::Remote* remote) {
  Trainer<P> t(replicas, 7, remote);
  session::Probing<P> const probe;
  std::vector<double> all = t.train(0, 5, probe.feed());
  std::string const wrong = session::miscounted(t, 5);
  if (!wrong.empty()) throw Error(wrong);
  backend::host::Score const s = t.score(probe.feed(), 3 * P::batch + 5);
  all.insert(all.end(), {s.loss, s.accuracy, static_cast<double>(s.samples)});
  for (double v : values(t)) all.push_back(v);
  for (int r = 0; r < t.ranks().world(); ++r) all.push_back(static_cast<double>(t.sent(r)));
  return all;
}
/// Of each process.
template <class P> std::vector<std::vector<double>> trained_in(int processes, int replicas) {
  Wire wire(processes);
  std::vector<std::vector<double>> out(static_cast<std::size_t>(processes));
  std::vector<std::thread> running;
  for (int p = 0; p < processes; ++p)
    running.emplace_back([&, p] {
      Neighbour remote(wire, p);
      out[static_cast<std::size_t>(p)] = trained<P>(replicas, &remote);
    });
  for (std::thread& t : running) t.join();
  return out;
}
template <class P> void same_in(std::initializer_list<int> processes, int ranks = 4) {
  int const replicas = ranks / P::request.mesh.ranks_of_replica();
  auto const wanted = trained<P>(replicas, nullptr);
  for (int n : processes) {
    for (auto const& of : trained_in<P>(n, replicas)) CHECK(of == wanted);
  }
}

}  // namespace

TEST_CASE("two processes with two ranks each, four with one, and one with four: the same numbers") {
  same_in<Of<Net, DataParallel<Sync>>>({1, 2, 4});
  same_in<Of<Net, DataParallel<Sync>, Fastest>>({2, 4});
  same_in<Of<Pictures, DataParallel<Sync>, Precision<bf16>>>({2, 4});
}

TEST_CASE("so do splits, pipelines and an optimizer in parts") {
  same_in<Of<Net, DataParallel<Sync, Zero<3>>, ModelParallel<SplitColsRows, Ways<2>>>>({2, 4});
  same_in<Of<Net, ModelParallel<SplitColsRows, Ways<4>>>>({2, 4});
  same_in<Of<Net, DataParallel<Sync>, ModelParallel<SplitLayers<2>>>>({2, 4});
  same_in<Of<Net, DataParallel<Sync>, Fastest, Compress<Int8>>>({2, 3}, 6);
}

TEST_CASE("processes that cannot have as many ranks each are an error") {
  Wire wire(3);
  Neighbour remote(wire, 0);
  using P = Of<Net, DataParallel<Sync>>;
  CHECK_THROWS_WITH_AS((Trainer<P>(4, 7, &remote)), doctest::Contains("4 ranks, but there are 3 processes"), Error);
}
