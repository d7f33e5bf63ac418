// train/check_layer.hpp - tests a user's layer: gradients against differences in f64, every split against the whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../layer/conv.hpp"
#include "../layer/input.hpp"
#include "../layer/loss.hpp"
#include "../layer/per_position.hpp"
#include "../layer/sequential.hpp"
#include "../meta/check_report.hpp"
#include "../plan/plan.hpp"
#include "checkpoint.hpp"
#include "counted.hpp"

namespace cleave {

namespace session {

template <class NetT, class... Policies>
struct Probe : Plan<NetT, Batch<4>, MicroBatches<4>, Precision<f64>, InputGradient, Policies...> {
  static constexpr Rate rate = Rate::constant(1);
};
template <class Input, class... Layers> struct Probed : Sequential<Input, Layers..., MeanSquaredError> {};
/// One step of plan P at rate 1 on random data: the loss, the gradient of the input and of each weight.
template <class P> struct Probing {
  struct Result {
    double loss = 0;
    std::string miscounted;
    std::vector<double> input;
    std::vector<std::vector<double>> weights;
  };
  std::vector<double> x;      // (batch, features)
  bool with_targets = false;  // numbers from 0 to below 1, beside classes

  explicit Probing(bool targets = false) : with_targets(targets) {
    tensor::Random const random{7, tensor::Purpose::Augment, 0};
    for (long i = 0; i < P::batch * P::Net::input::shape.size(); ++i) {
      x.push_back(op::start_value({Shape(1), op::Start::He, 2, 1}, random, i));
    }
  }
  backend::host::Feed feed() const {
    backend::host::Feed out = classes();
    if (with_targets) {
      out.targets = [](void const*, long, long first, int count, float* to) {
        constexpr long n = P::signatures.op[P::ops::size - 1].x.size();
        for (long i = 0; i < count * n; ++i) to[i] = static_cast<float>((first * n + i) * 7 % 16) / 16;
      };
    }
    return out;
  }
  backend::host::Feed classes() const {
    return {this,
            [](void const* self, long, long first, int count, float* out) {
              auto const& data = static_cast<Probing const*>(self)->x;
              long const n = P::Net::input::shape.size();
              for (long i = 0; i < count * n; ++i)
                out[i] = static_cast<float>(data[static_cast<std::size_t>(first * n + i)]);
            },
            [](void const*, long, long first, int count, int* out) {
              constexpr int labels = P::schedule.labels,
                            n = static_cast<int>(P::signatures.op[P::ops::size - 1].x.size()) / labels;
              for (int i = 0; i < count * labels; ++i) out[i] = (static_cast<int>(first) * labels + i) * 3 % n;
            }};
  }
  /// `nudge` is added to element `index` of weight `which` before the step.
  Result step(int replicas = 1, int which = -1, long index = 0, double nudge = 0, double rate = 1) const {
    Trainer<P> trainer(replicas, 5);
    std::vector<Kept> const all = kept<P>();
    if (which >= 0) trainer.at(0).weights()[all[static_cast<std::size_t>(which)].offset + index] += nudge;
    Result r;
    for (int w = 0; w < P::schedule.weights; ++w) r.weights.push_back(whole(trainer, all[static_cast<std::size_t>(w)]));
    r.loss = trainer.train(3, 1, feed(), rate)[0];
    r.miscounted = session::miscounted(trainer, 1);
    for (int w = 0; w < P::schedule.weights; ++w) {
      std::vector<double> const after = whole(trainer, all[static_cast<std::size_t>(w)]);
      for (std::size_t i = 0; i < after.size(); ++i) r.weights[static_cast<std::size_t>(w)][i] -= after[i];
    }
    auto& rank = trainer.at(0);
    double const* g = rank.template at<double>(rank.layout().buffer[P::schedule.input_gradient]);
    schedule::Program const& program = description<P>.program;  // a rank may have a part of the batch only
    bool const whole_batch =
        replicas == 1 && program.rounds == 1 && program.input_axes - place::over_data == place::AxisSet{};
    r.input.assign(g, g + (whole_batch ? P::batch : 0) * P::Net::input::shape.size());
    return r;
  }
};

inline bool near(double a, double b, double relative, double scale) {
  return std::fabs(a - b) <= relative * (std::fabs(a) + std::fabs(b)) + relative * scale;
}

template <class P> CheckReport numeric(std::string const& name, bool targets = false) {
  Probing<P> probe(targets);
  auto const analytic = probe.step();
  double const h = 1.0 / 4096;
  std::string where;
  auto const compare = [&](std::string const& what, long index, double told, double high, double low) {
    double const measured = (high - low) / (2 * h);
    if (near(told, measured, 1e-4, 1e-3)) return true;
    where = name + ": gradient of " + what + " at " + std::to_string(index) + " is " + std::to_string(told) +
            ", differences say " + std::to_string(measured);
    return false;
  };
  for (std::size_t w = 0; w < analytic.weights.size(); ++w) {
    if (P::signatures.op[P::placed.node[P::schedule.weight[w].node].op].averages > 0) continue;  // not learned
    long const n = static_cast<long>(analytic.weights[w].size());
    for (long i = 0; i < n; i += 1 + n / 24) {
      double const high = probe.step(1, static_cast<int>(w), i, h, 0).loss,
                   low = probe.step(1, static_cast<int>(w), i, -h, 0).loss;
      if (!compare("weight " + std::to_string(w), i, analytic.weights[w][static_cast<std::size_t>(i)], high, low))
        return {false, where};
    }
  }
  long const n = static_cast<long>(probe.x.size());
  for (long i = 0; i < n; i += 1 + n / 48) {
    Probing<P> moved = probe;
    double& x = moved.x[static_cast<std::size_t>(i)];
    double const x0 = static_cast<float>(x);
    x = x0 + h;
    double const high = moved.step(1, -1, 0, 0, 0).loss;
    x = x0 - h;
    double const low = moved.step(1, -1, 0, 0, 0).loss;
    if (!compare("the input", i, analytic.input[static_cast<std::size_t>(i)], high, low)) return {false, where};
  }
  return {};
}

/// The same step under two plans: equal to `relative`, or bit for bit when it is 0.
template <class P, class Q>
CheckReport same(std::string const& what, int replicas, double relative, bool targets = false) {
  auto const a = Probing<P>(targets).step();
  auto const b = Probing<Q>(targets).step(replicas);
  if (!b.miscounted.empty()) return {false, what + ": " + b.miscounted};
  double scale = 0;  // of all gradients together: some are zero up to rounding (a bias before a BatchNorm)
  for (auto const& w : a.weights) {
    for (double e : w) scale = std::max(scale, std::fabs(e));
  }
  auto const differ = [&](std::vector<double> const& u, std::vector<double> const& v) {
    for (std::size_t i = 0; i < u.size(); ++i) {
      if (relative == 0 ? u[i] != v[i] : !near(u[i], v[i], relative, scale)) return true;
    }
    return false;
  };
  if (relative == 0 ? a.loss != b.loss : !near(a.loss, b.loss, relative, 1)) {
    return {false, what + ": loss " + std::to_string(b.loss) + ", whole it is " + std::to_string(a.loss)};
  }
  for (std::size_t w = 0; w < a.weights.size(); ++w) {
    if (differ(a.weights[w], b.weights[w]))
      return {false, what + ": the gradient of weight " + std::to_string(w) + " differs from the whole layer's"};
  }
  if (!b.input.empty() && differ(a.input, b.input))
    return {false, what + ": the gradient of the input differs from the whole layer's"};
  return {};
}

/// Whether this net can be split like this. Checked by the algebra, without an error.
template <class NetT, class Split> constexpr bool may_split() {
  constexpr auto model = place::signatures<NetT>(typename NetT::ops{});
  char letters[NetT::ops::size];
  for (char& l : letters) l = Split::letter;
  constexpr place::Request request{{0, 2}, 1, 4, false, true};
  auto const wishes = place::wishes(model, letters, request);
  return propagate_shardings(model, request.mesh, wishes, request).verdict.law == place::Law::None;
}

/// A layer in front whose output has the split to be tested, so that unsplit layers are tested with split inputs too.
template <class L, class Input, class Split> struct Fed;
template <class L, int N, class Split> struct Fed<L, Vector<N>, Split> {
  using net = Probed<Vector<N>, Linear<N, ModelParallel<Split>>, L>;
  using whole = Probed<Vector<N>, Linear<N>, L>;
};
template <class L, int T, int N, class Split> struct Fed<L, Sequence<T, N>, Split> {
  using net = Probed<Sequence<T, N>, PerPosition<Linear<N, ModelParallel<Split>>>, L>;
  using whole = Probed<Sequence<T, N>, PerPosition<Linear<N>>, L>;
};
template <class L, int C, int H, int W, class Split> struct Fed<L, Image<C, H, W>, Split> {
  using net = Probed<Image<C, H, W>, Conv<C, 1, ModelParallel<Split>>, L>;
  using whole = Probed<Image<C, H, W>, Conv<C, 1>, L>;
};

template <class L, class Input, class Split> CheckReport split(char const* name) {
  using Alone = Probed<Input, L>;
  using F = Fed<L, Input, Split>;
  CheckReport r;
  if constexpr (may_split<Alone, Split>()) {
    r = same<Probe<Alone>, Probe<Alone, ModelParallel<Split, Ways<2>>>>(name, 1, 1e-9);
  }
  if constexpr (may_split<typename F::whole, Split>()) {
    if (r)
      r = same<Probe<typename F::whole>, Probe<typename F::net, Mesh<Data<1>, Model<2>>>>(
          std::string(name) + " in front of it", 1, 1e-9);
  }
  return r;
}

}  // namespace session

/// `check_layer<Linear<6>, Vector<8>>()` checks gradients by central differences in f64; the layer split over two ranks
/// along every letter that its equation permits, and with every split of its input, against the unsplit one; one, two
/// and four replicas, bit for bit; two runs, bit for bit; and that each run sends and allocates what its schedule says.
/// Of an odd extent ranks have unequal parts; a wrong `keeps_zeros` shows in later steps only, which are not taken
/// here.
template <class L, class Input> CheckReport check_layer() {
  using namespace session;
  using P = Probe<Probed<Input, L>>;
  CheckReport r = same<P, P>("a second run", 1, 0);
  if (r) r = numeric<P>("check_layer");
  using D = Probe<Probed<Input, L>, DataParallel<Sync>>;
  if (r) r = same<P, D>("two replicas", 2, 0);
  if (r) r = same<P, D>("three replicas", 3, 0);
  if (r) r = same<P, D>("four replicas", 4, 0);
  if (r) r = split<L, Input, SplitCols>("SplitCols");
  if (r) r = split<L, Input, SplitRows>("SplitRows");
  if (r) r = split<L, Input, SplitBatch>("SplitBatch");
  if (r) r = split<L, Input, SplitGroups>("SplitGroups");
  if (r) r.text = "right";
  return r;
}

}  // namespace cleave
