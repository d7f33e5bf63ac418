// torch/reference.cpp - writes what each layer computed, for reference.py to compute again: DIR/<case>.safetensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cstdio>

using namespace cleave;

namespace {

template <class NetT, class Number>
struct Shown : Plan<NetT, Batch<4>, MicroBatches<2>, Precision<Number>, InputGradient> {
  static constexpr Rate rate = Rate::constant(1);
};

/// Input, labels, weights before and gradients, the loss and the input's gradient of one step on one layer.
template <class Input, class... Layers>
void show(std::string const& folder, std::string const& name, std::string const& layer) {
  using P = Shown<Sequential<Input, Layers..., MeanSquaredError>, f64>;
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
  std::vector<int> labels(P::batch);
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
  add("labels", {P::batch}, classes);
  add("loss", {1}, loss);
  for (std::size_t w = 0; w < before.size(); ++w) {
    add("w" + std::to_string(w), session::extents(kept[w].shape), before[w]);
    add("dw" + std::to_string(w), session::extents(kept[w].shape), gradient[w]);
  }
  io::save_safetensors(folder + "/" + name + ".safetensors", std::move(all), {{"layer", layer}});
}

struct GentleConstants {
  static constexpr double k = 2, alpha = 0.5, beta = 0.75;
};

}  // namespace

int main(int, char** argv) {
  std::string const to = argv[1];
  io::make_folder(to);
  show<Vector<13>, Linear<7>>(to, "linear", "F.linear(x, w[0].T, w[1])");
  show<Image<3, 5, 7>, Linear<9, NoBias, Glorot>>(to, "linear_flat", "F.linear(x.flatten(1), w[0].T)");
  show<Image<3, 9, 11>, Conv<5, 3>>(to, "conv", "F.conv2d(x, w[0], w[1])");
  show<Image<2, 8, 7>, Conv<6, 5, Pad<2>>>(to, "conv_same", "F.conv2d(x, w[0], w[1], padding=2)");
  show<Image<4, 11, 8>, Conv<6, 3, Stride<2>, Pad<1>, Groups<2>>>(
      to, "conv_groups", "F.conv2d(x, w[0], w[1], stride=2, padding=1, groups=2)");
  show<Image<3, 6, 6>, Conv<4, 1, NoBias>>(to, "conv_1x1", "F.conv2d(x, w[0])");
  show<Image<2, 9, 8>, Conv<3, 4, Stride<3>>>(to, "conv_stride", "F.conv2d(x, w[0], w[1], stride=3)");
  show<Image<3, 9, 7>, MaxPool<3, Stride<2>>>(to, "max_pool", "F.max_pool2d(x, 3, 2)");
  show<Image<3, 8, 8>, MaxPool<3, Stride<2>, Pad<1>>>(to, "max_pool_pad", "F.max_pool2d(x, 3, 2, 1)");
  show<Image<3, 9, 7>, AvgPool<3, Stride<2>, Pad<1>>>(to, "avg_pool", "F.avg_pool2d(x, 3, 2, 1)");
  show<Vector<17>, Relu>(to, "relu", "F.relu(x)");
  show<Vector<17>, Gelu>(to, "gelu", "F.gelu(x)");
  show<Vector<17>, Tanh>(to, "tanh", "torch.tanh(x)");
  show<Vector<17>, Sigmoid>(to, "sigmoid", "torch.sigmoid(x)");
  show<Image<7, 3, 5>, LocalResponseNorm<5, GentleConstants>>(to, "lrn", "F.local_response_norm(x, 5, 0.5, 0.75, 2.0)");
  show<Image<7, 3, 5>, LocalResponseNorm<4, GentleConstants>>(to, "lrn_even",
                                                              "F.local_response_norm(x, 4, 0.5, 0.75, 2.0)");
  show<Image<5, 4, 3>, BatchNorm>(to, "batch_norm", "F.batch_norm(x, None, None, w[0], w[1], True)");
  show<Vector<9>, BatchNorm>(to, "batch_norm_vector", "F.batch_norm(x, None, None, w[0], w[1], True)");
  show<Image<3, 4, 5>, LayerNorm>(to, "layer_norm", "F.layer_norm(x, x.shape[1:], w[0], w[1])");
  show<Vector<11>, Residual<Linear<11>, Tanh>>(to, "residual", "x + torch.tanh(F.linear(x, w[0].T, w[1]))");
  show<Image<2, 6, 5>, Branches<Concat, Path<Conv<3, 1>>, Path<Conv<4, 3, Pad<1>>, Relu>>>(
      to, "branches", "torch.cat([F.conv2d(x, w[0], w[1]), F.relu(F.conv2d(x, w[2], w[3], padding=1))], 1)");
  std::printf("written\n");
}
