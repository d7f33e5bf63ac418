// backend/emulate/races.cpp - each barrier of the kernels, removed in turn: ThreadSanitizer must tell, and only then.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/wait.h>
#include <unistd.h>

#include <cleave/backend/emulate/block.hpp>
#include <cleave/backend/gpu/kernels/clip.hpp>
#include <cleave/backend/gpu/kernels/linked.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/backend/gpu/kernels/top_k.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace cleave;
using namespace cleave::backend;

namespace {

int left_out = 0;  // the barrier, counted from 1, that no thread comes to; 0: none

/// The usual context, less one barrier, of the block or of a warp. Behind the others all threads wait until all are
/// through: ThreadSanitizer takes whoever comes late out of one barrier for ordered behind those who already came to
/// the next.
struct Less : emulate::Context<emulate::Threads> {
  mutable int came = 0;
  Less(emulate::Context<emulate::Threads> c) : emulate::Context<emulate::Threads>(c) {}
  void barrier() const {
    if (++came == left_out) return;
    emulate::Context<emulate::Threads>::barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void warp_barrier() const {
    if (++came == left_out) return;
    emulate::Context<emulate::Threads>::warp_barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};
template <class K> struct Mutant : K {
  template <class Ctx> static void run(Ctx const& c, typename K::Args const& a) { K::run(Less(c), a); }
};

std::vector<float> floats(long n) { return std::vector<float>(static_cast<std::size_t>(n), 0.5f); }
constexpr op::Local rows(int count, int columns) {
  return {count, count, Shape(columns), {}, Shape(columns), Shape(columns), Shape(columns)};
}

void softmax() {
  constexpr op::Local l = rows(2, 1100);
  auto x = floats(2200), dx = x, loss = floats(1);
  int const labels[] = {3, 1000};
  op::Operands<float> t;
  t.x = x.data(), t.dx = dx.data(), t.loss = loss.data(), t.labels = labels;
  emulate::launch<Mutant<gpu::LossOfSlice<gpu::SoftmaxRow<op::SoftmaxCrossEntropy>, l, true, float>>, emulate::Threads>(
      1, t);
}
void softmax_rows() {
  constexpr op::Local l = rows(2, 1100);
  auto x = floats(2200), dx = x, losses = floats(2);
  int const labels[] = {3, 1000};
  op::Operands<float> t;
  t.x = x.data(), t.dx = dx.data(), t.labels = labels;
  emulate::launch<Mutant<gpu::LossOfRows<gpu::SoftmaxRow<op::SoftmaxCrossEntropy>, l, true, float>>, emulate::Threads>(
      1, {t, losses.data()});
}
void add_up() {
  auto of = floats(1500), loss = floats(1);
  emulate::launch<Mutant<gpu::AddUp<float>>, emulate::Threads>(1, {loss.data(), of.data(), 1500});
}
void squares() {
  auto const g = floats(1500);
  std::vector<double> to(schedule::squares_words(sizeof(float)));
  emulate::launch<Mutant<gpu::Squares<float>>, emulate::Threads>(1, {to.data(), 0, 1500, 1500, {1, {g.data()}}});
}
void digits() {
  std::vector<double> of(3 * static_cast<std::size_t>(schedule::squares_words(sizeof(float))), 1.0);
  double to = 0;
  emulate::launch<Mutant<gpu::AddDigits<float>>, emulate::Threads>(1, {of.data(), 3, &to, true});
}
void layer_norm() {
  constexpr op::Local l = rows(1, 1100);
  auto x = floats(1100), y = x, w = x, aux = floats(2);
  op::Operands<float> t;
  t.x = x.data(), t.y = y.data(), t.w0 = w.data(), t.w1 = w.data(), t.aux = aux.data();
  emulate::launch<Mutant<gpu::NormaliseRows<op::LayerNorm, l, true, float>>, emulate::Threads>(1, t);
}
/// Two slices, each of which is a sum.
gpu::Summing<float> two(op::Operands<float> t) {
  gpu::Summing<float> two = gpu::one_slice(t);
  two.slices = 2;
  two.to.push(0);
  two.to.push(1);
  two.to.dw0.few = 2;
  return two;
}
void across() {
  constexpr op::Local l{9, 9, Shape(20), {}, Shape(20), Shape(20), {}};
  auto dy = floats(360), dw = floats(40);
  op::Operands<float> t;
  t.dy = dy.data(), t.dw0 = dw.data();
  emulate::launch<Mutant<gpu::SumAcross<gpu::BiasSum<l, float>>>, emulate::Threads>(1, {two(t), nullptr, 0, 2});
}
void along() {
  constexpr op::Local l{9, 9, Shape(1, 8, 8), {}, Shape(1, 8, 8), Shape(1), {}};
  auto dy = floats(18 * 64), dw = floats(2);
  op::Operands<float> t;
  t.dy = dy.data(), t.dw0 = dw.data();
  emulate::launch<Mutant<gpu::SumAlong<gpu::BiasSum<l, float>>>, emulate::Threads>(1, {two(t), nullptr, 0, 2});
}
template <class T, class Tile> void product() {
  constexpr op::Local l{5, 5, Shape(70), {}, Shape(20), Shape(70, 20), {}};
  std::vector<T> x(350), w(1400), y(100);
  op::Operands<T> t;
  t.x = x.data(), t.w0 = w.data(), t.y = y.data();
  using K = gpu::Contract<gpu::ProductForward<l, false, void, T>, float, Tile, 1>;
  emulate::launch<Mutant<K>, emulate::Threads>(1, {t, nullptr, 0, 1});
}
/// Five tiles of k in four stages: the last is copied to where the first was.
void warpgroups() {
  constexpr op::Local l{64, 64, Shape(320), {}, Shape(64), Shape(320, 64), {}};
  std::vector<bf16> x(64 * 320), w(320 * 64), y(64 * 64);
  op::Operands<bf16> t;
  t.x = x.data(), t.w0 = w.data(), t.y = y.data();
  using K = gpu::GroupContract<gpu::ProductForward<l, false, void, bf16>, float, gpu::GroupTile{64, 64, 4, 1}, 1>;
  emulate::launch<Mutant<K>, emulate::Threads>(1, {t, nullptr, 0, 1});
}
void linked() {
  constexpr op::Local l{5, 5, Shape(20), {}, Shape(20), Shape(20, 20), {}};
  auto x = floats(100), w = floats(400), y = x, z = x;
  op::Operands<float> t, u;
  t.x = x.data(), t.w0 = u.w0 = w.data(), t.y = y.data(), u.x = y.data(), u.y = z.data();
  using Case = gpu::ProductForward<l, false, void, float>;
  emulate::launch<Mutant<gpu::Linked<Case, Case>>, emulate::Threads>(1, {{t, nullptr, 0, 1}, {{u, nullptr, 0, 1}}});
}
void weights() {
  constexpr op::Local l{20, 20, Shape(30), {}, Shape(20), Shape(30, 20), {}};
  auto x = floats(1200), dy = floats(800), dw = floats(600);
  op::Operands<float> t;
  t.x = x.data(), t.dy = dy.data(), t.dw0 = dw.data();
  using K = gpu::Contract<gpu::ProductWeight<l, float>, float, gpu::Plain, 1>;
  emulate::launch<Mutant<K>, emulate::Threads>(1, {two(t), nullptr, 0, 2});
}
void peaks() {
  std::vector<fp8> a(700, fp8(0.5f)), b(90, fp8(2));
  std::vector<std::uint16_t> slots(3);
  emulate::launch<Mutant<gpu::Peaks<fp8>>, emulate::Threads>(
      3, {{a.data(), slots.data(), 350, 1, 2}, {b.data(), slots.data() + 2, 90, 1, 1}});
}

template <class C> void encode() {
  auto g = floats(C::block), left = g;
  std::vector<std::byte> out(static_cast<std::size_t>(C::bytes(C::block)));
  emulate::launch<Mutant<gpu::Encode<C, float>>, emulate::Threads>(1, {g.data(), left.data(), out.data(), C::block});
}

template <class K> void select(int round) {
  gpu::Selection<float>::Board board{};
  board.found[0] = board.found[8] = {0, 9};
  auto v = floats(600);
  std::vector<std::byte> out(8 * 600);
  emulate::launch<Mutant<K>, emulate::Threads>(1, {v.data(), true, 600, 9, round, &board, out.data()});
}
void count_sizes() { select<gpu::CountSizes<float>>(1); }
void write_pairs() { select<gpu::WritePairs<float>>(8); }

struct Case {
  char const* name;
  void (*run)();
  std::string race;  // of barrier 1, 2, ...: is it a race without it?
};
// In sums over a block the first barrier keeps a line that is read from being written: at its first use nobody reads.
Case const cases[] = {{"softmax", softmax, "0111"},
                      {"softmax by rows", softmax_rows, "0111"},
                      {"adding up", add_up, "01"},
                      {"squares", squares, "11"},
                      {"digits of squares", digits, "11"},
                      {"layer norm", layer_norm, "0111"},
                      {"sums across", across, "111"},
                      {"sums along", along, "01010101"},
                      {"plain product", product<float, gpu::Plain>, "11"},
                      {"product of fragments", product<bf16, gpu::Bf16Tile>, "11"},
                      {"product by warpgroups", warpgroups, "1111111"},
                      {"linked products", linked, "111"},
                      {"weights of two slices", weights, "1111"},
                      {"peaks", peaks, "01"},
                      {"eight bits", encode<Int8>, "011"},
                      {"one bit", encode<OneBit>, "11111111011"},
                      {"the largest few: a round", count_sizes, "111"},
                      {"the largest few: pairs", write_pairs, "1"}};

/// In a process of its own: 66 if ThreadSanitizer has told a race.
int run(char const* program, std::size_t c, std::size_t b) {
  pid_t const child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stderr)) _exit(3);
    ::execl(program, program, std::to_string(c).c_str(), std::to_string(b).c_str(), nullptr);
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) {
    left_out = std::atoi(argv[2]);
    cases[std::atoi(argv[1])].run();
    return 0;
  }
  int wrong = 0;
  for (std::size_t c = 0; c < std::size(cases); ++c) {
    for (std::size_t b = 0; b <= cases[c].race.size(); ++b) {
      int const wanted = b > 0 && cases[c].race[b - 1] == '1' ? 66 : 0;
      int code = run(argv[0], c, b);
      for (int again = 0; code == 0 && wanted != 0 && again < 9; ++again)
        code = run(argv[0], c, b);  // it may not come up
      if (code == wanted) continue;
      std::printf("%s without barrier %zu: exit code %d, wanted %d\n", cases[c].name, b, code, wanted);
      ++wrong;
    }
  }
  std::printf("%s\n", wrong ? "wrong" : "every race was told, and no other");
  return wrong != 0;
}
