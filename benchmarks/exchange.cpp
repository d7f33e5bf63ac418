// exchange.cpp - C7, C8: one sum over two ranks; C13: what compressing a gradient costs a core.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <pthread.h>

#include "burst.hpp"

using namespace cleave;
using namespace cleave::backend;

namespace {

/// Two threads, a core each, that sum n floats as the ranks of a plan sum a layer's; in place, as all peers here do.
class Pair {
 public:
  explicit Pair(long n) : n_(n), world_({2, 1}, 1), team_(world_) {
    for (int r = 0; r < 2; ++r) {
      memory_[r] = std::vector<float>(static_cast<std::size_t>(n + 16));
      auto at = reinterpret_cast<std::uintptr_t>(memory_[r].data());
      world_.arena(r) = reinterpret_cast<std::byte*>((at + 63) / 64 * 64);
      member_[r].world = &world_;
      member_[r].rank = r;
      member_[r].received.assign(2, 0);
      member_[r].received_bytes.assign(2, 0);
    }
    team_.run([](int r) {
      cpu_set_t all, one;
      CPU_ZERO(&all);
      CPU_ZERO(&one);
      pthread_getaffinity_np(pthread_self(), sizeof all, &all);
      for (int c = 0, seen = 0; c < CPU_SETSIZE; ++c) {
        if (CPU_ISSET(c, &all) && seen++ == r) CPU_SET(c, &one);
      }
      if (CPU_COUNT(&one) == 1) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    });
  }
  void sums(long times) {
    team_.run([&](int r) {
      schedule::RankGroup const group = member_[r].group(schedule::over_data);  // found once, as by a trainer
      for (long k = 0; k < times; ++k) {
        ++member_[r].round;
        host::all_reduce_of_two<float, float>(member_[r], group, 0, false, 0, 0, n_);
      }
    });
  }
  float* floats(int r) { return reinterpret_cast<float*>(world_.arena(r)); }
  /// Sums once, and leaves zeros: what is summed for long in place would overflow.
  bool right() {
    for (int r = 0; r < 2; ++r) {
      for (long i = 0; i < n_; ++i) floats(r)[i] = static_cast<float>(i % 17 + r) / 16;
    }
    sums(1);
    bool good = true;
    for (int r = 0; r < 2; ++r) {
      for (long i = 0; i < n_; ++i) good = good && floats(r)[i] == static_cast<float>(2 * (i % 17) + 1) / 16;
      std::fill_n(floats(r), n_, 0.0f);
    }
    return good;
  }

 private:
  long n_;
  host::World world_;
  std::vector<float> memory_[2];
  host::Member member_[2];
  host::Team team_;
};

double sum_us(long bytes) {
  Pair pair(bytes / 4);
  if (!pair.right()) return -1;
  long const times = bytes < 65536 ? 64 : 1;
  return bench::step_us([&](int n) { pair.sums(n * times); }) / static_cast<double>(times);
}

constexpr long gradient = 1L << 24;  // 64 MiB of f32

/// With error feedback; the gradient is drawn once, what was left changes from step to step.
template <class Codec> double encode_us() {
  std::vector<float> g(gradient), left(gradient);
  std::vector<std::byte> out(static_cast<std::size_t>(Codec::bytes(gradient)));
  tensor::Random const draw{1, tensor::Purpose::Augment, 0};
  for (long i = 0; i < gradient; ++i)
    g[static_cast<std::size_t>(i)] = draw.uniform(static_cast<std::uint64_t>(i)) - 0.5f;
  return bench::step_us([&](int n) {
    for (int k = 0; k < n; ++k) send::encode<Codec>(gradient, g.data(), left.data(), out.data());
  });
}
/// The gradient read once, as 32-bit words: what no compression can undercut.
double read_us() {
  std::vector<std::uint32_t> g(gradient, 1);
  std::uint32_t volatile seen = 0;
  return bench::step_us([&](int n) {
    for (int k = 0; k < n; ++k) {
      std::uint32_t all = 0;
      for (std::uint32_t v : g) all ^= v;
      seen = all;
    }
  });
}

double row_us(std::string const& row) {
  if (row == "C8") return sum_us(64L << 20);
  if (row.starts_with("C7.")) return sum_us(std::stol(row.substr(3)));
  if (row == "C13.read") return read_us();
  if (row == "C13.bf16") return encode_us<send::codec_of<bf16>::is>();
  if (row == "C13.int8") return encode_us<Int8>();
  if (row == "C13.onebit") return encode_us<OneBit>();
  if (row == "C13.top") return encode_us<TopK<10>>();
  return -1;
}

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, "cleave", row_us); }
