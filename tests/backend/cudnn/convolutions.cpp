// backend/cudnn/convolutions.cpp - convolutions of a library have the numbers of our own; with which end, kept, pinned; errors by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/layer/activation.hpp>

#include "../gpu/compare.hpp"
#include "fake.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;
using backend::cudnn::Choices;
using gpu::KernelSource;

namespace {

using Queue = gpu::Queue<Convolved>;
struct Bench {
  FakeDnn::Log log;
  Choices choices{""};
  std::unique_ptr<Convolved> machine;
  Many<std::byte> workspace = Many<std::byte>(backend::gpu::workspace_bytes);
  explicit Bench(KernelSource source = KernelSource::Measured, std::string const& file = "")
      : choices(file), machine(convolved(log, choices, source)) {}
  Queue queue(gpu::Library how) { return {machine.get(), machine->stream(), workspace.data(), how}; }
  std::string listing() const { return machine->listing(); }
};

/// Two slices, learned and then asked for, against our own kernels; what ran forward, back to the input, to weights.
template <class Op, class T, bool WithBias = false, class Map = void>
std::vector<std::string> as_own(double tolerance, std::vector<double> takes = {8, 5, 6}) {
  constexpr op::Local all = local<Op>(6, Shape(4, 7, 5)), slice{3, 6, all.x, {}, all.y, all.w0, {}};
  Bench bench(KernelSource::Library);
  bench.log.takes = takes;
  Tensors<Op, all, T> tried_with, by_own, by_library;
  auto put = [&](Tensors<Op, all, T>& t, gpu::Library how) {
    auto o = t.operands();
    o.slices = 2;
    using K = gpu::Kernel<Op>;
    K::template forward<slice, WithBias, Map, T>(bench.queue(how), o);
    K::template backward_input<slice, T>(bench.queue(how), o);
    K::template sum<slice, T>(bench.queue(how), {o, {{o.dw0}, {}, {}, 0, false, 3, 0b010}});  // which end in one sum
  };
  bench.machine->idle = true;
  put(tried_with, gpu::Library::Learning);
  bench.machine->idle = false;
  bench.log.said.clear();
  put(by_own, gpu::Library::Never);
  CHECK(bench.log.said.empty());
  put(by_library, gpu::Library::Asked);
  agree("y", by_library.y, by_own.y, tolerance);
  agree("dx", by_library.dx, by_own.dx, tolerance);
  agree("dw0", by_library.dw0, by_own.dw0, tolerance);
  CHECK(bench.log.most_plans == 1);
  return bench.log.said;
}
using Ran = std::vector<std::string>;
Ran const bare{"run without end 0", "run without end 0", "run without end 0"};

using Op = op::Convolve<8, 3, 1, 1>;
constexpr op::Local few = local<Op>(2, Shape(3, 4, 4));
/// Learns one convolution, then puts it; says who made it.
template <class Map = layer::ReluFunction> std::string made(Bench& b) {
  Tensors<Op, few, float> t;
  auto const put = [&](gpu::Library how) {
    gpu::Kernel<Op>::forward<few, true, Map, float>(b.queue(how), t.operands());
  };
  put(gpu::Library::Learning);
  long const before = b.machine->launches(), asked = b.log.count("run");
  put(gpu::Library::Asked);
  return b.log.count("run") > asked ? b.log.said.back() : b.machine->launches() > before ? "own" : "nobody";
}

}  // namespace

