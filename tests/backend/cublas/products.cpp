// backend/cublas/products.cpp - products of a library have the numbers of our own; which is taken, kept, pinned; errors by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>

#include <sys/stat.h>

#include <fstream>

#include "../gpu/compare.hpp"
#include "fake.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;
using backend::cublas::Choices;
using backend::cublas::KernelSource;

namespace {

using Queue = gpu::Queue<Helped>;
struct Bench {
  Fake::Log log;
  Choices choices{""};
  std::unique_ptr<Helped> machine;
  Many<std::byte> workspace = Many<std::byte>(backend::gpu::workspace_bytes);
  explicit Bench(KernelSource source = KernelSource::Measured, std::string const& file = "")
      : choices(file), machine(helped(log, choices, source)) {}
  Queue queue(gpu::Library how) { return {machine.get(), machine->stream(), workspace.data(), how}; }
};
template <class Op, op::Local L, class T, bool WithBias, class Map>
void put_all(Queue const& q, op::Operands<T> const& t) {
  using K = gpu::Kernel<Op>;
  K::template forward<L, WithBias, Map, T>(q, t);
  K::template backward_input<L, T>(q, t);
  K::template sum<L, T>(q, {t, {{t.dw0}, {}, {}, 0, false, 3, 0b010}});  // two slices, which end in one sum
}

/// Two slices, learned and then asked for, against our own kernels.
template <int Out, class T, bool WithBias = false, class Map = void> void as_own(double tolerance) {
  using Op = op::Product<Out>;
  constexpr op::Local all = local<Op>(10, Shape(21)), slice{5, 10, all.x, {}, all.y, all.w0, {}};
  Bench bench(KernelSource::Library);
  Tensors<Op, all, T> tried_with, by_own, by_library;
  auto put = [&](Tensors<Op, all, T>& t, gpu::Library how) {
    auto o = t.operands();
    o.slices = 2;
    put_all<Op, slice, T, WithBias, Map>(bench.queue(how), o);
  };
  put(tried_with, gpu::Library::Learning);
  bench.log.said.clear();
  put(by_own, gpu::Library::Never);
  CHECK(bench.log.said.empty());
  put(by_library, gpu::Library::Asked);
  CHECK(bench.log.said == std::vector<std::string>{"multiply 1", "multiply 1", "multiply 1"});
  agree("y", by_library.y, by_own.y, tolerance);
  agree("dx", by_library.dx, by_own.dx, tolerance);
  agree("dw0", by_library.dw0, by_own.dw0, tolerance);
}

using Op = op::Product<8>;
constexpr op::Local few = local<Op>(6, Shape(16));
/// Learns one product, then puts it; says who made it.
std::string made(Bench& b) {
  Tensors<Op, few, float> t;
  auto const put = [&](gpu::Library how) {
    gpu::Kernel<Op>::forward<few, true, layer::ReluFunction, float>(b.queue(how), t.operands());
  };
  put(gpu::Library::Learning);
  long const before = b.machine->launches(), asked = b.log.count("multiply");
  put(gpu::Library::Asked);
  return b.log.count("multiply") > asked ? b.log.said.back() : b.machine->launches() > before ? "own" : "nobody";
}
struct File {
  std::string name = "cublas_choices.test/deep/products";
  File() { std::filesystem::remove_all("cublas_choices.test"); }
  ~File() { std::filesystem::remove_all("cublas_choices.test"); }
  std::string text() const {
    std::ifstream in(name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(std::string const& s) const { std::ofstream(name) << s; }
};
std::string replaced(std::string s, std::string const& a, std::string const& b) {
  REQUIRE(s.find(a) != std::string::npos);
  return s.replace(s.find(a), a.size(), b);
}

}  // namespace

TEST_CASE("forward, both ways back, slices in one, bias and relu: the numbers of our own kernels") {
  as_own<13, float>(1e-5);
  as_own<8, float, true>(1e-5);
  as_own<16, float, true, layer::ReluFunction>(1e-5);
  as_own<16, tf32, false, layer::ReluFunction>(1e-5);
  as_own<16, bf16, true>(1e-2);
}
TEST_CASE("what is asked is column-major: operands change places, and the bias stands along the rows") {
  Bench b;
  made(b);
  CHECK(b.log.said[1] == "describe NN 8 6 16 end 3 aligned 16");
  Tensors<Op, few, bf16> t;
  gpu::Kernel<Op>::backward_input<few, bf16>(b.queue(gpu::Library::Learning), t.operands());
  CHECK(b.log.count("describe TN 16 6 8 end 0") == 1);
  gpu::Kernel<Op>::sum<few, bf16>(b.queue(gpu::Library::Learning), gpu::one_slice(t.operands()));
  CHECK(b.log.count("describe NT 8 16 6 end 0") == 1);
}
TEST_CASE("what no library says stays with our own kernels: other maps, formats, sums in branches") {
  Bench b(KernelSource::Library);
  Tensors<Op, few, float> t;
  Tensors<Op, few, double> d;
  Many<float> const wide(9);
  for (gpu::Library how : {gpu::Library::Learning, gpu::Library::Asked}) {
    long const before = b.machine->launches();
    gpu::Kernel<Op>::forward<few, true, layer::GeluFunction, float>(b.queue(how), t.operands());
    gpu::Kernel<Op>::forward<few, true, void, double>(b.queue(how), d.operands());
    gpu::Summing<float> two{t.operands(), {{t.dw0.data(), t.dw0.data(), 0, 0, 2}, {}, {}, 1, false, 1, 0}};
    gpu::Kernel<Op>::sum<few, float>(b.queue(how), two);
    auto off = t.operands();
    off.bias = wide.data() + 1;  // kernels of the library may load 16 bytes of it at once
    off.y = t.dx.data();
    gpu::Kernel<Op>::forward<few, true, void, float>(b.queue(how), off);
    CHECK(b.machine->launches() - before == (how == gpu::Library::Asked ? 4 : 0));
  }
  CHECK(b.log.said.empty());
  CHECK(!std::isnan(t.y[0]));
}
TEST_CASE("the clock decides, with what stands behind a product") {
  Bench fast;
  CHECK(made(fast) == "multiply 1");
  CHECK(fast.machine->products().listing().find("6 x 16 * 16 x 8 f32 +bias +relu: cuBLASLt (5.0 us, own 10.0 us)") !=
        std::string::npos);
  Bench slow;
  slow.log.takes = {12, 11};
  CHECK(made(slow) == "own");
  Bench none;
  none.log.takes = {};
  CHECK(made(none) == "own");
  CHECK(none.machine->products().listing().find("own kernel (cuBLASLt has none)") != std::string::npos);
  Bench refused;
  refused.log.fails = "suggest";
  refused.log.with = Fake::not_supported;
  refused.log.takes = {};
  CHECK(made(refused) == "own");

  Tensors<Op, few, float> t, wanted;
  Tensors<op::Map<layer::TanhFunction>, op::Local{6, 6, Shape(8), {}, Shape(8), {}, {}}, float> after, wanted_after;
  using Tail = op::Tail<false, op::Made<op::Map<layer::TanhFunction>, op::Local{6, 6, Shape(8), {}, Shape(8), {}, {}}>>;
  auto const put = [&](Bench& b, auto& head, auto& tail, gpu::Library how) {
    op::Operands<float> o = head.operands(), behind = tail.operands();
    behind.x = o.y;
    o.tail = &behind;
    gpu::Kernel<Op>::forward_with<Tail, few, true, void, float>(b.queue(how), o);
  };
  Bench tailed;
  tailed.log.takes = {1};  // and 10 for the kernel of what stands behind: 11, where our own takes 10
  put(tailed, t, after, gpu::Library::Learning);
  CHECK(tailed.machine->products().listing().find("f32 +bias then +tanh: own kernel (11.0 us, own 10.0 us)") !=
        std::string::npos);
  Bench pinned(KernelSource::Library);
  t = {};
  put(pinned, wanted, wanted_after, gpu::Library::Never);
  put(pinned, t, after, gpu::Library::Learning);
  t = {};
  put(pinned, t, after, gpu::Library::Asked);
  CHECK(pinned.log.said.back() == "multiply 1");
  agree("y", t.y, wanted.y, 1e-5);
  agree("behind", after.y, wanted_after.y, 1e-5);
}
TEST_CASE("pinned") {
  Bench own(KernelSource::Own);
  CHECK(made(own) == "own");
  CHECK(own.log.said.empty());
  Bench library(KernelSource::Library);
  library.log.takes = {12, 11};
  CHECK(made(library) == "multiply 1");
  CHECK(gpu::kernel_source_of(backend::cublas::Kind::words, nullptr) == KernelSource::Measured);
  CHECK(gpu::kernel_source_of(backend::cublas::Kind::words, "own") == KernelSource::Own);
  CHECK_THROWS_WITH_AS(gpu::kernel_source_of(backend::cublas::Kind::words, "mine"),
                       "CLEAVE_PRODUCTS=mine: say measured, own or cublas", Error);
}
TEST_CASE("the next start asks for nothing and times nothing") {
  File file;
  {
    Bench b(KernelSource::Measured, file.name);
    CHECK(made(b) == "multiply 1");
    CHECK(b.choices.trouble() == "");
  }
  std::string const kept = file.text();
  CHECK(
      kept.find(
          "threads of blocks | cuBLASLt 13.1.0 | 6 x 16 * 16 x 8 f32 +bias +relu, own 2 | cublas | 5.00 | 10.00 | 0") !=
      std::string::npos);
  Bench again(KernelSource::Measured, file.name);
  CHECK(made(again) == "multiply 1");
  CHECK(again.log.said == std::vector<std::string>{"create", again.log.said[1], "check 1", "multiply 1", "multiply 1"});
  CHECK(again.machine->now == 10);
  CHECK(again.machine->stamped.empty());

  file.write(replaced(kept, "| cublas |", "| own |"));  // by hand
  Bench edited(KernelSource::Measured, file.name);
  CHECK(made(edited) == "own");
  CHECK(edited.log.count("suggest") == 0);
  Bench pinned(KernelSource::Library, file.name);
  CHECK(made(pinned) == "multiply 1");

  Bench other(KernelSource::Measured, file.name);
  other.log.version = "13.2.0";
  CHECK(made(other) == "multiply 1");
  CHECK(other.log.count("suggest") == 1);
  CHECK(file.text().find("13.1.0") != std::string::npos);
  CHECK(file.text().find("13.2.0") != std::string::npos);
}
TEST_CASE("a damaged file is told of in one line and mended; an algorithm that is none any more is measured again") {
  File file;
  {
    Bench b(KernelSource::Measured, file.name);
    made(b);
  }
  std::string const kept = file.text();
  for (std::string const& damage :
       {replaced(kept, "| cublas |", "| cobol |"), replaced(kept, " | 5.00", ""), replaced(kept, "5.00", "5x"),
        kept.substr(0, kept.size() - 9), replaced(kept, "ffffffff", "ffffgfff"), std::string("\0\x7f| | |\n\xff", 9)}) {
    file.write(damage);
    Bench b(KernelSource::Measured, file.name);
    CHECK(b.choices.trouble().find("not understood; what is missing is measured again") != std::string::npos);
    CHECK(made(b) == "multiply 1");
    CHECK(b.log.count("suggest") == 1);
    CHECK(file.text() == kept);
  }
  file.write(replaced(kept, "ffffffff", "fffffffe"));
  Bench wrong(KernelSource::Measured, file.name);
  CHECK(made(wrong) == "multiply 1");
  CHECK(wrong.log.count("suggest") == 1);
  CHECK(file.text() == kept);
}
TEST_CASE("a file that cannot be written, or read, costs a line, and nothing else") {
  File file;
  std::filesystem::create_directories(file.name + "/products");  // a folder where the file should be
  Bench b(KernelSource::Measured, file.name);
  CHECK(made(b) == "multiply 1");
  CHECK(b.machine->products().listing().find("cannot be written; products are measured at each start") !=
        std::string::npos);
  std::filesystem::remove_all(file.name);
  REQUIRE(::mknod(file.name.c_str(), S_IFSOCK | 0600, 0) == 0);  // nobody can open one
  Bench unread(KernelSource::Measured, file.name);
  CHECK(made(unread) == "multiply 1");
  CHECK(unread.machine->products().listing().find("cannot be read; products are measured at each start") !=
        std::string::npos);
  CHECK(std::filesystem::is_socket(file.name));
  auto const with = [](char const* cache, char const* xdg, char const* home) {
    return Choices::usual_file(backend::cublas::Kind::words, [=](std::string const& name) {
      return name == "CLEAVE_CACHE" ? cache : name == "XDG_CACHE_HOME" ? xdg : home;
    });
  };
  CHECK(with("/c", "/x", "/h") == "/c/products");
  CHECK(with(nullptr, "/x", "/h") == "/x/cleave/products");
  CHECK(with(nullptr, "", "/h") == "/h/.cache/cleave/products");
  CHECK(with("", "/x", "/h") == "");
  CHECK(with(nullptr, nullptr, nullptr) == "");
}
TEST_CASE("each call that fails names itself, the product and the reason; everything is given back") {
  for (auto const& at : std::vector<std::pair<std::string, std::string>>{
           {"create", "cuBLASLt: begin on an emulated device"},
           {"describe", "cuBLASLt: describe 6 x 16 * 16 x 8 f32 +bias +relu: status 7"},
           {"suggest", "cuBLASLt: ask for algorithms for 6 x 16 * 16 x 8 f32 +bias +relu: status 7"}}) {
    INFO(at.first);
    Bench b;
    b.log.fails = at.first;
    CHECK_THROWS_WITH_AS(made(b), doctest::Contains(at.second.c_str()), Error);
    b.machine.reset();
    CHECK(b.log.described == 0);
    CHECK(b.log.count("destroy") == (at.first == "create" ? 0 : 1));
  }
  Bench b;
  Tensors<Op, few, float> t;
  gpu::Kernel<Op>::forward<few, false, void, float>(b.queue(gpu::Library::Learning), t.operands());
  b.log.fails = "multiply";
  CHECK_THROWS_WITH_AS((gpu::Kernel<Op>::forward<few, false, void, float>(b.queue(gpu::Library::Asked), t.operands())),
                       "cuBLASLt: make 6 x 16 * 16 x 8 f32: status 7", Error);
}
