// benchmarks/train_eigen.cpp - the dense rows of train.cpp as one would write them by hand with Eigen: the peer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is allocated once; products go straight to their place; gradients of weights are never stored but
// subtracted from the weights by the product itself; one sample takes Eigen's matrix-vector paths by its type.
#include <map>
#include <memory>

#include <Eigen/Dense>

#include "burst.hpp"

namespace {

constexpr float rate = 0.01f;
constexpr int big = Eigen::Dynamic;
template <int Rows> using Batch = Eigen::Matrix<float, Rows == 1 ? 1 : big, big, Eigen::RowMajor>;
using Weights = Eigen::Matrix<float, big, big, Eigen::RowMajor>;

template <int B> struct Dense {
  Weights w;
  Eigen::RowVectorXf b;
  Batch<B> y, dy;
  bool last;

  Dense(int in, int out, bool is_last)
      : w(Weights::Random(in, out) * std::sqrt(6.0f / static_cast<float>(in))),
        b(Eigen::RowVectorXf::Zero(out)),
        y(B, out),
        dy(B, out),
        last(is_last) {}

  void forward(Batch<B> const& x) {
    y.noalias() = x * w;
    if (last) {
      y.rowwise() += b;
    } else {
      y = (y.rowwise() + b).cwiseMax(0.0f);
    }
  }
  void backward(Batch<B> const& x, Batch<B>* dx) {
    if (dx) {
      dx->noalias() = dy * w.transpose();
      dx->array() *= (x.array() > 0).template cast<float>();
    }
    w.noalias() -= (rate * x.transpose()) * dy;
    b.noalias() -= rate * dy.colwise().sum();
  }
};

template <int B> class Mlp {
 public:
  explicit Mlp(std::vector<int> sizes) : x_(Batch<B>::Random(B, sizes[0])) {
    for (int i = 0; i < B; ++i) labels_.push_back(i * 3 % 10);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      layers_.emplace_back(sizes[i - 1], sizes[i], i + 1 == sizes.size());
    }
  }
  void step() {
    for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].forward(input(i));
    loss();
    for (std::size_t i = layers_.size(); i-- > 0;) layers_[i].backward(input(i), i > 0 ? &layers_[i - 1].dy : nullptr);
  }
  float mean_loss() const { return loss_; }

 private:
  Batch<B> const& input(std::size_t i) const { return i == 0 ? x_ : layers_[i - 1].y; }
  void loss() {
    auto& last = layers_.back();
    loss_ = 0;
    for (int i = 0; i < B; ++i) {
      auto const y = last.y.row(i);
      auto d = last.dy.row(i);
      float const most = y.maxCoeff();
      d = (y.array() - most).exp();
      float const sum = d.sum();
      int const label = labels_[static_cast<std::size_t>(i)];
      loss_ += (std::log(sum) + most - y[label]) / B;
      d *= 1 / (sum * B);
      d[label] -= 1.0f / B;
    }
  }

  Batch<B> x_;
  std::vector<int> labels_;
  std::vector<Dense<B>> layers_;
  float loss_ = 0;
};

/// Made at the first call, kept for the next.
template <int B, int... Sizes> double step() {
  static Mlp<B> net({Sizes...});
  return bench::step_us([&](int n) {
    for (int i = 0; i < n; ++i) net.step();
  });
}

std::map<std::string, double (*)()> const rows{
    {"C1", step<1, 64, 64, 64, 10>},
    {"C2.1", step<1, 784, 128, 10>},
    {"C2.32", step<32, 784, 128, 10>},
    {"C4", step<512, 784, 1024, 1024, 10>},
    {"C4.two", step<512, 784, 1024, 1024, 10>},
    {"C10.alone", step<64, 784, 4096, 4096, 10>},
    {"start",
     [] {
       Mlp<32> net({784, 128, 10});
       net.step();
       return static_cast<double>(net.mean_loss());
     }},
};

}  // namespace

int main(int argc, char** argv) {
  return bench::serve(argc, argv, "eigen", [](std::string const& name) {
    auto const row = rows.find(name);
    return row == rows.end() ? -1 : row->second();
  });
}
