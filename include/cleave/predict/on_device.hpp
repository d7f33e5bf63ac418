// predict/on_device.hpp - Predictor<Net, Number, Machine>: a trained model on a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "../backend/gpu/execution/fleet.hpp"
#include "../lower/device.hpp"
#include "../train/room.hpp"
#include "predictor.hpp"

namespace cleave::session {

/// `Predictor<Net, f32, backend::cuda::Machine> predict("mine.safetensors");`: the forward pass of 128 samples at once
/// as one graph of the device, whose memory has weights, activations and a workspace of 16 MiB only. Copies are of one
/// model on the device, which answers one call at a time. backend::emulate::Machine runs the same kernels without a
/// GPU.
template <class Net, class Number, class Machine> class DeviceBlocks {
 public:
  using A = tensor::accumulate_t<Number>;
  static constexpr bool packs = false;
  static constexpr int block = 128;  // samples that run at once
  using Block = ForwardPlan<Net, Number, block>;
  static constexpr long inputs = Net::input::shape.size(), width = lower::wanted<Block>().outputs,
                        outputs = width * lower::wanted<Block>().labels;

 private:
  static constexpr place::Request request = [] {
    place::Request r = Block::request;
    r.one_block = true;
    return r;
  }();
  static constexpr schedule::Ranks ranks{1, 1};
  static constexpr auto layout =
      schedule::layout(Block::schedule, Block::lives, request, backend::gpu::on_device(Block::format), ranks);

 public:
  static constexpr schedule::Memory memory = layout.memory;
  static constexpr long activation_bytes = memory.total - memory[schedule::Category::Weights];

  explicit DeviceBlocks(Preprocessing preprocessing, int = 1)
      : model_(std::make_shared<Resident>(std::move(preprocessing))) {}

  /// Writes a whole tensor; call `ready` after the last.
  void write(Kept const& k, A const* values) { std::copy_n(values, k.shape.size(), model_->at(k)); }
  void ready() { model_->put(); }
  A const* read(Kept const& k) const { return model_->at(k); }
  Preprocessing const& preprocessing() const { return model_->preprocessing; }
  static constexpr std::size_t threads() { return 1; }
  /// x (n, inputs) to out (n, outputs).
  void run(std::span<float const> x, float* out) { model_->run(x, out); }

 private:
  struct Resident {
    using Link = backend::gpu::AllHere;
    explicit Resident(Preprocessing p)
        : preprocessing(std::move(p)),
          inverse(preprocessing.scaling.inverse_deviations()),
          weights(static_cast<std::size_t>(schedule::program<Block>.weight_elements)),
          states(static_cast<std::size_t>(schedule::program<Block>.state_elements)),
          fleet(lower::device_executable<Block, Machine, Link>, (check(), machine), link, ranks,
                schedule::shared(request, ranks), layout, 1) {}

    A* at(Kept const& k) { return (k.region == backend::host::Region::States ? states : weights).data() + k.offset; }
    void put() {
      std::lock_guard const lock(mutex);
      fleet.set_weights(0, 0, static_cast<long>(weights.size()), weights.data());
      if (!states.empty()) fleet.write(0, layout.states, states.data(), static_cast<long>(states.size() * sizeof(A)));
    }
    void run(std::span<float const> x, float* out) {
      std::lock_guard const lock(mutex);
      constexpr auto in = static_cast<std::size_t>(inputs);
      for (; !x.empty(); x = x.subspan(std::min(x.size(), block * in)), out += block * outputs) {
        Some const some{x.first(std::min(x.size(), block * in)), *this};
        auto const n = static_cast<long>(some.x.size() / in);
        fleet.predict(feed(some), [&](schedule::Range rows, Number const* y) {
          for (long r = rows.begin; r < rows.end && r < n; ++r) {
            for (long i = 0; i < outputs; ++i)
              out[r * outputs + i] = static_cast<float>(static_cast<A>(y[(r - rows.begin) * outputs + i]));
          }
        });
      }
    }
    /// At most a block of samples.
    struct Some {
      std::span<float const> x;
      Resident const& of;
    };
    static backend::host::Feed feed(Some const& some) {
      return {&some,
              [](void const* self, long, long first, int count, float* to) {
                auto const& me = *static_cast<Some const*>(self);
                constexpr auto each = static_cast<std::size_t>(inputs);
                for (auto s = static_cast<std::size_t>(first); count-- > 0; ++s, to += each) {
                  if (s * each >= me.x.size()) {
                    std::fill_n(to, each, 0.0f);  // valid samples
                    continue;
                  }
                  std::ranges::copy(me.x.subspan(s * each, each), to);
                  scale({to, each}, me.of.preprocessing.scaling.mean, me.of.inverse, Net::input::shape.dims == 2);
                }
              },
              [](void const*, long, long, int count, int* to) {
                std::fill_n(to, count * lower::wanted<Block>().labels, 0);
              },
              [](void const*, long, long, int count, float* to) { std::fill_n(to, count * outputs, 0.0f); }};
    }
    void check() {
      check_scaling(preprocessing.scaling, inputs);
      check_room(memory, 1, machine.free_bytes());
    }

    Preprocessing preprocessing;
    std::vector<float> inverse;
    std::vector<A> weights, states;  // as they are in files
    Machine machine;
    Link link;
    backend::gpu::Fleet<Number, Machine, Link> fleet;
    std::mutex mutex;
  };
  std::shared_ptr<Resident> model_;
};

}  // namespace cleave::session
