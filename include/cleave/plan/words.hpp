// plan/words.hpp - finds the policy, layer or option that violates a law; computes what depends on legal ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <limits>

#include "../layer/linear.hpp"
#include "../optim/parameter_group.hpp"
#include "../place/partition.hpp"
#include "find.hpp"
#include "laws.hpp"
#include "letters.hpp"
#include "sending.hpp"

namespace cleave::plan {

using kinds =
    meta::list<BatchKind, MicroBatchKind, RoundKind, DataKind, ServerKind, ModelKind, StageKind, MeshKind,
               PrecisionKind, SumKind, BlockKind, CompressKind, RouteKind, BucketKind, WorkspaceKind, ConversionKind,
               SequenceKind, InputKind, PassKind, FreezeKind, optim::LossScaleKind, optim::OptimizerKind>;
template <class P, class Kinds> inline constexpr bool is_policy = false;
template <Policy P, class... Kinds>
inline constexpr bool is_policy<P, meta::list<Kinds...>> = (is_kind<Kinds, P> || ...);

constexpr Culprit first_false(std::initializer_list<bool> good) {
  std::size_t i = 0;
  for (bool g : good) {
    if (!g) return {i, 0, false};
    ++i;
  }
  return {};
}
constexpr Culprit first_repeated(std::initializer_list<int> counts) {
  std::size_t i = 0;
  for (int c : counts) {
    if (c > 1) return {i, c, false};
    ++i;
  }
  return {};
}
template <class... Ps, class... Kinds> constexpr Culprit repeated_kind(meta::list<Kinds...>) {
  return first_repeated({said<Kinds, Ps...>...});
}

template <class... Ops> constexpr bool are_operations(meta::list<Ops...>) {
  return !any({!std::is_base_of_v<op::Base, Ops>...});
}
template <class... Ops> constexpr bool some_contracts(meta::list<Ops...>) { return any({Ops::contracts...}); }
/// Whether the layer supports the option. Splits are for products and convolutions.
template <class L, class Option> constexpr bool accepts() {
  if constexpr (is_kind<ModelKind, Option>) {
    return some_contracts(layer::ops_of<L>{}) && Option::products != '?';  // what chooses is of the plan
  } else {
    return layer::takes<L, Option>;
  }
}
template <class Option> constexpr bool says_no_ways() {
  if constexpr (is_kind<ModelKind, Option>) {
    return std::is_same_v<typename Option::sizes, Ways<0>>;
  } else {
    return true;
  }
}
template <class L, class Options = layer::policies_of<L>> struct words_of_a_layer {
  static constexpr bool is_layer = layer::Layer<L> && are_operations(layer::ops_of<L>{}), known = true, fit = true,
                        once = true, no_ways = true;
  static constexpr int splits = 0;
  using unfit = void;
  using repeated = void;
};
template <class L, class O, class... Os> struct words_of_a_layer<L, meta::list<O, Os...>> {
  using options = meta::list<O, Os...>;
  static constexpr bool is_layer = layer::Layer<L> && are_operations(layer::ops_of<L>{});
  static constexpr bool known = (std::is_base_of_v<layer::Option, O> || is_kind<ModelKind, O>)&&(
      (std::is_base_of_v<layer::Option, Os> || is_kind<ModelKind, Os>)&&...);
  static constexpr int splits = said<ModelKind, O, Os...>;
  static constexpr bool no_ways = says_no_ways<O>() && (says_no_ways<Os>() && ...);
  template <class Option> static constexpr int count_of(Option*) {
    return int{layer::of_one_kind<Option, O>} + (0 + ... + int{layer::of_one_kind<Option, Os>});
  }
  static constexpr Culprit stranger = first_false({accepts<L, O>(), accepts<L, Os>()...}),
                           twice = first_repeated(
                               {count_of(static_cast<O*>(nullptr)), count_of(static_cast<Os*>(nullptr))...});
  static constexpr bool fit = stranger.none, once = twice.none;
  using unfit = meta::at<options, stranger.at>;
  using repeated = meta::at<options, twice.at>;
};

/// Layer k of a model, counted flat; the model itself if it has fewer.
template <class Net, auto K>
using leaf = meta::at<meta::concat<layer::leaves<Net>, meta::list<Net>>, static_cast<std::size_t>(K)>;

/// The first layer whose split is for another number of axes.
template <class Net, int Axes, class... Leaves> constexpr Culprit split_for_other_axes(meta::list<Leaves...>) {
  return first_false({is_for_axes<leaf_policy<Leaves>>(Axes)...});
}

template <class Net, class... Policies> struct words {
  static constexpr Culprit stranger = first_false({is_policy<Policies, kinds>...}),
                           twice = repeated_kind<Policies...>(kinds{});
  using law = meta::first_broken<
      meta::enforce<layer::the_first_word_is_a_model<layer::Model<Net>>, Net>,
      meta::enforce<every_word_is_a_policy<stranger.none>, meta::at<meta::list<Policies..., Net>, stranger.at>>,
      meta::enforce<each_kind_of_policy_is_said_once<twice.count>, meta::at<kinds, twice.at>>>;
};
template <class Net, class... Policies> using law_of_words = typename words<Net, Policies...>::law;

template <class Net, class Leaves> struct layers;
template <class Net, class... Leaves> struct layers<Net, meta::list<Leaves...>> {
  using input = layer::input_of<Net>;
  static constexpr Culprit no_layer = first_false({words_of_a_layer<Leaves>::is_layer...}),
                           stranger = first_false({words_of_a_layer<Leaves>::known...}),
                           resplit = first_repeated({words_of_a_layer<Leaves>::splits...}),
                           unfit = first_false({words_of_a_layer<Leaves>::fit...}),
                           twice = first_false({words_of_a_layer<Leaves>::once...}),
                           sized = first_false({words_of_a_layer<Leaves>::no_ways...}),
                           unsized = first_false({layer::law_of<Leaves>::holds...});
  template <Culprit const& who> using at = leaf<Net, who.at>;
  using law = meta::first_broken<
      meta::enforce<layer::a_model_begins_with_its_input<layer::is_input<input>>, input>,
      meta::enforce<layer::law_of<input>, input>,
      meta::enforce<layer::every_part_of_a_model_is_a_layer<no_layer.none>, at<no_layer>>,
      meta::enforce<every_word_is_an_option_or_a_split<stranger.none>, at<stranger>>,
      meta::enforce<each_kind_of_policy_is_said_once<resplit.count>, at<resplit>>,
      meta::enforce<layer::the_layer_takes_this_option<typename words_of_a_layer<at<unfit>>::unfit, unfit.none>,
                    at<unfit>>,
      meta::enforce<layer::each_option_is_given_once<typename words_of_a_layer<at<twice>>::repeated, twice.none>,
                    at<twice>>,
      meta::enforce<a_layer_has_the_ways_of_the_plan<sized.none>, at<sized>>,
      meta::enforce<layer::law_of<at<unsized>>, at<unsized>>>;
};
/// Without layers, or, to nvcc, with a name among them that is not known.
template <class Net> struct layers<Net, meta::list<>> {
  using law = meta::enforce<layer::every_part_of_a_model_is_a_layer<false>, Net>;
};
template <class Net> using law_of_layers = typename layers<Net, layer::leaves<Net>>::law;

/// With the layer that causes the violation; its members are passed as numbers, since g++ 12 crashes on a verdict as
/// argument of an alias.
template <class Net, place::Law L, int A, int B, int Leaf>
using law_of_verdict = meta::enforce<place::law_of<L, A, B>, leaf<Net, Leaf>>;

// What a plan computes if all laws before it hold (`Go`), and empty values otherwise.
template <class Net, class Ops, bool Go> constexpr auto signatures() {
  if constexpr (Go) {
    return with_factors(place::signatures<Net>(Ops{}), layer::leaves<Net>{});
  } else {
    return place::Signatures<0>{};
  }
}
template <class Net, class ModelPolicy, int Axis = 0>
inline constexpr auto letters_said = letters<Net, ModelPolicy, Axis>(layer::ops_of<Net>{}, layer::leaves<Net>{});
/// The letter of each operation on the first axis: what the plan or its layer says, or what the plan's split chooses.
template <class Net, class ModelPolicy, bool Go, auto const& Model, auto const& Request, int BytesEach>
constexpr auto splits() {
  if constexpr (!Go) {
    return Letters<std::remove_cvref_t<decltype(Model)>::count>{};
  } else if constexpr (ModelPolicy::products != '?') {
    return letters_said<Net, ModelPolicy>;
  } else {
    return ModelPolicy::split::template choose<Model, Request, BytesEach, letters_said<Net, ModelPolicy>>();
  }
}
/// On all axes: `first` are the letters of the first.
template <class Net, class ModelPolicy, int N>
constexpr place::Wishes<N> wishes(place::Signatures<N> const& model, Letters<N> const& first,
                                  place::Request const& request) {
  place::Wishes<N> out = place::wishes(model, first.of, request);
  Letters<N> const further[] = {letters_said<Net, ModelPolicy, 1>, letters_said<Net, ModelPolicy, 2>};
  for (int axis = place::data_axis + 2; axis < request.mesh.axes; ++axis) {
    place::Wishes<N> const more = place::wishes(model, further[axis - place::data_axis - 2].of, request, axis);
    for (int k = 0; k < N; ++k) out.of[k][axis] = more.of[k][axis];
  }
  return out;
}
template <class Net, class ModelPolicy, class First, bool Go, int N>
constexpr place::Shardings<N> shardings(place::Signatures<N> const& model, Letters<N> const& splits,
                                        place::Request request, int parts, int stages) {
  if constexpr (Go) {
    auto out =
        place::propagate_shardings(model, request.mesh, wishes<Net, ModelPolicy>(model, splits, request), request);
    auto const parted = place::partition(model, parts, First::of, First::count, stages);
    for (int k = 0; k < N; ++k) out.op[k].part = parted.part[k];
    return out;
  } else {
    return {};
  }
}
template <bool Go, int N>
constexpr place::Placed<N> placed(place::Signatures<N> const& model, place::Shardings<N> const& shardings,
                                  place::Request request) {
  if constexpr (Go) {
    return place::place(model, shardings, request.mesh, request);
  } else {
    return {};
  }
}
/// Whether a layer from `first` on has weights.
template <int N> constexpr bool learns_above(place::Signatures<N> const& model, int first) {
  bool any = false;
  for (auto const& op : model.op) any |= op.weights > 0 && op.leaf >= first;
  return any;
}
/// Whether the factors of every group of weights are numbers from 0 on.
template <class Optimizer, int N> constexpr bool factors_from_zero(place::Signatures<N> const& model) {
  bool all = true;
  if constexpr (optim::HasGroups<Optimizer>) {
    for (auto const& op : model.op) {
      for (int w = 0; w < op.weights; ++w) {
        ParameterGroup const g = Optimizer::group(Parameter{op.leaf, op.name, w, op.w[w].shape});
        all &= g.rate >= 0 && g.decay >= 0 && g.rate <= std::numeric_limits<float>::max() &&
               g.decay <= std::numeric_limits<float>::max();
      }
    }
  }
  return all;
}

}  // namespace cleave::plan
