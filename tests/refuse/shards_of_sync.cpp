// refused: Shards<n>: replicas that wait for each other
// refused: a_server_that_is_waited_for_has_one_shard<2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Shards<2>> {};
