// predict/predictor.hpp - Predictor<Net>: a trained model as a function of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../data/arrays.hpp"
#include "../data/checks.hpp"
#include "../data/laws.hpp"
#include "../data/metrics.hpp"
#include "../data/preprocessing.hpp"
#include "../train/checkpoint.hpp"
#include "../train/torch_weights.hpp"
#include "../train/untrained.hpp"
#include "forward_blocks.hpp"
#include "laws.hpp"
#include "outputs.hpp"

namespace cleave {

namespace session {
template <class Net, class Number, class Machine> class DeviceBlocks;  // on_device.hpp
}

/// `Predictor<Net> predict("out/mine/checkpoint.safetensors"); std::vector<int> c = predict.classes(x);`
/// A model with the weights that any plan of it has saved: its splits, replicas, precision and optimizer do not matter.
/// Inputs are preprocessed as in training. n samples run as n / 32 blocks of 32, and the rest one by one or as a
/// block that is not full, whichever is faster; by our kernels a sample's output does not depend on its block. Memory
/// is weights and activations (`bytes`, a constant; each thread beyond the first takes `activation_bytes` more), and is
/// taken when it is made. Copies share the weights; a call is not const, so each thread of the caller has a copy of its
/// own. `Predictor<Net, int8>` (int8.hpp): with weights of Linear and Conv in 8 bits. `Predictor<Net, f32, Machine>`
/// (on_device.hpp): on a device.
template <class Net, class Number, class Machine> class Predictor {
  using Blocks = std::conditional_t<std::is_void_v<Machine>, session::ForwardBlocks<Net, Number>,
                                    session::DeviceBlocks<Net, Number, Machine>>;
  using Block = typename Blocks::Block;
  using A = typename Blocks::A;

  static_assert(!std::is_same_v<Number, fp8>,
                "Predictor: in fp8 a sample's output depends on those beside it; say Predictor<Net, bf16>, or int8");

 public:
  /// Samples that run at once.
  static constexpr int block = Blocks::block;
  /// Numbers of a sample's input, and of what the loss reads.
  static constexpr long inputs = Blocks::inputs, outputs = Blocks::outputs;
  /// Of these, that belong to one class of the answer: all, or those of a position (PerPosition<..., CrossEntropy>).
  static constexpr long width = Blocks::width;
  /// Which numbers of a sample are tokens.
  static constexpr session::TokenInputs tokens = session::token_inputs_of<Block>;
  /// Of the tokens that the model reads alone; 0: it reads numbers.
  static constexpr int vocabulary = Blocks::Block::tokens.vocabulary;
  /// Of weights and activations: the weights once, whatever the number of copies.
  static constexpr long weight_bytes = Blocks::memory.bytes[static_cast<int>(schedule::Category::Weights)],
                        activation_bytes = Blocks::activation_bytes, bytes = weight_bytes + activation_bytes;

  /// Loads a checkpoint. Throws Error if a tensor is missing or has another shape, or if a number is not finite.
  explicit Predictor(std::string const& file, PredictorOptions const& how = {})
      : Predictor(io::load_safetensors(file), file, how.threads) {}
  /// Loads a safetensors file of PyTorch, of whose modules all layers with weights have a name; inputs are not scaled.
  Predictor(std::string const& file, TorchNames const& names, PredictorOptions const& how = {})
      : Predictor(session::Preprocessing{}, how.threads) {
    session::Description const& plan = session::description<Block>;
    std::size_t all = 0, read = 0;
    for (session::Kept const& k : session::kept(plan)) all += k.region != backend::host::Region::Moments;
    session::read_torch<A>(plan, file, names, [&](session::Kept const& k, std::vector<A> const& values) {
      blocks_.write(k, values.data());
      ++read;
    });
    if (read < all) throw Error({file, ": ", all - read, " tensors of this model are of layers behind the last name"});
    blocks_.ready();
  }
  /// The weights that a trainer has now, and its scaling of inputs.
  template <class Trained>
  requires requires { typename Trained::plan; }
  explicit Predictor(Trained& trainer, PredictorOptions const& how = {})
      : Predictor(preprocessing_of(trainer), how.threads) {
    static_assert(session::is_of_model<Net, typename Trained::plan::Net>, "Predictor: the trainer is of another model");
    std::vector<session::Kept> const own = session::kept<Block>(),
                                     theirs = session::kept(session::description_of(trainer));
    for (session::Kept const& to : own) {
      auto const from =
          std::find_if(theirs.begin(), theirs.end(), [&](session::Kept const& k) { return k.name == to.name; });
      auto const values = session::whole(trainer, *from);
      blocks_.write(to, values.data());
    }
    session::meet(trainer);
    blocks_.ready();
  }
  /// Saves weights, running statistics and preprocessing, in this predictor's format, to load them as one: with int8 a
  /// quarter of the bytes. Throws Error.
  void save(std::string const& path) const {
    io::Metadata about{{"cleave", version}};
    std::vector<io::NamedTensor> tensors;
    std::vector<session::EightBitWeight> packed;
    std::vector<session::Kept> const all = session::kept<Block>();
    packed.reserve(all.size());
    auto const add = [&](std::string name, io::Dtype dtype, std::vector<std::size_t> shape, auto const* values,
                         std::size_t n) {
      tensors.push_back({std::move(name),
                         dtype,
                         std::move(shape),
                         {reinterpret_cast<unsigned char const*>(values), n * sizeof *values}});
    };
    for (session::Kept const& k : all) {
      auto const n = static_cast<std::size_t>(k.shape.size());
      if (A const* const values = blocks_.read(k)) {
        add(k.name, sizeof(A) == 8 ? io::Dtype::F64 : io::Dtype::F32, session::extents(k.shape), values, n);
      } else if constexpr (Blocks::packs) {
        session::EightBitWeight const& w = packed.emplace_back(blocks_.read_packed(k));
        add(k.name, io::Dtype::I8, session::extents(k.shape), w.values.data(), n);
        add(k.name + scale_name, io::Dtype::F32, {w.scales.size()}, w.scales.data(), w.scales.size());
      }
    }
    session::add_preprocessing(blocks_.preprocessing(), tensors, about);
    io::save_safetensors(path, tensors, about);
  }
  /// x (n, inputs): what the loss reads, (n, outputs). Throws Error if x is no whole number of samples.
  std::vector<float> operator()(std::span<float const> x) {
    std::vector<float> out(session::samples_of(x, inputs) * static_cast<std::size_t>(outputs));
    session::check_tokens(x, inputs, tokens);
    blocks_.run(x, out.data());
    return out;
  }
  /// The same into `out` (n, outputs); allocates nothing with one thread.
  void operator()(std::span<float const> x, std::span<float> out) {
    std::size_t const n = session::samples_of(x, inputs);
    if (out.size() != n * static_cast<std::size_t>(outputs))
      throw Error({"predict: room for ", out.size(), " outputs, but ", n, " samples have ",
                   n * static_cast<std::size_t>(outputs)});
    session::check_tokens(x, inputs, tokens);
    blocks_.run(x, out.data());
  }
  /// Of each class, or label, (n, outputs): the softmax of each `width` outputs for CrossEntropy, the sigmoid of each
  /// for BinaryCrossEntropy. Throws Error if an output is not a number.
  std::vector<float> probabilities(std::span<float const> x) {
    return session::probabilities_of<Net>((*this)(x), outputs, width);
  }
  /// The class of each sample or position: that of its largest output. For CrossEntropy. Throws Error as above.
  std::vector<int> classes(std::span<float const> x) { return session::classes_of<Net>((*this)(x), outputs, width); }
  /// Metrics (data/metrics.hpp) of all samples, x (n, inputs) with their classes or (n, outputs) targets y:
  /// `predict.evaluate(x, y, Accuracy{}).value()`, `auto [top1, top5] = predict.evaluate(x, y, Accuracy{},
  /// TopKAccuracy<5>{});`. Throws Error if sizes, labels or targets do not fit.
  template <class... Metrics> auto evaluate(std::span<float const> x, std::span<int const> y, Metrics... metrics) {
    constexpr bool fits = (ClassMetric<Metrics> && ...);
    static_assert(fits,
                  "evaluate: with classes a metric takes outputs and an int: Accuracy, TopKAccuracy<k>, "
                  "ConfusionMatrix, MacroF1, MeanIou");
    check_metrics<false, Metrics...>();
    return measure(arrays(x, y, {}), metrics...);
  }
  template <class... Metrics> auto evaluate(std::span<float const> x, std::span<float const> y, Metrics... metrics) {
    constexpr bool fits = (TargetMetric<Metrics> && ...);
    static_assert(fits,
                  "evaluate: with targets a metric takes outputs and targets: MeanAbsoluteError, "
                  "RootMeanSquaredError; with labels of 0 and 1: Accuracy, MacroF1, MeanIou");
    check_metrics<true, Metrics...>();
    return measure(arrays(x, {}, y), metrics...);
  }
  /// Of all samples of a data set (data/dataset.hpp): `predict.evaluate(test, Accuracy{})`.
  template <Dataset D, class... Metrics> auto evaluate(D const& all, Metrics... metrics) {
    constexpr auto wanted = lower::wanted<Block>();
    using law = session::law_of_data<typename Net::input, D, wanted.outputs, wanted.labels,
                                     wanted.target != op::Target::Numbers, wanted.target != op::Target::Class, true>;
    static_assert(sizeof(typename law::template tell<law::holds>) > 0);
    constexpr bool fits = ClassDataset<D> ? (ClassMetric<Metrics> && ...) : (TargetMetric<Metrics> && ...);
    static_assert(fits, "evaluate: of classes a metric takes outputs and an int; of values, outputs and targets");
    check_metrics<!ClassDataset<D>, Metrics...>();
    session::check_padding("evaluate", all, typename Block::ops{});
    return measure(session::source_of(all), metrics...);
  }
  /// Of samples of which only a run knows whether they have classes or targets. Throws Error if a metric is of the
  /// other.
  template <class... Metrics> auto evaluate(session::SampleSource const& all, Metrics... metrics) {
    constexpr bool fits = lower::wanted<Block>().target == op::Target::Class
                              ? (ClassMetric<Metrics> && ...)
                              : ((ClassMetric<Metrics> || TargetMetric<Metrics>)&&...);
    static_assert(fits, "evaluate: of classes a metric takes outputs and an int; of values, outputs and targets");
    if (!(all.has_labels() ? (ClassMetric<Metrics> && ...) : (TargetMetric<Metrics> && ...)))
      throw Error({"evaluate: the samples have ", (all.has_labels() ? "classes" : "targets"),
                   ", and a metric takes the other kind"});
    return measure(all, metrics...);
  }
  /// The name of each sample's class. Throws Error if the file has no class names.
  std::vector<std::string> names(std::span<float const> x) { return session::names_of(classes(x), class_names()); }
  /// Those of the training data, in the order of their numbers; empty if these had none.
  std::vector<std::string> const& class_names() const { return blocks_.preprocessing().class_names; }

 private:
  Predictor(session::Preprocessing preprocessing, int threads) : blocks_(std::move(preprocessing), threads) {}
  Predictor(io::SafeTensors const& file, std::string const& path, int threads)
      : Predictor(session::saved_preprocessing(file, path).value_or(session::Preprocessing{}), threads) {
    for (session::Kept const& k : session::kept<Block>()) {
      if constexpr (Blocks::packs) {
        if (read_packed(file, path, k)) continue;
      }
      std::vector<A> values(static_cast<std::size_t>(k.shape.size()));
      session::read_tensor(file, path, k, values.data());
      blocks_.write(k, values.data());
    }
    blocks_.ready();
  }

  static constexpr auto scale_name = "_scale";  // behind that of a weight of 8 bits
  /// Whether the file has the tensor in 8 bits.
  bool read_packed(io::SafeTensors const& file, std::string const& path, session::Kept const& k) {
    io::NamedTensor const* const t = file.find(k.name);
    session::Packing const* const packing = Blocks::packing_of(k);
    if (!t || !packing || t->dtype != io::Dtype::I8) return false;
    session::EightBitWeight w;
    w.scales.resize(static_cast<std::size_t>(packing->outputs));
    session::read_tensor(file, path, {k.name + scale_name, Shape(packing->outputs), {}}, w.scales.data());
    if (t->shape != session::extents(k.shape))
      throw Error({path, ": tensor ", k.name, " has another shape than this model's"});
    w.values.resize(t->bytes.size());
    std::memcpy(w.values.data(), t->bytes.data(), t->bytes.size());
    blocks_.write(k, w);
    return true;
  }
  /// Whether a metric's k outputs are not all of them.
  template <class M> static constexpr bool chooses() {
    if constexpr (requires { M::k; }) return M::k < width;
    return true;
  }
  template <class M>
  static constexpr bool is_of_labels =
      std::is_same_v<M, Accuracy> || std::is_same_v<M, MacroF1> || std::is_same_v<M, MeanIou>;
  template <bool OfValues, class... Metrics> static constexpr void check_metrics() {
    static_assert((chooses<Metrics>() && ...),
                  "evaluate: TopKAccuracy<k> is always 1 for a model with no more than k outputs; say a smaller k");
    constexpr bool labels = !OfValues || session::loss_of<Net>::loss_target == op::Target::Shares;
    static_assert(
        labels || !(is_of_labels<Metrics> || ...),
        "evaluate: with values, Accuracy, MacroF1 and MeanIou are of a model that ends with BinaryCrossEntropy; of "
        "another take MeanAbsoluteError or RootMeanSquaredError");
  }
  template <class Trained> static session::Preprocessing preprocessing_of(Trained const& trainer) {
    if constexpr (requires { trainer.preprocessing(); }) return trainer.preprocessing();
    return {};
  }
  static session::SampleSource arrays(std::span<float const> x, std::span<int const> labels,
                                      std::span<float const> targets) {
    constexpr backend::host::Wanted wanted = lower::wanted<Block>();
    session::Arrays const all = session::arrays_of(x, labels, targets, inputs, wanted.outputs, wanted.labels);
    session::check_inputs(all, tokens);
    session::check_labels("y", all, wanted);
    session::check_targets("y", all, wanted);
    return session::source_of(all);
  }
  /// Adds samples in their order, whatever the number of threads.
  template <class... Metrics> auto measure(session::SampleSource const& all, Metrics&... metrics) {
    session::check_class_names(class_names(), all.class_names);
    session::SampleCheck const check{lower::wanted<Block>(), tokens};
    constexpr auto in = static_cast<std::size_t>(inputs), out = static_cast<std::size_t>(outputs);
    auto const n = static_cast<std::size_t>(all.size()), each = static_cast<std::size_t>(all.outputs);
    std::size_t const at_once = std::min(n, 8 * static_cast<std::size_t>(block) * blocks_.threads());
    std::vector<float> x(at_once * in), y(at_once * out), targets(at_once * each);
    constexpr auto positions = static_cast<std::size_t>(outputs / width);
    std::vector<int> labels(at_once * positions);
    for (std::size_t first = 0; first < n; first += at_once) {
      std::size_t const count = std::min(at_once, n - first);
      for (std::size_t i = 0; i < count; ++i) {
        auto const sample = static_cast<long>(first + i);
        all.read(sample, nullptr, &x[i * in], &labels[i * positions], targets.data() + i * each);
        if (!all.checked) check(all, sample, &x[i * in], &labels[i * positions], targets.data() + i * each);
      }
      blocks_.run(std::span<float const>(x).first(count * in), y.data());
      for (std::size_t i = 0; i < count; ++i) {
        std::span<float const> const of(&y[i * out], out);
        if (all.has_labels()) {
          if constexpr ((ClassMetric<Metrics> && ...)) {
            for (std::size_t p = 0; p < positions; ++p)
              if (positions == 1 || labels[i * positions + p] != op::ignored)
                (metrics.add(of.subspan(p * width, width), labels[i * positions + p]), ...);
          }
        } else {
          if constexpr ((TargetMetric<Metrics> && ...))
            (metrics.add(of, std::span<float const>(&targets[i * each], each)), ...);
        }
      }
    }
    if constexpr (sizeof...(Metrics) == 1) {
      return std::get<0>(std::tuple(std::move(metrics)...));
    } else {
      return std::tuple(std::move(metrics)...);
    }
  }

  Blocks blocks_;
};
template <class Net, class Number, class Machine>
requires(!session::Predicted<Net, Number>) class Predictor<Net, Number, Machine> : public session::Unpredicted {
  static_assert(sizeof(meta::enforce<session::a_predictor_is_given_a_model<!session::IsPlan<Net>>, Net>) > 0);

 public:
  using session::Unpredicted::Unpredicted;
};

template <class P, class Self>
Predictor<typename P::Net, typename P::number> session::SampleTraining<P, Self>::predictor(
    PredictorOptions const& how) {
  return Predictor<typename P::Net, typename P::number>(self(), how);
}

}  // namespace cleave
