// benchmarks/overhead.cpp - steps of one net, with and without DataParallel on one replica, for counting instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   valgrind --tool=callgrind overhead plain|parallel 1|8 <steps>     the second word: micro-batches, equal in both
#include <cstring>

#include <cleave.hpp>

namespace {

using namespace cleave;

struct Net : Sequential<Vector<784>, Linear<128>, Relu, Linear<10>, CrossEntropy> {};
template <int M> struct Plain : Plan<Net, Batch<32>, MicroBatches<M>, Sgd> {};
template <int M> struct Parallel : Plan<Net, Batch<32>, MicroBatches<M>, DataParallel<Sync>, Sgd> {};

template <class P> int steps(int count) {
  backend::host::Feed const feed{nullptr,
                                 [](void const*, long, long, int n, float* out) {
                                   for (int i = 0; i < n * 784; ++i) out[i] = static_cast<float>(i % 17) * 0.1f - 0.8f;
                                 },
                                 [](void const*, long, long first, int n, int* out) {
                                   for (int i = 0; i < n; ++i) out[i] = static_cast<int>(first + i) * 3 % 10;
                                 }};
  std::printf("%.9g\n", Trainer<P>(1).train(0, count, feed).back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: overhead plain|parallel 1|8 <steps>\n"), 2;
  bool const plain = std::strcmp(argv[1], "plain") == 0, one = std::strcmp(argv[2], "1") == 0;
  int const count = std::atoi(argv[3]);
  if (one) return plain ? steps<Plain<1>>(count) : steps<Parallel<1>>(count);
  return plain ? steps<Plain<8>>(count) : steps<Parallel<8>>(count);
}
