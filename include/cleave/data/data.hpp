// data/data.hpp - the data that a program trains on: data classes, and the checks of their sets before training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "../io/cifar.hpp"
#include "../io/idx.hpp"
#include "../io/json_line.hpp"
#include "../io/standin.hpp"
#include "../lower/answers.hpp"
#include "batches.hpp"
#include "checks.hpp"
#include "token_inputs.hpp"

namespace cleave {

namespace session {

/// How inputs of a data class are preprocessed. Default: images are standardised (mean 0 and deviation 1 over the
/// training set), other samples are used as given.
enum class InputValues : unsigned char { AsGiven, Standardised };
template <class Data, class Set> constexpr InputValues inputs_of() {
  if constexpr (requires { Data::inputs; }) {
    return Data::inputs;
  } else {
    return std::is_same_v<Set, io::Images> ? InputValues::Standardised : InputValues::AsGiven;
  }
}
template <class Data> constexpr Variation variation_of() {
  if constexpr (requires { Data::variation; }) {
    return Data::variation;
  } else {
    return {};
  }
}

/// The word for samples of a set.
template <class Set> inline constexpr auto plural_of = std::is_same_v<Set, io::Images> ? "images" : "samples";

/// "accuracy 57.40 %", or "loss 0.0123" if there are no classes.
inline std::string text_of(backend::host::Score const& s) {
  char text[64];
  bool const classes = !std::isnan(s.accuracy);
  std::snprintf(text, sizeof text, classes ? "accuracy %.2f %%" : "loss %.6g", classes ? 100 * s.accuracy : s.loss);
  return text;
}
/// "accuracy", if there are classes, and "held_out_loss".
inline io::JsonLine& add_score(io::JsonLine& line, backend::host::Score const& s) {
  if (!std::isnan(s.accuracy)) line.add("accuracy", s.accuracy);
  return line.add("held_out_loss", s.loss);
}

/// The sets of a program, and the preprocessing of their inputs.
template <class Set> struct Sets {
  Set training, held_out;
  Preprocessing preprocessing;
};

/// Throws Error if what an Embedding reads is no token of its vocabulary.
inline void check_tokens(std::string const& name, auto const& set, TokenInputs const& tokens) {
  for (int i = 0; tokens.any() && i < set.count; ++i) {
    long k = 0;
    for (auto const x : set.input(i)) {
      int const vocabulary = tokens.vocabulary(k++);
      auto const token = static_cast<double>(x);
      if (vocabulary > 0 && !is_token(token, vocabulary))
        throw Error({name, ", sample ", i, ": number ", k - 1, " is ", no_token(token, vocabulary)});
    }
  }
}
/// What a plan needs of its data.
struct Needs {
  long values = 0;                // of a sample's input
  backend::host::Wanted answers;  // by the loss
  TokenInputs tokens{};
  int batch = 1;          // samples of a step
  bool as_given = false;  // the model knows padding, or tokens, by their numbers
};
/// Throws Error if a set does not fit the model. `name` is the set's.
template <class Set> void check_set(std::string const& name, Set const& set, InputValues inputs, Needs const& needs) {
  check_sizes(name, set);
  if (static_cast<long>(set.input(0).size()) != needs.values) {
    throw Error({name, ": samples of ", set.input(0).size(), " values, the model takes ", needs.values});
  }
  if (needs.answers.labels > 1)
    throw Error({name, ": a class for each sample, but the model compares each of ", needs.answers.labels,
                 " positions with a class; give it a data set whose Target is Class<n, positions>, by fit"});
  check_labels(name, set, needs.answers);
  if constexpr (std::is_same_v<Set, io::Samples>) check_targets(name, set, needs.answers);
  if ((needs.as_given || needs.tokens.any()) && inputs != InputValues::AsGiven)
    throw Error({name,
                 ": Embedding and Masking take numbers as they are, but the inputs are standardised; say in the data "
                 "class: static constexpr auto inputs = session::InputValues::AsGiven;"});
  check_tokens(name, set, needs.tokens);
}

/// A resumed run uses the preprocessing of its checkpoint `resume`; otherwise it follows from the training set.
template <class Set>
Preprocessing preprocessing_of(std::FILE* say, Set const& training, InputValues inputs, std::string const& resume) {
  Preprocessing own{{}, training.class_names};
  if (resume.empty()) {
    if (inputs == InputValues::Standardised) own.scaling = Scaling::of(training);
    return own;
  }
  std::optional<Preprocessing> saved = saved_preprocessing(resume);
  if (!saved) {
    if (inputs == InputValues::Standardised) own.scaling = Scaling::of(training);
    std::fprintf(say, "%s does not say how its inputs were scaled: %s\n", resume.c_str(),
                 inputs == InputValues::Standardised ? "means and deviations are taken from the training set"
                                                     : "they are taken as given");
    return own;
  }
  if (!saved->scaling.empty() && saved->scaling.mean.size() != static_cast<std::size_t>(training.channel_count())) {
    throw Error({resume, ": saved with inputs of ", saved->scaling.mean.size(), " channels, these have ",
                 training.channel_count(), "; resume with the same data"});
  }
  if (!saved->class_names.empty() && !own.class_names.empty() && saved->class_names != own.class_names) {
    std::fprintf(say, "%s was trained on other classes (%s, ...) than these (%s, ...)\n", resume.c_str(),
                 saved->class_names[0].c_str(), own.class_names[0].c_str());
  }
  if (saved->class_names.empty()) saved->class_names = std::move(own.class_names);
  return *std::move(saved);
}

/// Checks both sets of a data class of this name, leaves the first `limit` of the training set (0: all), and determines
/// the preprocessing of their inputs.
template <class Set>
void prepare_sets(std::FILE* say, Sets<Set>& s, std::string const& name, InputValues inputs, int limit,
                  std::string const& resume, Needs const& needs) {
  if (limit > 0) s.training.keep_first(limit);
  check_set(name + ", training set", s.training, inputs, needs);
  check_set(name + ", test set", s.held_out, inputs, needs);
  if constexpr (std::is_same_v<Set, io::Images>) {
    io::Images const &t = s.training, &h = s.held_out;
    auto const size = [](io::Images const& i) { return meta::joined({i.channels, " x ", i.height, " x ", i.width}); };
    if (size(t) != size(h)) throw Error({name, ": training images are ", size(t), ", test images ", size(h)});
  }
  if (s.training.count < needs.batch) {
    throw Error({name, ": ", s.training.count, " samples are fewer than one batch of ", needs.batch});
  }
  s.preprocessing = preprocessing_of(say, s.training, inputs, resume);
}
/// Reads both sets and prepares them.
template <class Data>
auto read_sets(std::FILE* say, std::string const& folder, int limit, std::string const& resume, Needs const& needs) {
  std::string note;
  using Set = decltype(Data::read(folder, io::Split::Train, note));
  Sets<Set> s{Data::read(folder, io::Split::Train, note), Data::read(folder, io::Split::Test, note), {}};
  if (!note.empty()) std::fprintf(say, "%s\n", note.c_str());
  prepare_sets(say, s, std::string(Data::name), inputs_of<Data, Set>(), limit, resume, needs);
  return s;
}
/// For plan P.
template <class P, class Data>
auto read_for(std::FILE* say, std::string const& folder, int limit, std::string const& resume = {}) {
  return read_sets<Data>(say, folder, limit, resume,
                         {P::Net::input::shape.size(), lower::wanted<P>(), token_inputs_of<P>, P::batch,
                          masks_zeros(typename P::ops{}) || reads_whole_numbers(typename P::ops{})});
}

}  // namespace session

/// MNIST from a folder with its four files.
struct Mnist {
  static constexpr auto name = "MNIST";
  static constexpr session::Variation variation{};
  static io::Images read(std::string const& folder, io::Split split, std::string&) {
    if (folder.empty()) throw Error("MNIST is not here: say --data DIR, a folder with the four files *-ubyte");
    return io::read_mnist(folder, split);
  }
};

/// CIFAR-10 from a folder with its six files; without one, a generated data set in the same format.
struct Cifar10 {
  static constexpr auto name = "CIFAR-10";
  static constexpr session::Variation variation{2, true};
  static io::Images read(std::string const& folder, io::Split split, std::string& note) {
    if (!folder.empty()) return io::read_cifar(folder, split);
    note = "no --data DIR: a stand-in in the CIFAR-10 format is drawn (10 classes of figures)";
    return io::draw_standin(split == io::Split::Train ? 10000 : 2000, split == io::Split::Train ? 1 : 2);
  }
};

}  // namespace cleave
