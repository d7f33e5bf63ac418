// python.hpp - CLEAVE_PYTHON_MODULE(name, Train): a plan as a Python module. Needs nanobind (target cleave::python).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "predict/predictor.hpp"
#include "report/json_lines.hpp"
#include "report/progress.hpp"
#include "schedule/listing.hpp"
#include "train/checkpoint.hpp"
#include "train/pretrained.hpp"
#include "train/report.hpp"
#include "train/torch_weights.hpp"
#include "train/trainer.hpp"

namespace cleave::python {

namespace nb = nanobind;

/// Any array on the host that DLPack or the buffer protocol describes: of NumPy, PyTorch, JAX. It is never written.
using Given = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
/// f(pointer to its elements); false: of a type that is not read.
template <class F> bool elements(Given const& a, F f) {
  auto const as = [&]<class T>(T const* p) {
    if (a.dtype() != nb::dtype<T>()) return false;
    f(p);
    return true;
  };
  void const* const p = a.data();
  return as(static_cast<float const*>(p)) || as(static_cast<double const*>(p)) ||
         as(static_cast<std::int64_t const*>(p)) || as(static_cast<std::int32_t const*>(p)) ||
         as(static_cast<std::int16_t const*>(p)) || as(static_cast<std::int8_t const*>(p)) ||
         as(static_cast<std::uint8_t const*>(p)) || as(static_cast<bool const*>(p));
}
inline std::string shape_of(Given const& a) {
  std::string out = "(";
  for (std::size_t d = 0; d < a.ndim(); ++d) meta::append(out, {d > 0 ? ", " : "", a.shape(d)});
  return out + ")";
}

/// Numbers as f32: those of a f32 array where they are, others are copied.
class Floats {
 public:
  /// (n, ...), `each` numbers a sample. Throws Error, which names the array, if it is another.
  Floats(char const* name, Given const& a, long each) {
    if (a.ndim() == 0 || a.size() != a.shape(0) * static_cast<std::size_t>(each))
      throw Error({name, ": an array of shape ", shape_of(a), ", not (n, ", each, ")", each == 1 ? " or (n)" : ""});
    bool const read = elements(a, [&]<class T>(T const* p) {
      if constexpr (std::is_same_v<T, float>) {
        values_ = {p, a.size()};
      } else {
        for (std::size_t i = 0; i < a.size(); ++i) copied_.push_back(static_cast<float>(p[i]));
        values_ = copied_;
      }
    });
    if (!read) throw Error({name, ": an array of an element type that is not read; give it as float32"});
  }
  operator std::span<float const>() const { return values_; }

 private:
  std::vector<float> copied_;
  std::span<float const> values_;
};
/// Classes (n), or (n, positions), whole numbers; of a position that does not count, -1.
inline std::vector<int> classes_of(Given const& a, int positions) {
  if (a.ndim() == 0 || a.size() != a.shape(0) * static_cast<std::size_t>(positions))
    throw Error({"y: an array of shape ", shape_of(a), ", not (n",
                 (positions > 1 ? ", " + std::to_string(positions) : ""), "): one class a ",
                 positions > 1 ? "position" : "sample"});
  long const least = positions > 1 ? op::ignored : 0;
  std::vector<int> out;
  bool const read = elements(a, [&]<class T>(T const* p) {
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (static_cast<long>(p[i]) > std::numeric_limits<int>::max() || static_cast<long>(p[i]) < least)
          throw Error({"y, sample ", i / static_cast<std::size_t>(positions), ": label ", static_cast<long>(p[i]),
                       " is no class"});
        out.push_back(static_cast<int>(p[i]));
      }
    }
  });
  if (!read || out.size() != a.size()) throw Error("y: classes are whole numbers; give them as an array of integers");
  return out;
}

