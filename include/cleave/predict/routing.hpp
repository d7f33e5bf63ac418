// predict/routing.hpp - routing_of<Net>: how many positions each expert takes, and how many are dropped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../data/sample_source.hpp"
#include "../layer/experts.hpp"
#include "../layer/input.hpp"
#include "../layer/loss.hpp"
#include "predictor.hpp"

namespace cleave {

/// Of the Experts of a model, in samples.
struct Routing {
  long positions = 0, choices = 0;  // of so many experts; choices: k for each position
  long dropped = 0;                 // choices whose expert had no place, or whose weight is too small for f32
  std::vector<long> taken;          // by each expert
  /// Of all choices.
  double dropped_share() const { return choices > 0 ? static_cast<double>(dropped) / static_cast<double>(choices) : 0; }
};

namespace session {

template <class Op> inline constexpr int chosen_by = 0;
template <int Experts, int Chosen, int Percent, int Balance>
inline constexpr int chosen_by<op::ChooseExperts<Experts, Chosen, Percent, Balance>> = Chosen;

template <class List, int N> struct first_of;
template <class... Ts, int N> struct first_of<meta::list<Ts...>, N> {
  template <int... I>
  static meta::list<meta::at<meta::list<Ts...>, static_cast<std::size_t>(I)>...> take(std::integer_sequence<int, I...>);
  using type = decltype(take(std::make_integer_sequence<int, N>{}));
};

/// A table that a layer behind the part reads too, by itself.
template <class Op> struct untied { using type = Op; };
template <class Op>
requires(op::tie_of<Op> == op::Tie::Has) struct untied<Op> {
  using type = typename Op::Table;
};
template <class Ops> struct untied_all;
template <class... Ops> struct untied_all<meta::list<Ops...>> {
  using type = meta::list<typename untied<Ops>::type...>;
};

/// Net up to the gates of its `Nth` Experts, whose outputs these are.
template <class Net, int Nth = 0> struct Gates {
 private:
  template <class... Ops> static constexpr int find(meta::list<Ops...>) {
    int k = 0, seen = 0;
    for (bool const routes : {(chosen_by<Ops> != 0)...}) {
      if (routes && seen++ == Nth) return k;
      ++k;
    }
    return -1;
  }
  static constexpr int route = find(typename Net::ops{}), count = static_cast<int>(Net::ops::size);
  static_assert(route >= 0, "routing_of<Net, n>: the model has no Experts of this number, counted from 0");
  static constexpr int before = route < 0 ? 0 : route;
  static constexpr auto whole() {
    layer::Graph<count> graph;
    Net::connect(graph);
    return graph;
  }
  static constexpr int leaves = whole().leaf[before] + 1;

 public:
  using part_of = Net;
  using router = meta::at<typename Net::ops, static_cast<std::size_t>(before)>;
  using input = typename Net::input;
  using layers = meta::concat<typename first_of<layer::leaves<Net>, leaves>::type, meta::list<MeanSquaredError>>;
  using join_layers = meta::list<>;
  using ops = meta::concat<typename untied_all<typename first_of<typename Net::ops, before + 1>::type>::type,
                           layer::ops_of<MeanSquaredError>>;
  static constexpr void connect(auto& graph) {
    auto const from = whole();
    for (int k = 0; k <= before; ++k) {
      graph.leaves = from.leaf[k];
      graph.join(from.in0[k], from.in1[k]);
    }
    graph.leaves = leaves;
    MeanSquaredError::connect(graph);
  }
};

template <class Gates> class RoutingCounts {
  static constexpr auto inputs = static_cast<std::size_t>(Gates::input::shape.size());
  static constexpr auto experts = static_cast<std::size_t>(Gates::router::output(Shape(1, 1))[1]);

 public:
  explicit RoutingCounts(Predictor<Gates, f32> gates) : gates_(std::move(gates)) { out_.taken.resize(experts); }

  Routing const& of(std::span<float const> x) {
    std::vector<float> const y = gates_(x);
    for (std::size_t i = 0; i < y.size(); ++i) out_.taken[i % experts] += y[i] != 0;
    out_.positions += static_cast<long>(y.size() / experts);
    out_.choices = out_.positions * chosen_by<typename Gates::router>;
    out_.dropped = out_.choices - std::accumulate(out_.taken.begin(), out_.taken.end(), 0L);
    return out_;
  }
  /// Of all samples, a few at a time.
  template <Dataset D> Routing const& of(D const& data) {
    static_assert(D::Input::shape.size() == Gates::input::shape.size(),
                  "routing_of: the samples of the data set have other inputs than the model");
    SampleSource const all = source_of(data);
    constexpr long at_once = 256;
    std::vector<int> labels(static_cast<std::size_t>(all.labels));
    std::vector<float> x(at_once * inputs), targets(static_cast<std::size_t>(all.outputs));
    for (long first = 0; first < all.size(); first += at_once) {
      auto const count = static_cast<std::size_t>(std::min(at_once, all.size() - first));
      for (std::size_t i = 0; i < count; ++i)
        all.read(first + static_cast<long>(i), nullptr, &x[i * inputs], labels.data(), targets.data());
      of(std::span<float const>(x).first(count * inputs));
    }
    return out_;
  }

 private:
  Predictor<Gates, f32> gates_;
  Routing out_;
};

}  // namespace session

/// How the `Nth` Experts of a model, counted from 0, send the positions of samples x (n, inputs), or of a data set,
/// with the weights of a checkpoint: `routing_of<Net>("out/mine/checkpoint.safetensors", test).dropped`. Throws Error
/// as a Predictor does.
template <class Net, int Nth = 0> Routing routing_of(std::string const& file, auto const& samples) {
  using Gates = session::Gates<Net, Nth>;
  return session::RoutingCounts<Gates>(Predictor<Gates, f32>(file)).of(samples);
}
/// The same, with the weights that a trainer has now.
template <int Nth = 0, class Trained>
requires requires { typename Trained::plan; }
Routing routing_of(Trained& trainer, auto const& samples) {
  using Gates = session::Gates<typename Trained::plan::Net, Nth>;
  return session::RoutingCounts<Gates>(Predictor<Gates, f32>(trainer)).of(samples);
}

}  // namespace cleave
