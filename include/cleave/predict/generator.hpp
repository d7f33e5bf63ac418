// predict/generator.hpp - Generator<Net>: a model of tokens that computes each position once, with a key/value cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../layer/input.hpp"
#include "../op/join.hpp"
#include "../op/next_position.hpp"
#include "predictor.hpp"
#include "sample_text.hpp"

namespace cleave {

namespace session {

/// Operation Op of a model of `Positions` positions, on one more position; void if it sees others in another way.
template <class Op, int Positions> struct on_next_position {
  static constexpr bool alone = requires { typename Op::of_position; }
  || requires { Op::vocabulary; }
  || requires { Op::of_experts; }
  || std::is_same_v<Op, op::CombineExperts> || std::is_same_v<Op, op::Bias> || std::is_same_v<Op, op::BiasOfHeads> ||
      std::is_same_v<Op, op::Multiply> || (Op::elementwise && Op::weights == 0);
  using type = std::conditional_t<alone, Op, void>;
};
template <int Heads, op::Start How, int Groups, int Positions>
struct on_next_position<op::IntoHeads<Heads, How, Groups>, Positions> {
  using type = op::IntoHeads<Heads, How, Groups>;
};
template <op::Start How, int Positions> struct on_next_position<op::OutOfHeads<How>, Positions> {
  using type = op::OutOfHeads<How>;
};
template <int Experts, int Chosen, int Percent, int Balance, int Positions>
struct on_next_position<op::ChooseExperts<Experts, Chosen, Percent, Balance>, Positions> {
  using type = op::ChooseForNextPosition<op::ChooseExperts<Experts, Chosen, Percent, Balance>, Positions>;
};
template <int Positions> struct on_next_position<op::AddPositions, Positions> {
  using type = op::AddNextPosition<Positions>;
};
template <int Positions> struct on_next_position<op::RotatePositions, Positions> {
  using type = op::RotateNextPosition;
};
template <int Positions> struct on_next_position<op::Attend<true>, Positions> {
  using type = op::AttendNextPosition<Positions>;
};

/// A model whose positions see only those before them, as one of a single position.
template <class Net> struct NextOf {
  static constexpr int positions = Net::input::shape[0];
  using layers = typename Net::layers;
  using join_layers = typename Net::join_layers;
  template <class List> struct each;
  template <class... Ops> struct each<meta::list<Ops...>> {
    static constexpr bool known =
        ((Ops::tokens > 0) || ...) && !(std::is_void_v<typename on_next_position<Ops, positions>::type> || ...);
    using type = meta::list<typename on_next_position<Ops, positions>::type...>;
  };
  static constexpr bool known = each<typename Net::ops>::known;
  using input = std::conditional_t<known, Vector<1>, typename Net::input>;
  using ops = std::conditional_t<known, typename each<typename Net::ops>::type, typename Net::ops>;
  static constexpr void connect(auto& graph) {
    Net::connect(graph);
    for (int& s : graph.segment) s = 0;
  }
};

}  // namespace session

/// Draws a text faster than a Predictor, which computes all positions for each token:
///
///   Generator<Net> gpt("out/mine/checkpoint.safetensors");
///   std::string const text = sample_text(gpt, "ROMEO:", 40, {.temperature = 0.8f});
///
/// It computes each position once and keeps the keys and values of attention (`cache_bytes`). `Net` reads tokens,
/// Vector<T>, no position sees those behind it (causal attention), and it ends with CrossEntropy of each position.
/// Outputs are those of a Predictor but for the rounding of sums in another order, which may also send a position to
/// another expert where two are as probable. One thread.
template <class Net> class Generator {
  static_assert(session::NextOf<Net>::known,
                "Generator: the model reads tokens, Vector<T>, and its positions see others by causal attention only, "
                "without Padded; of another model sample_text takes a Predictor");
  using P = session::ForwardPlan<session::NextOf<Net>, f32, 1>;
  using Forward = session::Forward<P, session::PredictionIn<f32>>;

 public:
  static constexpr int positions = session::NextOf<Net>::positions, vocabulary = P::tokens.vocabulary;
  /// Numbers that the loss reads of a position.
  static constexpr long width = lower::wanted<P>().outputs;
  /// Of the keys and values of all positions.
  static constexpr long cache_bytes = Forward::program.state_elements * long{sizeof(float)};

  /// Loads a checkpoint. Throws Error if a tensor is missing or has another shape, or if a number is not finite.
  explicit Generator(std::string const& file) : Generator() {
    io::SafeTensors const in_file = io::load_safetensors(file);
    read([&](session::Kept const& k, float* to) { session::read_tensor(in_file, file, k, to); });
  }
  /// The weights that a trainer has now.
  template <class Trained>
  requires requires { typename Trained::plan; }
  explicit Generator(Trained& trainer) : Generator() {
    static_assert(std::is_same_v<typename Trained::plan::Net, Net>, "Generator: the trainer is of another model");
    std::vector<session::Kept> const theirs = session::kept(session::description_of(trainer));
    read([&](session::Kept const& k, float* to) {
      auto const from =
          std::find_if(theirs.begin(), theirs.end(), [&](session::Kept const& t) { return t.name == k.name; });
      auto const values = session::whole(trainer, *from);
      std::transform(values.begin(), values.end(), to, [](auto v) { return static_cast<float>(v); });
    });
    session::meet(trainer);
  }
  Generator(Generator const&) = delete;
  Generator& operator=(Generator const&) = delete;

  /// Positions that it has computed.
  int size() const { return size_; }
  /// Forgets them: the next token begins a sequence.
  void restart() {
    std::fill_n(weights_.region(backend::host::Region::States), Forward::program.state_elements, 0.0f);
    size_ = 0;
  }
  /// What the loss reads of the next position, (width), until the next call. Throws Error if the token is none of the
  /// vocabulary, or if all positions were computed.
  std::span<float const> operator()(int token) {
    if (token < 0 || token >= vocabulary)
      throw Error({"generate: token ", token, ", but the model has tokens 0 to ", vocabulary - 1});
    if (size_ == positions)
      throw Error({"generate: the model has ", positions, " positions, and this is one more; call restart"});
    *rank_->tokens() = token;
    rank_->run();
    ++size_;
    return {rank_->output(), static_cast<std::size_t>(width)};
  }

 private:
  using Rank = typename Forward::Rank;

  Generator() = default;
  void read(auto values) {
    for (session::Kept const& k : session::kept<P>()) {
      if (k.region == backend::host::Region::Weights) values(k, weights_.region(k.region) + k.offset);
    }
  }

  backend::host::SharedWeights<f32> weights_{Forward::program, Forward::layout};
  backend::host::AlignedBlock arena_{Rank::bytes(Forward::layout.memory)};
  std::unique_ptr<Rank> rank_ = Forward::make(weights_, arena_.get());
  int size_ = 0;
};

/// As with a Predictor (sample_text.hpp), from the first position on. Throws Error also if the prompt and the drawn
/// tokens are more than the model's positions.
template <class Net>
std::vector<int> sample_tokens(Generator<Net>& generate, std::span<int const> prompt, int count,
                               SampleOptions const& how = {}) {
  session::check_sampling(prompt, count, how, Generator<Net>::vocabulary);
  if (prompt.size() + static_cast<std::size_t>(count) > std::size_t{Generator<Net>::positions} + 1)
    throw Error({"generate: ", prompt.size(), " tokens and ", count, " to draw, but the model has ",
                 Generator<Net>::positions, " positions; sample_tokens of a Predictor sees the last of them"});
  generate.restart();
  std::span<float const> next;
  for (int const token : prompt) next = generate(token);
  std::vector<int> out;
  for (int i = 0; i < count; ++i) {
    Draw const draw{.seed = how.seed, .sample = static_cast<std::uint64_t>(i)};
    out.push_back(session::drawn(next, how, draw.uniform(0)));
    if (i + 1 < count) next = generate(out.back());
  }
  return out;
}

}  // namespace cleave