/// As NumPy's array, which owns the values: (n, extents).
template <class T> nb::ndarray<nb::numpy, T> array_of(std::vector<T> values, std::vector<long> const& extents) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule const owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  std::vector<std::size_t> shape{kept->size()};
  for (long const n : extents) {
    shape[0] /= static_cast<std::size_t>(n);
    shape.push_back(static_cast<std::size_t>(n));
  }
  return nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner);
}
/// Positions of a model that compares each, for which a sample has labels.
template <class F> std::vector<long> positions_of() {
  constexpr long positions = F::outputs / F::width;
  return positions > 1 ? std::vector<long>{positions} : std::vector<long>{};
}
template <class F> std::vector<long> outputs_of() {
  std::vector<long> extents = positions_of<F>();
  extents.push_back(F::width);
  return extents;
}

inline TorchNames names_of(std::map<int, std::string> const& names) {
  TorchNames out;
  for (auto const& [layer, module] : names) out.push_back({layer, module});
  return out;
}

/// Called after each epoch, with Python's lock: exceptions of the caller's function end the training.
inline auto watching(nb::object const& watch) {
  return [&watch](Epoch const& epoch) {
    nb::gil_scoped_acquire const lock;
    if (watch.is_none()) return false;
    nb::object const answer = watch(epoch);
    return !answer.is_none() && nb::cast<bool>(answer);
  };
}

