// predict/forward_blocks.hpp - the forward pass of a model over any number of samples, in blocks, on threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../backend/host/forward_rank.hpp"
#include "../data/preprocessing.hpp"
#include "../lower/host.hpp"
#include "../plan/plan.hpp"
#include "../train/checkpoint.hpp"
#include "../train/laws.hpp"
#include "packing.hpp"

namespace cleave::session {

/// The forward pass of a model over `Rows` samples at once. A split that a layer names is for training.
template <class Net, class Number, int Rows>
struct ForwardPlan : Plan<Net, Batch<Rows>, MicroBatches<1>, Precision<Number>, Mesh<Data<1>, Model<1>>, Inference> {};

/// Whether Net is a legal model; reports why it is not.
template <class Net, class Format>
concept Predicted = !IsPlan<Net> && ForwardPlan<Net, typename PredictionIn<Format>::Number, 1>::legal;

/// Of plan P in a format of prediction.
template <class P, class In> struct Forward {
  using On = typename In::On;
  using Rank = backend::host::ForwardRank<typename P::number, On>;
  static constexpr auto own = schedule::layout(P::schedule, P::lives, P::request, P::format, schedule::Ranks{1, 1});
  static constexpr schedule::LayoutView layout = [] {
    if constexpr (In::packs) return In::template Packed<P>::layout(own);
    return schedule::LayoutView(own);
  }();
  static constexpr schedule::Program program = [] {
    if constexpr (In::packs) return In::template Packed<P>::program;
    return schedule::program<P>;
  }();
  static std::unique_ptr<Rank> make(backend::host::SharedWeights<typename P::number> const& weights, std::byte* arena) {
    return std::make_unique<Rank>(program, lower::Table<P, On>::table.of, layout,
                                  schedule::shared(P::request, schedule::Ranks{1, 1}), weights, arena);
  }
};

/// The threads that run a model's forward pass: weights that copies share, and activations of each thread.
template <class Net, class Format> class ForwardBlocks {
 public:
  using In = PredictionIn<Format>;
  static constexpr bool packs = In::packs;

 private:
  using Number = typename In::Number;
  template <int Rows> using Of = ForwardPlan<Net, Number, Rows>;
  template <class P> using Forward = session::Forward<P, In>;
  using Pass = backend::host::ForwardRank<Number, typename In::On>;

 public:
  using A = tensor::accumulate_t<Number>;
  static constexpr int block = 32;  // samples that run at once
  using Block = Of<block>;
  using Single = Of<1>;
  static constexpr long inputs = Net::input::shape.size(), width = lower::wanted<Block>().outputs,
                        outputs = width * lower::wanted<Block>().labels;
  static constexpr schedule::Memory memory = Forward<Block>::layout.memory;
  static constexpr long activation_bytes = std::max(Pass::bytes(memory), Pass::bytes(Forward<Single>::layout.memory));

  ForwardBlocks(Preprocessing preprocessing, int threads)
      : ForwardBlocks(std::make_shared<Shared>(std::move(preprocessing)), threads) {}
  ForwardBlocks(ForwardBlocks const& other) : ForwardBlocks(other.shared_, static_cast<int>(other.runners_.size())) {}
  ForwardBlocks(ForwardBlocks&&) noexcept = default;
  ForwardBlocks& operator=(ForwardBlocks other) noexcept {
    std::swap(shared_, other.shared_);
    std::swap(runners_, other.runners_);
    return *this;
  }
  ~ForwardBlocks() = default;

  /// Writes a whole tensor; call `ready` after the last.
  void write(Kept const& k, A const* values) {
    if constexpr (packs) {
      if (Packing const* const packing = packing_of(k)) return write(k, packing->rounded(values));
    }
    std::copy_n(values, k.shape.size(), region(k));
  }
  /// One of 8 bits.
  void write(Kept const& k, EightBitWeight const& values) requires packs {
    packing_of(k)->pack(reinterpret_cast<std::byte*>(region(k)), values);
  }
  void ready() { shared_->weights.refresh_copies(); }
  /// The tensor's numbers; null if it is one of 8 bits.
  A const* read(Kept const& k) const { return packing_of(k) ? nullptr : region(k); }
  EightBitWeight read_packed(Kept const& k) const requires packs {
    EightBitWeight out;
    packing_of(k)->unpack(out, reinterpret_cast<std::byte const*>(region(k)));
    return out;
  }
  /// Null if it is not packed.
  static Packing const* packing_of(Kept const& k) {
    if constexpr (packs) {
      int const i = weight_of(k);
      if (i >= 0 && In::template Packed<Block>::packing(i).bytes > 0) return &In::template Packed<Block>::packing(i);
    }
    return nullptr;
  }
  Preprocessing const& preprocessing() const { return shared_->preprocessing; }
  std::size_t threads() const { return runners_.size(); }
  /// x (n, inputs) to out (n, outputs); tokens are checked before (outputs.hpp). Whole blocks are shared by the
  /// threads; the last one has the rest.
  void run(std::span<float const> x, float* out) {
    std::size_t const n = x.size() / static_cast<std::size_t>(inputs), blocks = n / std::size_t{block};
    std::size_t const used = std::clamp(blocks, std::size_t{1}, runners_.size());
    auto const from = [&](std::size_t w) { return w == used ? n : blocks * w / used * std::size_t{block}; };
    auto const part = [&](std::size_t w) {
      run(runners_[w], x.data() + from(w) * static_cast<std::size_t>(inputs), from(w + 1) - from(w),
          out + from(w) * static_cast<std::size_t>(outputs));
    };
    Joined others;
    for (std::size_t w = 1; w < used; ++w) others.of.emplace_back([&part, w] { part(w); });
    part(0);
  }

 private:
  /// Its number in the program; -1 if it is none.
  static int weight_of(Kept const& k) {
    schedule::Program const& p = schedule::program<Block>;
    for (int i = 0; i < p.weights && k.region == backend::host::Region::Weights; ++i)
      if (p.weight[i].offset == k.offset) return i;
    return -1;
  }
  A* region(Kept const& k) const {
    int const i = weight_of(k);
    return shared_->weights.region(k.region) + (i < 0 ? k.offset : Forward<Block>::program.weight[i].offset);
  }

  struct Shared {
    explicit Shared(Preprocessing p)
        : preprocessing(std::move(p)),
          mean(preprocessing.scaling.mean),
          inverse(preprocessing.scaling.inverse_deviations()) {
      check_scaling(preprocessing.scaling, inputs);
    }
    backend::host::SharedWeights<Number> weights{Forward<Block>::program, Forward<Block>::layout};
    Preprocessing preprocessing;
    std::vector<float> mean, inverse;
  };

  /// The shortest of the first times that a pass took.
  struct PassTime {
    int timed = 0;
    double seconds = std::numeric_limits<double>::infinity();

    template <class F> void of(F pass) {
      if (timed == 16) return pass();
      auto const begin = std::chrono::steady_clock::now();
      pass();
      seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      ++timed;
    }
  };
  /// What one thread runs with.
  struct Runner {
    explicit Runner(Shared& shared)
        : arena(activation_bytes),
          blocks(Forward<Block>::make(shared.weights, arena.get())),
          single(Forward<Single>::make(shared.weights, arena.get())) {}
    backend::host::AlignedBlock arena;
    std::unique_ptr<Pass> blocks, single;
    PassTime of_block{}, of_single{};

    /// How many of the next n samples run at once: if they are less than a block, whichever was faster.
    std::size_t rows(std::size_t n) const {
      if (n == 1 || n >= std::size_t{block}) return std::min(n, std::size_t{block});
      bool const as_block = of_block.timed < 4
                                ? n >= 4  // to know; the first passes are slower
                                : of_single.timed > 0 && static_cast<double>(n) * of_single.seconds > of_block.seconds;
      return as_block ? n : 1;
    }
  };

  struct Joined {
    std::vector<std::thread> of{};
    ~Joined() {
      for (std::thread& t : of) t.join();
    }
  };

  ForwardBlocks(std::shared_ptr<Shared> shared, int threads) : shared_(std::move(shared)) {
    if (threads < 1) throw Error({"predict: ", threads, " threads; say at least 1"});
    for (int t = 0; t < threads; ++t) runners_.emplace_back(*shared_);
  }
  void run(Runner& runner, float const* x, std::size_t n, float* out) const {
    for (std::size_t i = 0; i < n;) {
      std::size_t const rows = runner.rows(n - i);
      Pass& by = rows == 1 ? *runner.single : *runner.blocks;
      float const* const from = x + i * static_cast<std::size_t>(inputs);
      auto const read = static_cast<long>(rows) * inputs, all = (rows == 1 ? 1 : long{block}) * inputs;
      if constexpr (Block::tokens.vocabulary > 0) {
        std::transform(from, from + read, by.tokens(), op::token_of);
        std::fill(by.tokens() + read, by.tokens() + all, 0);
      } else {
        std::fill(load(from, static_cast<long>(rows), by.input()), by.input() + all, Number{});  // valid samples
      }
      (rows == 1 ? runner.of_single : runner.of_block).of([&] { by.run(); });
      Number const* const y = by.output();
      for (std::size_t k = 0; k < rows * static_cast<std::size_t>(outputs); ++k) *out++ = static_cast<float>(y[k]);
      i += rows;
    }
  }
  /// As batches.hpp preprocesses samples. Returns the end of what it writes.
  Number* load(float const* x, long rows, Number* to) const {
    auto const channels = static_cast<long>(shared_->mean.size());
    if (channels == 0) return std::transform(x, x + rows * inputs, to, [](float v) { return static_cast<Number>(v); });
    long const plane = inputs / channels;
    for (long r = 0; r < rows; ++r) {
      for (long i = 0; i < inputs; ++i) {
        auto const c = static_cast<std::size_t>(Net::input::shape.dims == 2 ? i % channels : i / plane);
        *to++ = static_cast<Number>((*x++ - shared_->mean[c]) * shared_->inverse[c]);
      }
    }
    return to;
  }

  std::shared_ptr<Shared> shared_;
  std::vector<Runner> runners_;
};

}  // namespace cleave::session
