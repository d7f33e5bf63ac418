// torch/reference.cpp - writes what each layer computed, for reference.py to compute again: DIR/<case>.safetensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cstdio>

using namespace cleave;

// Other shapes at every configuration; the seed is printed, and -DCLEAVE_SHAPE_SEED=n makes them again.
#if !defined(CLEAVE_SHAPE_SEED)
#define CLEAVE_SHAPE_SEED 1
#endif

namespace {

/// An extent in [low, high], another for every `number`.
using Weighted = WeightedCrossEntropy<100, 50, 300, 200>;
using WeightedLabels = WeightedBinaryCrossEntropy<100, 50, 300, 200>;

template <int number, int low, int high>
constexpr int any = low + static_cast<int>(tensor::Random{CLEAVE_SHAPE_SEED, tensor::Purpose::Shuffle, 0}.below(
                              high - low + 1, number));

template <class NetT, class Number, class Optimizer>
struct Shown : Plan<NetT, Batch<4>, MicroBatches<2>, Precision<Number>, Optimizer, InputGradient> {
  static constexpr Rate rate = Rate::constant(1);
};

/// Input, labels, weights before and gradients, the loss and the input's gradient of one step on one layer.
template <class Optimizer, class Loss, class Input, class... Layers>
void show_by(std::string const& folder, std::string const& name, std::string const& layer) {
  using P = Shown<Sequential<Input, Layers..., Loss>, f64, Optimizer>;
  session::Probing<P> probe;
  Trainer<P> trainer(1, 5);
  auto const kept = session::kept<P>();
  std::vector<std::vector<double>> before, gradient;
  // Biases and the like start at zero; the reference should not be blind to them.
  for (long i = 0; i < P::schedule.weight_elements; ++i)
    trainer.at(0).weights()[i] += 0.01 * static_cast<double>(i % 7);
  for (int w = 0; w < P::schedule.weights; ++w)
    before.push_back(session::whole(trainer, kept[static_cast<std::size_t>(w)]));
  std::vector<double> const loss{trainer.train(3, 1, probe.feed())[0]};
  if (std::string const wrong = session::miscounted(trainer, 1); !wrong.empty()) throw Error(name + ": " + wrong);
  for (int w = 0; w < P::schedule.weights; ++w) {
    gradient.push_back(session::whole(trainer, kept[static_cast<std::size_t>(w)]));
    for (std::size_t i = 0; i < gradient.back().size(); ++i) {
      gradient.back()[i] = before[static_cast<std::size_t>(w)][i] - gradient.back()[i];
    }
  }
  auto& rank = trainer.at(0);
  double const* dx = rank.template at<double>(rank.layout().buffer[P::schedule.input_gradient]);
  std::vector<double> const input_gradient(dx, dx + P::batch * Input::shape.size());
  std::vector<double> x;
  for (double v : probe.x) x.push_back(static_cast<float>(v));
  std::vector<int> labels(P::batch * P::schedule.labels);
  probe.feed().labels(nullptr, 3, 0, P::batch, labels.data());
  std::vector<double> const classes(labels.begin(), labels.end());

  std::vector<io::NamedTensor> all;
  auto const add = [&](std::string what, std::vector<std::size_t> shape, std::vector<double> const& v) {
    all.push_back({std::move(what),
                   io::Dtype::F64,
                   std::move(shape),
                   {reinterpret_cast<unsigned char const*>(v.data()), v.size() * sizeof(double)}});
  };
  auto shape = session::extents(Input::shape);
  shape.insert(shape.begin(), P::batch);
  add("x", shape, x);
  add("dx", shape, input_gradient);
  add("labels", {labels.size()}, classes);
  add("loss", {1}, loss);
  for (std::size_t w = 0; w < before.size(); ++w) {
    add("w" + std::to_string(w), session::extents(kept[w].shape), before[w]);
    add("dw" + std::to_string(w), session::extents(kept[w].shape), gradient[w]);
  }
  std::string clip;
  if constexpr (P::clips) clip = std::to_string(Optimizer::clip_norm);
  io::save_safetensors(folder + "/" + name + ".safetensors", std::move(all),
                       {{"layer", layer},
                        {"loss", std::is_same_v<Loss, CrossEntropy>                ? "cross_entropy"
                                 : std::is_same_v<Loss, PerPosition<CrossEntropy>> ? "cross_entropy"
                                 : std::is_same_v<Loss, BinaryCrossEntropy>        ? "binary_cross_entropy"
                                 : std::is_same_v<Loss, Huber<1, 2>>               ? "huber"
                                 : std::is_same_v<Loss, Weighted>                  ? "weighted_cross_entropy"
                                 : std::is_same_v<Loss, WeightedLabels>            ? "weighted_binary_cross_entropy"
                                 : std::is_same_v<Loss, SmoothedCrossEntropy<10>>  ? "smoothed_cross_entropy"
                                                                                   : "mse"},
                        {"clip", clip}});
}
template <class Loss, class Input, class... Layers>
void show_loss(std::string const& folder, std::string const& name, std::string const& layer) {
  show_by<Sgd, Loss, Input, Layers...>(folder, name, layer);
}
template <class Input, class... Layers>
void show(std::string const& folder, std::string const& name, std::string const& layer) {
  show_loss<MeanSquaredError, Input, Layers...>(folder, name, layer);
}

template <int Percent> struct Clipped : Sgd { static constexpr float clip_norm = Percent / 100.f; };
struct GentleConstants {
  static constexpr double k = 2, alpha = 0.5, beta = 0.75;
};

}  // namespace