/// Ctrl-C ends a training within about a quarter of a second, in an epoch too.
class Interrupts {
 public:
  int every() const { return pace_.next(); }
  void step(TrainedStep const& made) {
    auto const now = std::chrono::steady_clock::now();
    pace_.took(made.steps, std::chrono::duration<double>(now - last_).count());
    last_ = now;
    nb::gil_scoped_acquire const lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

 private:
  session::Pace pace_{.most = 1024};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

inline Monitor monitor_of(std::string const& name, std::string const& best) {
  if (best != "lowest" && best != "highest")
    throw Error({"fit: best is \"lowest\" or \"highest\", not \"", best, "\""});
  return {name, best == "highest" ? Better::Higher : Better::Lower};
}

inline void bind_history(nb::module_& m) {
  nb::class_<Epoch>(m, "Epoch", "One epoch of a training. What is not known is nan.")
      .def_ro("epoch", &Epoch::epoch, "counted from 1")
      .def_ro("steps", &Epoch::steps, "of the trainer so far")
      .def_ro("loss", &Epoch::loss, "mean over the epoch's steps, as the weights changed")
      .def_ro("val_loss", &Epoch::val_loss, "over the samples held out")
      .def_ro("val_accuracy", &Epoch::val_accuracy, "the same, of classes or of labels of 0 and 1")
      .def_ro("seconds", &Epoch::seconds, "so far");
  nb::class_<History>(m, "History", "What Trainer.fit has done.")
      .def_ro("epochs", &History::epochs)
      .def_ro("stopped_early", &History::stopped_early, "before the last of its epochs")
      .def_prop_ro("best", &History::best, "The best epoch by the monitor; without validation, by the loss.");
  nb::class_<backend::host::Score>(m, "Score", "Over all samples of an evaluation.")
      .def_ro("loss", &backend::host::Score::loss, "mean")
      .def_ro("accuracy", &backend::host::Score::accuracy, "of classes, or of labels of 0 and 1; else nan")
      .def_ro("samples", &backend::host::Score::samples);
}

/// Which y the loss of a model takes.
template <class Net> constexpr bool takes_classes = session::loss_of<Net>::loss_target == op::Target::Class;

/// f(x, y), without Python's lock.
template <class Net, class F> auto on_samples(Given const& x, Given const& y, F f) {
  Floats const inputs("x", x, Net::input::shape.size());
  if constexpr (takes_classes<Net>) {
    std::vector<int> const classes = classes_of(y, static_cast<int>(Predictor<Net>::outputs / Predictor<Net>::width));
    nb::gil_scoped_release const unlocked;
    return f(std::span<float const>(inputs), std::span<int const>(classes));
  } else {
    Floats const targets("y", y, Predictor<Net>::outputs);
    nb::gil_scoped_release const unlocked;
    return f(std::span<float const>(inputs), std::span<float const>(targets));
  }
}

template <class P> void bind_trainer(nb::module_& m) {
  using T = Trainer<P>;
  using Net = typename P::Net;
  using namespace nb::literals;
  nb::class_<T>(m, "Trainer", "Trains the module's plan; ranks are threads.")
      .def(
          "__init__", [](T* to, int replicas, std::uint64_t seed) { new (to) T({.replicas = replicas, .seed = seed}); },
          "replicas"_a = 0, "seed"_a = 1, "replicas: 0 for as many as the plan or this machine's cores make")
      .def(
          "fit",
          [](T& t, Given const& x, Given const& y, int epochs, double validation, int patience, bool standardise,
             nb::object const& watch, std::string const& checkpoint, bool progress, std::string const& log,
             std::string const& report, std::optional<float> rate, double save_seconds, std::string const& monitor,
             std::string const& best, std::optional<Given> const& sample_weights) {
            std::vector<float> of_samples;
            if (sample_weights) {
              Floats const values("sample_weights", *sample_weights, 1);
              std::span<float const> const all = values;
              of_samples.assign(all.begin(), all.end());
              if (all.empty()) throw Error({"fit: 0 .sample_weights for ", x.shape(0), " samples"});
            }
            FitOptions const how{.epochs = epochs,
                                 .validation = validation,
                                 .patience = patience,
                                 .standardise = standardise,
                                 .rate = rate ? std::optional(Rate::constant(*rate)) : std::nullopt,
                                 .checkpoint = checkpoint,
                                 .save_every = std::chrono::milliseconds(std::llround(save_seconds * 1000)),
                                 .sample_weights = std::move(of_samples),
                                 .monitor = monitor_of(monitor, best)};
            session::Watch told(watching(watch), Interrupts());
            if (progress) told.add(ProgressBar());
            if (!log.empty()) told.add(JsonLines(log));
            if (!report.empty()) told.add(Report(report, t));
            return on_samples<Net>(x, y, [&](auto in, auto out) { return t.fit(in, out, how, told); });
          },
          "x"_a, "y"_a, nb::kw_only(), "epochs"_a = 1, "validation"_a = 0.0, "patience"_a = 0, "standardise"_a = false,
          "watch"_a = nb::none(), "checkpoint"_a = "", "progress"_a = false, "log"_a = "", "report"_a = "",
          "rate"_a = nb::none(), "save_seconds"_a = 600.0, "monitor"_a = "val_loss", "best"_a = "lowest",
          "sample_weights"_a = nb::none(),
          "Trains on x (n, inputs) and y: classes (n) or (n, positions), or targets (n, outputs). watch(Epoch) is "
          "called after each epoch; if it returns True, the training ends. With validation, the weights of the epoch "
          "with the lowest val_loss are kept, or with the lowest or highest monitor. With checkpoint, the training is "
          "saved in that file after each epoch and every save_seconds; if it is there, the training continues from "
          "it. progress prints a line to stderr; log is a file with a line of JSON for each epoch; report is a page "
          "for a browser; rate is a constant one instead of the plan's. sample_weights (n) are for a model that "
          "ends with SampleWeighted.")
      .def(
          "evaluate",
          [](T& t, Given const& x, Given const& y) {
            return on_samples<Net>(x, y, [&](auto in, auto out) { return t.evaluate(in, out); });
          },
          "x"_a, "y"_a)
      .def("save", &T::save, "path"_a, nb::call_guard<nb::gil_scoped_release>(), "The whole state, as safetensors.")
      .def("load", &T::load, "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "load_weights", [](T& t, std::string const& path, int layers) { t.load_weights(path, layers); }, "path"_a,
          "layers"_a = std::numeric_limits<int>::max(), "Weights of the first layers, of any plan's checkpoint.")
      .def(
          "load_torch",
          [](T& t, std::string const& path, std::map<int, std::string> const& names) {
            t.load_torch(path, names_of(names));
          },
          "path"_a, "names"_a, "Weights of PyTorch, as safetensors; names: {layer: module}.")
      .def(
          "save_torch",
          [](T& t, std::string const& path, std::map<int, std::string> const& names) {
            t.save_torch(path, names_of(names));
          },
          "path"_a, "names"_a)
      .def("predictor", [](T& t) { return t.predictor(); })
      .def_prop_ro("steps", [](T const& t) { return t.steps(); })
      .def_prop_ro("replicas", [](T& t) { return t.ranks().replicas(); });
}

template <class P> void bind_predictor(nb::module_& m) {
  using F = Predictor<typename P::Net, typename P::number>;
  using Net = typename P::Net;
  using namespace nb::literals;
  auto const of = [](Given const& x, auto f) {
    Floats const inputs("x", x, F::inputs);
    nb::gil_scoped_release const unlocked;
    return f(std::span<float const>(inputs));
  };
  nb::class_<F> predictor(m, "Predictor", "A trained model as a function of x (n, inputs).");
  predictor
      .def(
          "__init__",
          [](F* to, std::string const& file, std::map<int, std::string> const& names, int threads) {
            PredictorOptions const how{.threads = threads};
            if (names.empty()) {
              new (to) F(file, how);
            } else {
              new (to) F(file, names_of(names), how);
            }
          },
          "file"_a, "names"_a = std::map<int, std::string>{}, "threads"_a = 1,
          "A checkpoint of any plan of the model; with names, {layer: module}, weights of PyTorch as safetensors.")
      .def(
          "__call__", [of](F& f, Given const& x) { return array_of(of(x, f), outputs_of<F>()); }, "x"_a,
          "What the loss reads, (n, outputs), or (n, positions, outputs of each).")
      .def_prop_ro("class_names", [](F const& f) { return f.class_names(); });
  predictor.attr("inputs") = F::inputs;
  predictor.attr("outputs") = F::outputs;
  predictor.attr("bytes") = F::bytes;
  using probable = session::law_of_probabilities<Net>;
  if constexpr (probable::holds) {
    predictor.def(
        "probabilities",
        [of](F& f, Given const& x) {
          return array_of(of(x, [&](auto in) { return f.probabilities(in); }), outputs_of<F>());
        },
        "x"_a, "Of each class, or label, (n, outputs), or (n, positions, outputs of each).");
  }
  if constexpr (session::law_of_classes<Net>::holds) {
    predictor
        .def(
            "classes",
            [of](F& f, Given const& x) {
              return array_of(of(x, [&](auto in) { return f.classes(in); }), positions_of<F>());
            },
            "x"_a, "The class of each sample, (n), or of each position, (n, positions).")
        .def(
            "names", [of](F& f, Given const& x) { return of(x, [&](auto in) { return f.names(in); }); }, "x"_a,
            "The name of each sample's class.");
  }
}

template <class P> std::string listed(int replicas) {
  auto const ranks = P::ranks_of(replicas);
  return schedule::listing<P>(ranks) + schedule::summary<P>(ranks);
}
template <class P> void bind(nb::module_& m) {
  nb::exception<Error>(m, "Error", PyExc_RuntimeError);
  bind_history(m);
  bind_trainer<P>(m);
  bind_predictor<P>(m);
  m.def(
      "plan", [](int replicas) { return listed<P>(replicas); }, nb::arg("replicas") = 1,
      "The schedule, traffic and memory of a rank as text.");
}

}  // namespace cleave::python

/// The module `name`, which is that of the file too: Trainer, Predictor and what these return, for one plan.
#define CLEAVE_PYTHON_MODULE(name, ...) \
  NB_MODULE(name, m) { cleave::python::bind<__VA_ARGS__>(m); }
