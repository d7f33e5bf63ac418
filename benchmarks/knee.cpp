// knee.cpp - where one more replica stops helping, as modelled and as measured over a slow link.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// knee [GRADIENTS]: replicas compute by sleeping, and push through one link that lets one message pass at a time.
#include <cleave.hpp>
#include <cleave/sim/saturation.hpp>

#include <mutex>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<8>, Linear<4>, CrossEntropy> {};
struct Free : Plan<Net, Batch<4>, DataParallel<Async>, Sgd> {};

backend::host::Feed const feed{
    nullptr, [](void const*, long, long, int count, float* out) { std::fill_n(out, count * 8, 0.1f); },
    [](void const*, long, long, int count, int* out) { std::fill_n(out, count, 1); }};

/// Sleeps as long as it says: what the system adds is waited for no further.
void sleep_until(std::chrono::steady_clock::time_point until) { std::this_thread::sleep_until(until); }

double measured(int replicas, int gradients, std::chrono::microseconds compute, std::chrono::microseconds service) {
  Served<Free> trainer(replicas, 1);
  std::mutex link;
  auto free = std::chrono::steady_clock::now();
  trainer.before_push = [&](int, long, int) {
    sleep_until(std::chrono::steady_clock::now() + compute);
    std::unique_lock lock(link);
    auto const begin = std::max(free, std::chrono::steady_clock::now());
    free = begin + service;
    auto const mine = free;
    lock.unlock();
    sleep_until(mine);
  };
  trainer.train(0, 2 * replicas, feed);
  auto const begin = std::chrono::steady_clock::now();
  trainer.train(2 * replicas, gradients, feed);
  return gradients / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  int const gradients = argc > 1 ? std::atoi(argv[1]) : 400;
  std::printf("| compute ms | link ms | modelled knee | measured knee | off by |\n| --- | --- | --- | --- | --- |\n");
  for (auto const& [compute, service] : {std::pair{8000, 4000}, {12000, 3000}, {16000, 2000}}) {
    sim::Saturation const model{compute * 1e-6, service * 1e-6};
    std::chrono::microseconds const c(compute), s(service);
    double const one = measured(1, gradients / 4, c, s),
                 all = measured(3 * static_cast<int>(model.knee()), gradients, c, s);
    std::printf("| %.0f | %.0f | %.1f | %.2f | %+.2f |\n", compute * 1e-3, service * 1e-3, model.knee(), all / one,
                all / one - model.knee());
    std::fflush(stdout);
  }
  return 0;
}
