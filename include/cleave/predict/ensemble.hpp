// predict/ensemble.hpp - Ensemble<A, B, ...>: trained models of different types that answer together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <exception>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "predictor.hpp"

namespace cleave {

namespace session {
template <class Predicts> inline constexpr bool answers_with_classes = false;
template <class Net, class... Formats>
inline constexpr bool answers_with_classes<Predictor<Net, Formats...>> = loss_of<Net>::loss_target == op::Target::Class;
}  // namespace session

/// `Ensemble answer(Predictor<Wide>("wide.safetensors"), Predictor<Deep>("deep.safetensors"));`: models with the same
/// inputs and classes. Each computes in a thread of its own. A probability is the mean of those of the models, a class
/// that with the largest probability.
template <class... Predictors> class Ensemble {
  using First = std::tuple_element_t<0, std::tuple<Predictors...>>;
  static_assert(((Predictors::inputs == First::inputs && Predictors::outputs == First::outputs &&
                  Predictors::width == First::width) &&
                 ...),
                "Ensemble: the models have other inputs or outputs; give models of the same samples and classes");
  static_assert((session::answers_with_classes<Predictors> && ...),
                "Ensemble: each model ends with CrossEntropy; of others take the mean of their outputs");

 public:
  static constexpr long inputs = First::inputs, outputs = First::outputs, width = First::width;
  static constexpr int size = sizeof...(Predictors);

  explicit Ensemble(Predictors... members) : members_(std::move(members)...) {
    std::apply([this](auto const&... m) { (check_names(m.class_names()), ...); }, members_);
  }

  /// Of each class, x (n, inputs), (n, outputs). Throws Error if an output is not a number.
  std::vector<float> probabilities(std::span<float const> x) {
    std::vector<std::vector<float>> each(size);
    in_threads(std::index_sequence_for<Predictors...>{},
               [&](auto& member, std::size_t m) { each[m] = member.probabilities(x); });
    std::vector<float> mean(each[0].size());
    for (auto const& p : each)
      for (std::size_t i = 0; i < p.size(); ++i) mean[i] += p[i];
    for (float& v : mean) v /= static_cast<float>(size);
    return mean;
  }
  /// (n)
  std::vector<int> classes(std::span<float const> x) { return session::largest_of(probabilities(x), outputs, width); }
  std::vector<std::string> names(std::span<float const> x) { return session::names_of(classes(x), class_names()); }
  std::vector<std::string> const& class_names() const { return std::get<0>(members_).class_names(); }
  /// A metric of classes, of all samples: `answer.evaluate(x, y, Accuracy{})`, of the probabilities.
  template <ClassMetric Metric> Metric evaluate(std::span<float const> x, std::span<int const> y, Metric metric) {
    std::vector<float> const p = probabilities(x);
    constexpr auto each = static_cast<std::size_t>(width);
    if (y.size() * each != p.size())
      throw Error({"y: ", y.size(), " labels for ", p.size() / each, (outputs > width ? " positions" : " samples")});
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (outputs == width || y[i] != op::ignored) metric.add(std::span(p).subspan(i * each, each), y[i]);
    }
    return metric;
  }

 private:
  void check_names(std::vector<std::string> const& names) const {
    if (names != class_names())
      throw Error("Ensemble: the models were trained with other class names, or another order");
  }
  /// Rethrows the first exception.
  template <std::size_t... M, class F> void in_threads(std::index_sequence<M...>, F f) {
    std::vector<std::exception_ptr> failed(size);
    auto const run = [&](auto& member, std::size_t m) {
      try {
        f(member, m);
      } catch (...) {
        failed[m] = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    try {
      ((M > 0 ? void(threads.emplace_back([&] { run(std::get<M>(members_), M); })) : void()), ...);
    } catch (std::system_error const&) {
      for (std::thread& t : threads) t.join();
      throw Error({"Ensemble: cannot start ", size - 1, " threads"});
    }
    run(std::get<0>(members_), 0);
    for (std::thread& t : threads) t.join();
    for (std::exception_ptr const& e : failed)
      if (e) std::rethrow_exception(e);
  }

  std::tuple<Predictors...> members_;
};

}  // namespace cleave
