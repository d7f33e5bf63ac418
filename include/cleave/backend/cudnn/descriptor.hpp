// backend/cudnn/descriptor.hpp - a descriptor of cuDNN's graph API: set attributes, finish once, destroyed with its owner.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace cleave::backend::cudnn {

template <class V>
inline constexpr cudnnBackendAttributeType_t type_of =
    std::is_same_v<V, std::int64_t>                  ? CUDNN_TYPE_INT64
    : std::is_same_v<V, float>                       ? CUDNN_TYPE_FLOAT
    : std::is_same_v<V, bool>                        ? CUDNN_TYPE_BOOLEAN
    : std::is_same_v<V, char>                        ? CUDNN_TYPE_CHAR
    : std::is_same_v<V, cudnnHandle_t>               ? CUDNN_TYPE_HANDLE
    : std::is_same_v<V, cudnnDataType_t>             ? CUDNN_TYPE_DATA_TYPE
    : std::is_same_v<V, cudnnConvolutionMode_t>      ? CUDNN_TYPE_CONVOLUTION_MODE
    : std::is_same_v<V, cudnnPointwiseMode_t>        ? CUDNN_TYPE_POINTWISE_MODE
    : std::is_same_v<V, cudnnBackendHeurMode_t>      ? CUDNN_TYPE_HEUR_MODE
    : std::is_same_v<V, cudnnBackendKnobType_t>      ? CUDNN_TYPE_KNOB_TYPE
    : std::is_same_v<V, cudnnBackendNumericalNote_t> ? CUDNN_TYPE_NUMERICAL_NOTE
                                                     : CUDNN_TYPE_BACKEND_DESCRIPTOR;

/// Keeps the first error; later calls are skipped.
class Descriptor {
 public:
  using Name = cudnnBackendAttributeName_t;
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) { failed_ = cudnnBackendCreateDescriptor(type, &of_); }
  Descriptor(Descriptor&& o) noexcept : of_(std::exchange(o.of_, nullptr)), failed_(o.failed_) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(of_, o.of_);
    std::swap(failed_, o.failed_);
    return *this;
  }
  ~Descriptor() {
    if (of_) cudnnBackendDestroyDescriptor(of_);
  }
  static Descriptor failure(int e) {
    Descriptor d;
    d.failed_ = e;
    return d;
  }
  int failed() const { return failed_; }
  cudnnBackendDescriptor_t of() const { return of_; }

  template <class V> Descriptor& set(Name what, V const& value) { return set(what, type_of<V>, 1, &value); }
  template <class V> Descriptor& set(Name what, std::vector<V> const& all) {
    return set(what, type_of<V>, static_cast<std::int64_t>(all.size()), all.data());
  }
  Descriptor& set(Name what, Descriptor const& other) {
    if (failed_ == 0) failed_ = other.failed_;
    return set(what, other.of_);
  }
  Descriptor& set(Name what, cudnnBackendAttributeType_t type, std::int64_t n, void const* values) {
    if (failed_ == 0) failed_ = cudnnBackendSetAttribute(of_, what, type, n, values);
    return *this;
  }
  Descriptor& finish() {
    if (failed_ == 0) failed_ = cudnnBackendFinalize(of_);
    return *this;
  }
  /// How many there are; up to `most` are written.
  template <class V> int get(Name what, V* values, std::int64_t most, std::int64_t* there) const {
    *there = 0;
    return cudnnBackendGetAttribute(of_, what, type_of<V>, most, there, values);
  }
  template <class V> V get(Name what, V otherwise) const {
    std::int64_t n = 0;
    V value = otherwise;
    return get(what, &value, 1, &n) == 0 && n == 1 ? value : otherwise;
  }
  int get(Name what, Descriptor& into) const {
    std::int64_t n = 0;
    cudnnBackendDescriptor_t of = into.of_;
    return get(what, &of, 1, &n);
  }
  /// Reads up to `most` of one kind: not every attribute reports its count before it is given room.
  std::vector<Descriptor> get_all(Name what, cudnnBackendDescriptorType_t type, std::int64_t most = 64) const {
    std::vector<Descriptor> all;
    std::vector<cudnnBackendDescriptor_t> into;
    for (std::int64_t i = 0; i < most; ++i) into.push_back(all.emplace_back(type).of_);
    std::int64_t n = 0;
    if (get(what, into.data(), most, &n) != 0) n = 0;
    all.resize(static_cast<std::size_t>(n < most ? n : most));
    return all;
  }

 private:
  cudnnBackendDescriptor_t of_ = nullptr;
  int failed_ = 0;
};

}  // namespace cleave::backend::cudnn