TEST_CASE("forward, both ways back, slices in one: the numbers of our own kernels") {
  CHECK(as_own<op::Convolve<8, 3, 1, 1>, float>(1e-5) == bare);
  CHECK(as_own<op::Convolve<6, 3, 2, 1, 2>, float>(1e-5) == bare);  // strides that leave something, groups
  CHECK(as_own<op::Convolve<6, 3, 2, 3, 2, op::Start::He, 3>, float>(1e-5) == bare);  // windows with gaps
  CHECK(as_own<op::Convolve<5, 1>, tf32>(1e-5) == bare);
  CHECK(as_own<op::Convolve<8, 5, 3, 2>, bf16>(1e-2) == Ran{bare[0], bare[1]});  // dw in f32 stays with our own kernel
}
TEST_CASE("bias and relu by the library, or by one kernel of ours with what stands behind; other maps always so") {
  using layer::ReluFunction, layer::TanhFunction;
  using Padded = op::Convolve<8, 3, 1, 1>;
  Ran const whole{"run 1", bare[1], bare[2]};
  CHECK(as_own<Padded, float, true>(1e-5) == whole);
  CHECK(as_own<Padded, float, true, ReluFunction>(1e-5) == whole);
  CHECK(as_own<Padded, tf32, false, ReluFunction>(1e-5) == whole);
  CHECK(as_own<Padded, bf16, true, ReluFunction>(1e-2) == Ran{whole[0], whole[1]});
  CHECK(as_own<Padded, float, true, ReluFunction>(1e-5, {}) == bare);
  CHECK(as_own<Padded, float, true, TanhFunction>(1e-5) == bare);
  CHECK(as_own<op::Convolve<6, 3, 2, 1, 2>, float, true, TanhFunction>(1e-5) == bare);
  CHECK(as_own<Padded, bf16, true, TanhFunction>(2e-2) == Ran{bare[0], bare[1]});

  constexpr op::Local after{2, 2, Shape(8, 4, 4), {}, Shape(8, 4, 4), {}, {}};
  using Behind = op::Map<TanhFunction>;
  using Tail = op::Tail<false, op::Made<Behind, after>>;
  Tensors<Op, few, float> t, wanted;
  Tensors<Behind, after, float> tail, wanted_tail;
  auto const put = [&](Bench& b, auto& head, auto& last, gpu::Library how) {
    op::Operands<float> o = head.operands(), behind = last.operands();
    behind.x = o.y;
    o.tail = &behind;
    gpu::Kernel<Op>::forward_with<Tail, few, true, ReluFunction, float>(b.queue(how), o);
  };
  for (std::vector<double> const& takes : {std::vector<double>{5}, std::vector<double>{}}) {
    Bench b(KernelSource::Library);
    b.log.takes = takes;
    put(b, wanted, wanted_tail, gpu::Library::Never);
    b.machine->idle = true;
    put(b, t, tail, gpu::Library::Learning);
    b.machine->idle = false;
    t = {}, tail = {};
    long const before = b.machine->launches();
    put(b, t, tail, gpu::Library::Asked);
    CHECK(b.machine->launches() - before == 1);
    agree("y", t.y, wanted.y, 1e-5);
    agree("behind", tail.y, wanted_tail.y, 1e-5);
  }
}
TEST_CASE("what is asked: tensors as they lie") {
  Bench b;
  made(b);
  CHECK(b.log.said[1] == "describe 0 2x3x4x4f 8x3x3x3f 2x8x4x4f end 3");
  Tensors<Op, few, tf32> t;
  gpu::Kernel<Op>::backward_input<few, tf32>(b.queue(gpu::Library::Learning), t.operands());
  CHECK(b.log.count("describe 1 2x3x4x4f 8x3x3x3f 2x8x4x4f end 0") == 1);
  auto adding = gpu::one_slice(t.operands());
  adding.to.depth = 1, adding.to.merges = 0b1, adding.to.turns = 2;  // added to what is there
  gpu::Kernel<Op>::sum<few, tf32>(b.queue(gpu::Library::Learning), adding);
  CHECK(b.log.count("describe 2 2x3x4x4f 8x3x3x3f 2x8x4x4f end 0 adds") == 1);
}
TEST_CASE("what no library says stays with our own kernels, and what this one never makes is said") {
  Bench b(KernelSource::Library);
  Tensors<Op, few, double> d;
  Tensors<Op, few, fp8> f;
  Tensors<Op, few, bf16> h;
  for (gpu::Library how : {gpu::Library::Learning, gpu::Library::Asked}) {
    long const before = b.machine->launches();
    gpu::Kernel<Op>::forward<few, true, void, double>(b.queue(how), d.operands());
    gpu::Kernel<Op>::forward<few, true, void, fp8>(b.queue(how), f.operands());
    gpu::Kernel<Op>::sum<few, bf16>(b.queue(how), gpu::one_slice(h.operands()));
    CHECK((b.machine->launches() - before > 0) == (how == gpu::Library::Asked));
  }
  CHECK(b.log.said.empty());
  CHECK(!std::isnan(h.dw0[0]));
  CHECK(
      b.listing().find("to weights 2 x 3 x 4 x 4 by 8 of 3 x 3 pad 1 bf16: own kernel (cuDNN makes no f32 gradient of "
                       "bf16)") != std::string::npos);
}
TEST_CASE("the clock decides, with the kernel for an end that is left") {
  Bench whole;
  CHECK(made(whole) == "run 1");
  CHECK(
      whole.listing().find("forward 2 x 3 x 4 x 4 by 8 of 3 x 3 pad 1 f32 +bias +relu: cuDNN (5.0 us, own 10.0 us)") !=
      std::string::npos);
  Bench apart;
  apart.log.takes = {};
  apart.log.without_end = {3, 2};  // and 10 for the kernel of its end: 12, where our own takes 10
  CHECK(made(apart) == "own");
  CHECK(apart.listing().find("+bias +relu: own kernel (12.0 us, own 10.0 us)") != std::string::npos);
  Bench pinned(KernelSource::Library);
  pinned.log.takes = {};
  CHECK(made(pinned) == "run without end 0");
  CHECK(pinned.listing().find(": cuDNN, its end by a kernel of ours (17.0 us, own 10.0 us)") != std::string::npos);
  Bench own(KernelSource::Own);
  CHECK(made(own) == "own");
  CHECK(own.log.said.empty());
  CHECK(own.listing() == "convolutions by own kernels: CLEAVE_CONVOLUTIONS=own\n");
  CHECK_THROWS_WITH_AS(gpu::kernel_source_of(backend::cudnn::Kind::words, "mine"),
                       "CLEAVE_CONVOLUTIONS=mine: say measured, own or cudnn", Error);
}
TEST_CASE("an algorithm that a graph does not take is left out") {
  Bench b;
  b.log.not_in_a_graph = "run 1";
  CHECK(made(b) == "run 2");
  Bench none;
  none.log.not_in_a_graph = "run 0";
  none.log.takes = {5};
  none.log.without_end = {};
  CHECK(made(none) == "own");
  CHECK(none.listing().find("own kernel (cuDNN has none that a graph takes)") != std::string::npos);
}
TEST_CASE(
    "an algorithm that wants more workspace than there is is not run, and how much is said, at the next start too") {
  std::string const file = "cudnn_choices.test/convolutions";
  std::filesystem::remove_all("cudnn_choices.test");
  for (bool kept : {false, true}) {
    Bench b(KernelSource::Library, file);
    b.log.wants = schedule::workspace_bytes + 1;
    CHECK(made(b) == "own");
    CHECK(b.log.count("suggest") == (kept ? 0 : 1));
    CHECK(b.listing().find("own kernel (cuDNN has none; others want Workspace<2_MiB>)") != std::string::npos);
    CHECK(b.choices.trouble() == "");
  }
  Bench roomy(KernelSource::Library, file);  // a choice for each size
  roomy.log.wants = schedule::workspace_bytes + 1;
  Tensors<Op, few, float> t;
  Queue q = roomy.queue(gpu::Library::Learning);
  q.library_bytes = 2 * schedule::workspace_bytes;
  gpu::Kernel<Op>::forward<few, true, void, float>(q, t.operands());
  CHECK(roomy.listing().find("cuDNN (5.0 us, own 10.0 us)") != std::string::npos);
  std::filesystem::remove_all("cudnn_choices.test");
}
TEST_CASE("the next start asks for nothing and times nothing; a plan is made again of what was kept") {
  std::string const file = "cudnn_choices.test/convolutions";
  std::filesystem::remove_all("cudnn_choices.test");
  {
    Bench b(KernelSource::Measured, file);
    CHECK(made(b) == "run 1");
  }
  Bench again(KernelSource::Measured, file);
  CHECK(made(again) == "run 1");
  CHECK(again.log.said == Ran{"create", again.log.said[1], "check", "run 1", "run 1"});
  CHECK(again.machine->stamped.empty());
  std::filesystem::remove_all("cudnn_choices.test");
}
TEST_CASE("each call that fails names itself, the convolution and the reason; everything is given back") {
  std::string const which = "forward 2 x 3 x 4 x 4 by 8 of 3 x 3 pad 1 f32 +bias +relu: status 7";
  for (auto const& at :
       std::vector<std::pair<std::string, std::string>>{{"create", "cuDNN: begin on an emulated device"},
                                                        {"describe", "cuDNN: describe " + which},
                                                        {"suggest", "cuDNN: ask for algorithms for " + which}}) {
    INFO(at.first);
    Bench b;
    b.log.fails = at.first;
    CHECK_THROWS_WITH_AS(made(b), doctest::Contains(at.second.c_str()), Error);
    b.machine.reset();
    CHECK(b.log.described == 0);
    CHECK(b.log.count("destroy") == (at.first == "create" ? 0 : 1));
  }
  Bench tried;  // an algorithm that fails is left out
  tried.log.fails = "run";
  CHECK(made(tried) == "own");
  CHECK(tried.listing().find("own kernel (cuDNN: status 7)") != std::string::npos);
  Bench refused;  // a graph that the library does not take is none of its own
  refused.log.fails = "describe";
  refused.log.with = FakeDnn::not_supported;
  CHECK(made(refused) == "own");
  CHECK(refused.listing().find("own kernel (cuDNN has none)") != std::string::npos);
}