int main(int, char** argv) {
  std::string const to = argv[1];
  io::make_folder(to);
  show<Vector<any<0, 1, 30>>, Linear<any<1, 1, 20>>>(to, "linear", "F.linear(x, w[0].T, w[1])");
  show<Image<any<2, 1, 5>, any<3, 1, 9>, any<4, 1, 9>>, Linear<any<5, 1, 20>, NoBias, Glorot>>(
      to, "linear_flat", "F.linear(x.flatten(1), w[0].T)");
  show<Image<any<6, 1, 6>, any<7, 3, 12>, any<8, 3, 12>>, Conv<any<9, 1, 9>, 3>>(to, "conv", "F.conv2d(x, w[0], w[1])");
  show<Image<any<10, 1, 4>, any<11, 5, 12>, any<12, 5, 12>>, Conv<any<13, 1, 9>, 5, Pad<2>>>(
      to, "conv_same", "F.conv2d(x, w[0], w[1], padding=2)");
  show<Image<2 * any<14, 1, 3>, any<15, 3, 12>, any<16, 3, 12>>,
       Conv<2 * any<17, 1, 4>, 3, Stride<2>, Pad<1>, Groups<2>>>(
      to, "conv_groups", "F.conv2d(x, w[0], w[1], stride=2, padding=1, groups=2)");
  show<Image<2 * any<116, 1, 3>, any<117, 6, 12>, any<118, 6, 12>>,
       Conv<2 * any<119, 1, 4>, 3, Stride<2>, Pad<2>, Groups<2>, Dilation<2>>>(
      to, "conv_dilation", "F.conv2d(x, w[0], w[1], stride=2, padding=2, dilation=2, groups=2)");
  show<Image<4, any<120, 3, 12>, any<121, 3, 12>>, Conv<8, 3, Pad<1>, Groups<4>>>(
      to, "conv_depthwise", "F.conv2d(x, w[0], w[1], padding=1, groups=4)");
  show<Image<any<121, 1, 5>, any<122, 1, 6>, any<123, 1, 7>>, ConvTranspose<any<124, 1, 6>, 4, Stride<2>, Pad<1>>>(
      to, "conv_transpose", "F.conv_transpose2d(x, w[0], w[1], stride=2, padding=1)");
  show<Image<any<125, 1, 5>, any<126, 2, 6>, any<127, 2, 7>>,
       ConvTranspose<any<128, 1, 6>, 5, Stride<3>, Pad<2>, NoBias>>(to, "conv_transpose_gaps",
                                                                    "F.conv_transpose2d(x, w[0], stride=3, padding=2)");
  show<Image<any<129, 1, 5>, any<130, 1, 6>, any<131, 1, 7>>, PixelsAsPositions>(to, "pixels",
                                                                                 "x.flatten(2).transpose(1, 2)");
  show<Image<any<18, 1, 6>, any<19, 1, 9>, any<20, 1, 9>>, Conv<any<21, 1, 9>, 1, NoBias>>(to, "conv_1x1",
                                                                                           "F.conv2d(x, w[0])");
  show<Image<any<22, 1, 4>, any<23, 4, 12>, any<24, 4, 12>>, Conv<any<25, 1, 6>, 4, Stride<3>>>(
      to, "conv_stride", "F.conv2d(x, w[0], w[1], stride=3)");
  show<Image<any<26, 1, 5>, any<27, 3, 12>, any<28, 3, 12>>, MaxPool<3, Stride<2>>>(to, "max_pool",
                                                                                    "F.max_pool2d(x, 3, 2)");
  show<Image<any<29, 1, 5>, any<30, 3, 12>, any<31, 3, 12>>, MaxPool<3, Stride<2>, Pad<1>>>(to, "max_pool_pad",
                                                                                            "F.max_pool2d(x, 3, 2, 1)");
  show<Image<any<32, 1, 5>, any<33, 3, 12>, any<34, 3, 12>>, AvgPool<3, Stride<2>, Pad<1>>>(to, "avg_pool",
                                                                                            "F.avg_pool2d(x, 3, 2, 1)");
  show<Image<any<32, 1, 5>, any<33, 3, 12>, any<34, 3, 12>>, GlobalAvgPool>(to, "global_avg_pool",
                                                                            "F.adaptive_avg_pool2d(x, 1)");
  show<Vector<any<35, 1, 40>>, Relu>(to, "relu", "F.relu(x)");
  show<Vector<any<36, 1, 40>>, Gelu>(to, "gelu", "F.gelu(x)");
  show<Vector<any<36, 1, 40>>, Silu>(to, "silu", "F.silu(x)");
  show<Vector<any<37, 1, 40>>, Tanh>(to, "tanh", "torch.tanh(x)");
  show<Vector<any<38, 1, 40>>, Sigmoid>(to, "sigmoid", "torch.sigmoid(x)");
  show<Image<any<39, 5, 9>, any<40, 1, 6>, any<41, 1, 6>>, LocalResponseNorm<5, GentleConstants>>(
      to, "lrn", "F.local_response_norm(x, 5, 0.5, 0.75, 2.0)");
  show<Image<any<42, 5, 9>, any<43, 1, 6>, any<44, 1, 6>>, LocalResponseNorm<4, GentleConstants>>(
      to, "lrn_even", "F.local_response_norm(x, 4, 0.5, 0.75, 2.0)");
  show<Image<6, any<43, 1, 6>, any<44, 1, 6>>, LocalResponseNorm<3, GentleConstants, Groups<2>>>(
      to, "lrn_groups", "torch.cat([F.local_response_norm(h, 3, 0.5, 0.75, 2.0) for h in x.chunk(2, 1)], 1)");
  show<Image<any<45, 1, 6>, any<46, 1, 6>, any<47, 1, 6>>, BatchNorm>(to, "batch_norm",
                                                                      "F.batch_norm(x, None, None, w[0], w[1], True)");
  show<Vector<any<48, 1, 20>>, BatchNorm>(to, "batch_norm_vector", "F.batch_norm(x, None, None, w[0], w[1], True)");
  show<Image<any<49, 1, 6>, any<50, 2, 6>, any<51, 2, 6>>, LayerNorm>(to, "layer_norm",
                                                                      "F.layer_norm(x, x.shape[1:], w[0], w[1])");
  show<Image<6, any<50, 2, 6>, any<51, 2, 6>>, GroupNorm<3>>(to, "group_norm", "F.group_norm(x, 3, w[0], w[1])");
  show<Vector<any<52, 1, 20>>, Residual<Linear<any<52, 1, 20>>, Tanh>>(to, "residual",
                                                                       "x + torch.tanh(F.linear(x, w[0].T, w[1]))");
  show<Image<any<53, 1, 4>, any<54, 3, 9>, any<55, 3, 9>>,
       Branches<Concat, Path<Conv<any<56, 1, 5>, 1>>, Path<Conv<any<57, 1, 5>, 3, Pad<1>>, Relu>>>(
      to, "branches", "torch.cat([F.conv2d(x, w[0], w[1]), F.relu(F.conv2d(x, w[2], w[3], padding=1))], 1)");
  using Some = Sequence<any<64, 1, 9>, any<65, 1, 12>>;
  show<Some, PerPosition<Linear<any<66, 1, 9>>, LayerNorm>>(
      to, "per_position", "F.layer_norm(F.linear(x, w[0].T, w[1]), w[2].shape, w[2], w[3])");
  show_loss<PerPosition<CrossEntropy>, Some, PerPosition<Linear<any<67, 2, 9>>>>(to, "cross_entropy_per_position",
                                                                                 "F.linear(x, w[0].T, w[1])");
  auto const recurrent = [](std::string const& cell, std::string const& state) {
    return "torch." + cell + "(x, " + state + ", [w[0].T, w[2].T, w[1], w[3]], True, 1, 0, False, False, True)[0]";
  };
  std::string const zeros = "x.new_zeros(1, len(x), len(w[2]))";
  show<Some, Rnn<any<68, 1, 9>>>(to, "rnn", recurrent("rnn_tanh", zeros));
  show<Some, Lstm<any<69, 1, 9>>>(to, "lstm", recurrent("lstm", "(" + zeros + ", " + zeros + ")"));
  std::string const runs = "\", x, [w[0].T, w[2].T, w[1], w[3]], 2)";
  show<Sequence<7, any<65, 1, 12>>, Rnn<any<68, 1, 9>, Truncate<2>>>(to, "rnn_in_runs", "in_runs(\"rnn_tanh" + runs);
  show<Sequence<7, any<65, 1, 12>>, Lstm<any<69, 1, 9>, Truncate<2>>>(to, "lstm_in_runs", "in_runs(\"lstm" + runs);
  show<Sequence<7, any<65, 1, 12>>, Gru<any<70, 1, 9>, Truncate<2>>>(to, "gru_in_runs", "in_runs(\"gru" + runs);
  show<Some, Gru<any<70, 1, 9>>>(to, "gru", recurrent("gru", zeros));
  show<Some, Gru<any<71, 1, 9>>, LastPosition>(to, "last_position", recurrent("gru", zeros) + "[:, -1]");
  auto const attention = [](std::string const& causal) {
    return "F.linear(F.scaled_dot_product_attention(*[h.transpose(1, 2) for h in (F.linear(x, w[0].flatten(1).T, "
           "w[1].flatten())).unflatten(2, w[1].shape).unbind(2)], is_causal=" +
           causal + ").transpose(1, 2).flatten(2), w[2].flatten(0, 1).T, w[3])";
  };
  using Headed = Sequence<any<72, 1, 9>, 3 * any<73, 1, 5>>;
  show<Headed, Attention<3>>(to, "attention", attention("False"));
  show<Headed, Attention<3, Causal>>(to, "causal_attention", attention("True"));
  show<Sequence<any<72, 1, 9>, 12>, Attention<3, Causal, Rotary, NoBias>>(
      to, "rotary",
      "F.linear(F.scaled_dot_product_attention(*rotated(F.linear(x, w[0].flatten(1).T).unflatten(2, (3, 3, 4))), "
      "is_causal=True).transpose(1, 2).flatten(2), w[1].flatten(0, 1).T)");
  show<Some, PerPosition<RmsNorm>>(to, "rms_norm", "F.rms_norm(x, w[0].shape, w[0], 1e-6)");
  show<Some, PerPosition<SwiGlu<any<74, 1, 9>>>>(to, "swiglu", "F.silu(F.linear(x, w[0].T)) * F.linear(x, w[1].T)");
  show<Headed, PositionEmbedding>(to, "position_embedding", "x + w[0]");
  show_loss<BinaryCrossEntropy, Vector<any<58, 1, 20>>, Linear<any<59, 2, 12>>>(to, "binary_cross_entropy",
                                                                                "F.linear(x, w[0].T, w[1])");
  show_loss<Huber<1, 2>, Vector<any<58, 1, 20>>, Linear<any<59, 2, 12>>>(to, "huber", "F.linear(x, w[0].T, w[1])");
  show_loss<CrossEntropy, Vector<any<58, 1, 20>>, Linear<any<59, 2, 12>>>(to, "cross_entropy",
                                                                          "F.linear(x, w[0].T, w[1])");
  show_loss<Weighted, Vector<any<58, 1, 20>>, Linear<4>>(to, "weighted_cross_entropy", "F.linear(x, w[0].T, w[1])");
  show_loss<WeightedLabels, Vector<any<58, 1, 20>>, Linear<4>>(to, "weighted_binary_cross_entropy",
                                                               "F.linear(x, w[0].T, w[1])");
  show_loss<SmoothedCrossEntropy<10>, Vector<any<58, 1, 20>>, Linear<any<59, 2, 12>>>(to, "smoothed_cross_entropy",
                                                                                      "F.linear(x, w[0].T, w[1])");
  show_by<Clipped<1>, CrossEntropy, Vector<any<60, 1, 20>>, Linear<any<61, 2, 12>>>(to, "clipped",
                                                                                    "F.linear(x, w[0].T, w[1])");
  show_by<Clipped<10000>, CrossEntropy, Vector<any<62, 1, 20>>, Linear<any<63, 2, 12>>>(to, "not_clipped",
                                                                                        "F.linear(x, w[0].T, w[1])");
  std::printf("written, with shapes of seed %d\n", CLEAVE_SHAPE_SEED);
}
