// report/callback.hpp - callbacks of `fit`: functions, and objects with members of certain names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "history.hpp"

namespace cleave {

namespace session {
template <class C>
concept begins_with = requires(C& c, FitStart const& start) {
  c.begin(start);
};
template <class C>
concept takes_epochs = std::invocable<C&, Epoch const&>;
/// A generic function takes epochs, and is not asked for steps, which lack members of an epoch.
template <class C>
concept takes_steps = (!takes_epochs<C>)&&std::invocable<C&, TrainedStep const&>;
template <class C>
concept hears_steps = requires(C& c, TrainedStep const& step) {
  c.step(step);
};
template <class C>
concept hears_epochs = requires(C& c, Epoch const& epoch) {
  c.epoch(epoch);
};
template <class C>
concept adds_figures = requires(C& c, Epoch& epoch) {
  c.measure(epoch);
};
template <class C>
concept ends_with = requires(C& c, History const& history) {
  c.end(history);
};
}  // namespace session

/// What `fit` calls as it trains: a function of an `Epoch const&` (or of `auto const&`) or of a `TrainedStep const&`,
/// or an object with one or more of the members
///
///     void begin(FitStart const&);      // before the first step
///     bool step(TrainedStep const&);    // after each step
///     void measure(Epoch&);             // after each epoch, before all `epoch`: adds to what is `measured`
///     bool epoch(Epoch const&);         // after each epoch, with what is held out
///     void end(History const&);         // in the end, with the weights that the trainer has then
///     int every() const;                // so many steps of an epoch, and the rest at its end, are one step; 0: none
///
/// `step`, `epoch` and functions return nothing, or whether the training ends. Weights are those after that step or
/// epoch. What a callback throws ends the training, and leaves `fit`. Of several processes each has the
/// same callbacks, and all end if one says so.
template <class C>
concept Callback = session::takes_epochs<C> || session::takes_steps<C> || session::begins_with<C> ||
    session::hears_steps<C> || session::adds_figures<C> || session::hears_epochs<C> || session::ends_with<C>;

namespace session {

template <class A> inline constexpr bool is_answer = std::is_void_v<A> || std::same_as<A, bool>;
/// Whether all of a callback's functions return nothing, or a bool.
template <class C> constexpr bool answers() {
  bool right = true;
  if constexpr (takes_epochs<C>) right = is_answer<std::invoke_result_t<C&, Epoch const&>>;
  if constexpr (takes_steps<C>) right = is_answer<std::invoke_result_t<C&, TrainedStep const&>>;
  if constexpr (hears_steps<C>)
    right = right && is_answer<decltype(std::declval<C&>().step(std::declval<TrainedStep const&>()))>;
  if constexpr (hears_epochs<C>)
    right = right && is_answer<decltype(std::declval<C&>().epoch(std::declval<Epoch const&>()))>;
  return right;
}

/// A function of a class by one of these names takes what `fit` gives it; else it would never be called.
template <auto Member> inline constexpr bool is_function = std::is_member_function_pointer_v<decltype(Member)>;
template <class C> constexpr bool named_right() {
  bool right = true;
  if constexpr (requires { &C::begin; }) right = right && (!is_function<&C::begin> || begins_with<C>);
  if constexpr (requires { &C::step; }) right = right && (!is_function<&C::step> || hears_steps<C>);
  if constexpr (requires { &C::measure; }) right = right && (!is_function<&C::measure> || adds_figures<C>);
  if constexpr (requires { &C::epoch; }) right = right && (!is_function<&C::epoch> || hears_epochs<C>);
  if constexpr (requires { &C::end; }) right = right && (!is_function<&C::end> || ends_with<C>);
  if constexpr (requires { &C::every; }) right = right && requires(C & c) {
      int{c.every()};
    };
  return right;
}

/// Any callback.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void begin(FitStart const&) {}
  virtual bool step(TrainedStep) { return false; }
  virtual void measure(Epoch&) {}
  virtual bool epoch(Epoch const&) { return false; }
  virtual void end(History const&) {}
  /// Whether it is called for steps; and after how many more.
  virtual bool hears() const { return false; }
  virtual int next() const { return 0; }
};

/// Of an lvalue, C is a reference.
template <class C> class ListenerOf final : public Listener {
  using Told = std::remove_reference_t<C>;
  static constexpr bool takes_epoch = takes_epochs<Told>, takes_step = takes_steps<Told>;

 public:
  explicit ListenerOf(C&& told) : told_(std::forward<C>(told)) {}
  void begin(FitStart const& start) override {
    if constexpr (begins_with<Told>) told_.begin(start);
  }
  bool step(TrainedStep step) override {
    step.loss = (step.loss * step.steps + untold_.loss * untold_.steps) / (step.steps + untold_.steps);
    step.steps += untold_.steps;
    untold_ = step;
    return next() <= 0 && tell();
  }
  void measure([[maybe_unused]] Epoch& epoch) override {
    if constexpr (adds_figures<Told>) told_.measure(epoch);
  }
  bool epoch([[maybe_unused]] Epoch const& epoch) override {
    bool const ends_by_step = untold_.steps > 0 && tell();
    return told_of(epoch) || ends_by_step;
  }
  void end(History const& history) override {
    if constexpr (ends_with<Told>) told_.end(history);
  }
  bool hears() const override { return every() > 0; }
  int next() const override { return every() - untold_.steps; }

 private:
  bool told_of([[maybe_unused]] Epoch const& epoch) {
    if constexpr (takes_epoch) return ends([&] { return told_(epoch); });
    if constexpr (hears_epochs<Told>) return ends([&] { return told_.epoch(epoch); });
    return false;
  }
  template <class Call> static bool ends(Call call) {
    if constexpr (std::same_as<std::invoke_result_t<Call>, bool>) return call();
    call();
    return false;
  }
  int every() const {
    if constexpr (takes_step) return 1;
    if constexpr (hears_steps<Told>) {
      if constexpr (requires { told_.every(); }) return told_.every();
      return 1;
    }
    return 0;
  }
  bool tell() {
    [[maybe_unused]] TrainedStep const step = std::exchange(untold_, TrainedStep{.steps = 0});
    if constexpr (takes_step) return ends([&] { return told_(step); });
    if constexpr (hears_steps<Told>) return ends([&] { return told_.step(step); });
    return false;
  }
  C told_;
  TrainedStep untold_{.steps = 0};
};

/// The callbacks of one call of `fit`. Those that have a name are not copied.
class Watch {
 public:
  Watch() = default;
  template <class... C>
  requires(sizeof...(C) > 0 && (!std::same_as<std::remove_cvref_t<C>, Watch> && ...)) Watch(C&&... told) {
    constexpr bool callbacks = (Callback<std::remove_reference_t<C>> && ...);
    static_assert(callbacks,
                  "fit: a callback is a function of an Epoch or of a TrainedStep, or an object with a member begin, "
                  "step, measure, epoch or end that takes a FitStart, a TrainedStep, an Epoch or a History");
    constexpr bool named = !callbacks || (named_right<std::remove_cvref_t<C>>() && ...);
    static_assert(
        named,
        "fit: a member function begin, step, epoch or end of a callback takes a FitStart, a TrainedStep, an Epoch "
        "or a History by const reference, measure an Epoch by reference, and every() gives an int");
    constexpr bool answer = !callbacks || !named || (answers<std::remove_reference_t<C>>() && ...);
    static_assert(answer, "fit: a callback of steps or epochs returns nothing, or a bool: whether the training ends");
    if constexpr (callbacks && named && answer) (add(std::forward<C>(told)), ...);
  }
  template <Callback C> void add(C&& told) { all_.push_back(std::make_shared<ListenerOf<C>>(std::forward<C>(told))); }

  void begin(FitStart const& start) const {
    for (auto const& one : all_) one->begin(start);
  }
  /// Whether the training ends.
  bool step(TrainedStep const& step) const {
    return any([&](Listener& one) { return one.hears() && one.step(step); });
  }
  void measure(Epoch& epoch) const {
    for (auto const& one : all_) one->measure(epoch);
  }
  bool epoch(Epoch const& epoch) const {
    return any([&](Listener& one) { return one.epoch(epoch); });
  }
  void end(History const& history) const {
    for (auto const& one : all_) one->end(history);
  }
  /// Whether any is called for steps; and after how many more the first of them.
  bool hears() const {
    return std::any_of(all_.begin(), all_.end(), [](auto const& one) { return one->hears(); });
  }
  int next() const {
    int least = std::numeric_limits<int>::max();
    for (auto const& one : all_) {
      if (one->hears()) least = std::clamp(one->next(), 1, least);
    }
    return least;
  }

 private:
  template <class Call> bool any(Call call) const {
    bool ends = false;
    for (auto const& one : all_) ends = call(*one) || ends;
    return ends;
  }
  std::vector<std::shared_ptr<Listener>> all_;
};

}  // namespace session
}  // namespace cleave
