// backend/gpu/execution/captured_traffic.cpp - counters of a capture are kept, reset, and summed over those who have read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/gpu/execution/captured_traffic.hpp>

using namespace cleave;

TEST_CASE("what a rank has sent is what all others have read from it, in one pass") {
  struct Reader {
    backend::host::Member m;
  };
  std::vector<Reader> all(3);
  for (std::size_t r = 0; r < 3; ++r) {
    all[r].m.rank = static_cast<int>(r);
    all[r].m.received.assign(3, 0);
    all[r].m.received_bytes.assign(3, 0);
  }
  all[0].m.read_from(1, 10, 4);
  all[2].m.read_from(1, 5, 2);
  all[1].m.read_from(0, 7, 8);
  all[1].m.read_from(1, 100, 8);  // from itself: nothing is sent
  backend::gpu::CapturedTraffic training, evaluation;
  training.take(all);
  evaluation.take(all);
  CHECK(training.sent(0) == 7);
  CHECK(training.sent(1) == 15);
  CHECK(training.sent(2) == 0);
  CHECK(training.sent_bytes(0) == 56);
  CHECK(training.sent_bytes(1) == 50);
  for (int r = 0; r < 3; ++r) CHECK(evaluation.sent_bytes(r) == 0);
}
