// cleave_plan - a plan's step on a machine before a run, as figures and as a page: `cleave_plan [REPLICAS] [PAGE]`. For a
// plan of your own put Train and Lab into a header, and compile with -DCLEAVE_PLAN='"mine.hpp"'.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/train/plan_page.hpp>
using namespace cleave;

#ifdef CLEAVE_PLAN
#include CLEAVE_PLAN
#else
struct Net : Sequential<Vector<1024>, Repeat<7, Linear<1024>, Relu>, Linear<1000>, CrossEntropy> {};
struct Train : Plan<Net, Batch<1024>, MicroBatches<32>, DataParallel<Sync>, ModelParallel<SplitLayers<2> >,
                    Accumulate<8>, Adam> {};
struct Lab : Machine<10'000, Link<10'000, 10'000> > {            // 10 Tflop/s; 10 us, 10 GB/s
  static constexpr double memory_bytes = 800, start_ns = 2'000;  // 800 GB/s; 2 us for each operation
  static constexpr long capacity = 16_GiB;
};
#endif

int main(int argc, char** argv) try {
  PlanPage const page{.replicas = argc > 1 ? std::atoi(argv[1]) : 0};
  std::fputs((explain_step<Train, Lab>(page)).c_str(), stdout);
  write_plan_page<Train, Lab>(argc > 2 ? argv[2] : "plan.html", page);
} catch (Error const& e) {
  std::fprintf(stderr, "cleave_plan: %s\n", e.what());
  return 2;
}
