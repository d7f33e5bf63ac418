// backend/cudnn/api.hpp - cuDNN's functions, by its graph API, for cudnn/convolutions.hpp. Needs cudnn_graph.h of cuDNN 9.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>

#include "convolutions.hpp"
#include "descriptor.hpp"

namespace cleave::backend::cudnn {

struct Api {
  /// A handle is needed to run; a descriptor describes the device, so that everything else works without one.
  struct Handle {
    cudnnHandle_t of = nullptr;
    Descriptor device;
  };
  struct Plan {
    Algorithm algorithm;
    Descriptor of;
    std::int64_t bytes = 0;
  };
  struct Described {
    Descriptor whole, without_end;
    std::vector<Plan> plans;
    bool narrow = false;  // products may have fewer bits than f32
  };
  static constexpr int not_supported = CUDNN_STATUS_NOT_SUPPORTED;
  static constexpr int most_algorithms = 8;  // timed with the epilogue, and as many without

  static int create(Handle* handle) {
    if (cudnnGetVersion() / 10000 != CUDNN_MAJOR) return CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH;
    if (int const e = cudnnCreate(&handle->of)) return e;
    handle->device = Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    return handle->device.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle->of).finish().failed();
  }
  /// A device that need not be present, from cuDNN's description of it.
  static int create(Handle* handle, std::string const& device) {
    handle->device = Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    auto const n = static_cast<std::int64_t>(device.size()) + 1;
    handle->device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, device.c_str()).finish();
    return handle->device.failed();
  }
  static void destroy(Handle& handle) {
    handle.device = {};
    if (handle.of) cudnnDestroy(handle.of);
    handle.of = nullptr;
  }

  static int describe(Call const& c, Described* d) {
    using enum gpu::End;
    d->narrow = c.x.of != gpu::Number::F32;
    d->without_end = graph(c, None);
    if (c.end != None && c.end != Other) d->whole = graph(c, c.end);
    if (d->whole.failed() != 0) d->whole = {};  // then one of our kernels computes the epilogue
    return unified(d->without_end.failed());
  }
  static void forget(Described& d) { d = {}; }

  /// Up to most_algorithms with the epilogue, then as many without, in the order of the library's heuristics.
  static int suggest(Handle const& handle, Described const& d, Call const&, std::size_t room, gpu::Suggested* to) {
    int e = not_supported;
    for (Descriptor const* of : {&d.whole, &d.without_end}) {
      std::size_t const before = to->algorithms.size();
      std::uint64_t const bit = of == &d.without_end ? cudnn::without_end : 0;
      for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        if (!of->of()) continue;
        Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *of).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
        int const asked = heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, handle.device).finish().failed();
        if (e != 0) e = unified(asked);
        if (asked != 0) continue;
        for (Descriptor const& c :
             heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
          Algorithm const a = algorithm(c, bit, d.narrow);
          auto const& all = to->algorithms;
          if (a.empty() || std::find(all.begin(), all.end(), a) != all.end()) continue;
          long const bytes = static_cast<long>(c.get(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, std::int64_t{0}));
          if (bytes > static_cast<long>(room)) {
            to->wants = to->wants == 0 ? bytes : std::min(to->wants, bytes);
          } else if (all.size() - before < most_algorithms) {
            to->algorithms.push_back(a);
          }
        }
      }
    }
    return e;
  }
  /// Whether it will run, and its workspace.
  static int check(Handle const& handle, Described& d, Algorithm const& a, std::size_t* workspace) {
    if (a.empty()) return not_supported;
    bool const whole = (a[0] & cudnn::without_end) == 0;
    if (whole && !d.whole.of()) return not_supported;
    Descriptor const& graph = whole ? d.whole : d.without_end;
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, static_cast<std::int64_t>(a[0] & ~cudnn::without_end));
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, handle.device).finish());
    std::vector<Descriptor> knobs;
    std::vector<cudnnBackendDescriptor_t> choices;
    for (std::size_t i = 1; i < a.size(); ++i) {
      Descriptor& k = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      k.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(a[i] >> knob_bits));
      k.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, static_cast<std::int64_t>(a[i] & knob_values)).finish();
      if (k.failed() != 0) return unified(k.failed());
      choices.push_back(k.of());
    }
    if (!choices.empty()) config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.finish());
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, handle.device).finish();
    if (plan.failed() != 0) return unified(plan.failed());
    auto const bytes = plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, std::int64_t{0});
    *workspace = static_cast<std::size_t>(bytes);
    d.plans.push_back({a, std::move(plan), bytes});
    return 0;
  }
  static void keep(Described& d, Algorithm const& a) {
    std::erase_if(d.plans, [&](Plan const& p) { return p.algorithm != a; });
  }
  static int run(Handle const& handle, Described const& d, Algorithm const& a, Operands const& o, void* workspace,
                 std::size_t, cudaStream_t stream) {
    auto const plan = std::find_if(d.plans.begin(), d.plans.end(), [&](Plan const& p) { return p.algorithm == a; });
    if (plan == d.plans.end()) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    std::vector<std::int64_t> const ids{X, W, Y, B};
    void* const at[] = {o.x, o.w, o.y, o.bias};
    bool const whole = (a[0] & cudnn::without_end) == 0;
    std::int64_t const n = whole && o.bias ? 4 : 3;
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace).finish();
    int e = pack.failed();
    if (e == 0) e = cudnnSetStream(handle.of, stream);
    if (e == 0) e = cudnnBackendExecute(handle.of, plan->of.of(), pack.of());
    return unified(e);
  }

  static std::string version() { return dotted(cudnnGetVersion()); }
  static std::string text(int status) {
    std::string s = cudnnGetErrorString(static_cast<cudnnStatus_t>(status));
    if (status == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH) {
      return s + " (built with " + dotted(CUDNN_VERSION) + ", runs with " + version() + ")";
    }
    char why[1024] = "";
    cudnnGetLastErrorString(why, sizeof why);
    why[std::strcspn(why, "\n")] = '\0';
    return why[0] ? s + " (" + why + ")" : s;
  }

 private:
  enum Id : std::int64_t { X = 1, W, Y, B, Sum, Biased };
  static constexpr int knob_bits = 56;
  static constexpr std::uint64_t knob_values = (std::uint64_t{1} << knob_bits) - 1;

  /// One of the many results for unsupported.
  static int unified(int e) { return e / 1000 == not_supported / 1000 ? not_supported : e; }
  static std::string dotted(std::size_t v) {
    return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  }

  static Descriptor tensor(Id id, Tensor const& t, bool passes_on = false) {
    auto const n = [](std::array<long, 4> const& v) { return std::vector<std::int64_t>(v.begin(), v.end()); };
    Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
    d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, t.of == gpu::Number::Bf16  ? CUDNN_DATA_BFLOAT16
                                       : t.of == gpu::Number::F16 ? CUDNN_DATA_HALF
                                                                  : CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, n(t.extent)).set(CUDNN_ATTR_TENSOR_STRIDES, n(t.strides()));
    d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, static_cast<std::int64_t>(t.aligned));
    if (passes_on) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    return std::move(d.finish());
  }
  static Descriptor pointwise(cudnnPointwiseMode_t mode, Descriptor const& x, Descriptor const* b,
                              Descriptor const& y) {
    Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), d(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    what.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what.finish()).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) d.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    return std::move(d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).finish());
  }
  /// The convolution and, if it has an epilogue, the element-wise operations of it.
  static Descriptor graph(Call const& c, gpu::End end) {
    using enum gpu::End;
    using Pair = std::vector<std::int64_t>;
    Descriptor window(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    window.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    window.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    window.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    window.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Pair(2, c.dilation));
    window.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Pair(2, c.stride));
    window.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Pair(2, c.pad));
    window.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, Pair(2, c.pad)).finish();

    Tensor between = c.y;  // intermediate values are not rounded
    between.of = gpu::Number::F32;
    bool const relu = end == Relu || end == BiasRelu;
    Descriptor const x = tensor(X, c.x), w = tensor(W, c.w), y = tensor(Y, c.y), bias = tensor(B, c.bias);
    Descriptor const sum = tensor(Sum, between, true), biased = tensor(Biased, between, true);
    std::vector<Descriptor> operations;
    operations.push_back(convolution(c, window, x, w, end == None ? y : sum));
    if (gpu::has_bias(end)) operations.push_back(pointwise(CUDNN_POINTWISE_ADD, sum, &bias, relu ? biased : y));
    if (relu) operations.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, end == Relu ? sum : biased, nullptr, y));

    Descriptor d(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    std::vector<cudnnBackendDescriptor_t> all;
    for (Descriptor const& o : operations) {
      if (o.failed() != 0) return Descriptor::failure(o.failed());
      all.push_back(o.of());
    }
    return std::move(d.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, all).finish());
  }
  static Descriptor convolution(Call const& c, Descriptor const& window, Descriptor const& x, Descriptor const& w,
                                Descriptor const& y) {
    float const one = 1, beta = c.adds ? 1.f : 0.f;
    if (c.pass == Pass::Forward) {
      Descriptor d(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, window);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x).set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y).set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, one);
      return std::move(d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, beta).finish());
    }
    if (c.pass == Pass::Input) {
      Descriptor d(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, window);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, x).set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w);
      d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, y).set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, one);
      return std::move(d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, beta).finish());
    }
    Descriptor d(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
    d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, window);
    d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x).set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, w);
    d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, y)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, one);
    return std::move(d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, beta).finish());
  }

  /// Engine and knobs; empty if the engine multiplies or sums with fewer bits than the plan requires, or is not
  /// deterministic.
  static Algorithm algorithm(Descriptor const& config, std::uint64_t bit, bool narrow) {
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (config.get(CUDNN_ATTR_ENGINECFG_ENGINE, engine) != 0) return {};
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    std::int64_t n = 0;
    engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n);
    for (std::int64_t i = 0; i < n; ++i) {
      switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // for f32 these multiply tf32
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
          if (!narrow) return {};
          break;
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:  // ways that compute the same value must get the same bits
          return {};
        default:
          break;
      }
    }
    Algorithm a{static_cast<std::uint64_t>(engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::int64_t{0})) | bit};
    for (Descriptor const& k :
         config.get_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)) {
      auto const knob = k.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_KNOB_TYPE_COUNTS);
      auto const value = static_cast<std::uint64_t>(k.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, std::int64_t{0}));
      if (value > knob_values) return {};
      a.push_back(static_cast<std::uint64_t>(knob) << knob_bits | value);
    }
    return a;
  }
};

}  // namespace cleave::backend::cudnn
