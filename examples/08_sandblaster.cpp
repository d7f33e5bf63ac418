// 08_sandblaster - L-BFGS over the whole batch: free replicas get small portions; late portions are issued again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<128>, Tanh, Linear<10>, CrossEntropy> {};

// Async: replicas do not wait for each other. Batch: that of one portion; all portions together are the data.
struct Portion : Plan<Mlp, Batch<100>, DataParallel<Async>, Shards<4>> {};

int main(int argc, char** argv) { return run<Sandblaster<Portion>, Mnist>(argc, argv); }
