// backend/host/kernels/onednn.hpp - products and convolutions by oneDNN, in this library's layouts; opt in with cleave::onednn.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dlfcn.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "../../../meta/error.hpp"

namespace cleave::backend::host {

/// While it lives, oneDNN runs on the calling thread only, since the ranks are the threads. Its OpenMP runtime, if any,
/// depends on how it was built, so it is looked up by name.
class OnThisThread {
 public:
  OnThisThread() {
    if (omp().set) omp().set(1);
  }
  ~OnThisThread() {
    if (omp().set) omp().set(before_);
  }
  OnThisThread(OnThisThread const&) = delete;
  OnThisThread& operator=(OnThisThread const&) = delete;

 private:
  struct Omp {
    void (*set)(int) = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    int (*get)() = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  };
  static Omp const& omp() {
    static Omp const found;
    return found;
  }
  int before_ = omp().get ? omp().get() : 1;
};

/// c (m, n) = op(a) op(b), all row-major; ta and tb say whether a and b are read transposed, lda and ldb are their row
/// lengths.
inline void library_product(bool ta, bool tb, int m, int n, int k, float const* a, int lda, float const* b, int ldb,
                            float* c) {
  OnThisThread const alone;
  if (dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb, 0, c, n) != dnnl_success) {
    throw Error({"oneDNN: cannot multiply (", m, ", ", k, ") by (", k, ", ", n, ")"});
  }
}

/// x (b, groups in, h, w), w (groups out, in, k, k), y (b, groups out, h', w').
struct Convolution {
  int rows, groups, in, h, w, out, out_h, out_w, kernel, stride, pad, dilation;
};

/// One pass of one convolution; created once, on the thread that runs it, with all that oneDNN keeps for it.
class LibraryConvolution {
 public:
  enum class Pass : unsigned char { Forward, Input, Weight };

  LibraryConvolution(Convolution const& c, Pass pass) {
    using dnnl::memory;
    OnThisThread const alone;
    try {
      memory::dims const steps{c.stride, c.stride}, gaps{c.dilation - 1, c.dilation - 1}, pad{c.pad, c.pad};
      auto const f32 = memory::data_type::f32;
      memory::desc const x({c.rows, c.groups * c.in, c.h, c.w}, f32, memory::format_tag::nchw);
      memory::desc const w =
          c.groups == 1 ? memory::desc({c.out, c.in, c.kernel, c.kernel}, f32, memory::format_tag::oihw)
                        : memory::desc({c.groups, c.out, c.in, c.kernel, c.kernel}, f32, memory::format_tag::goihw);
      memory::desc const y({c.rows, c.groups * c.out, c.out_h, c.out_w}, f32, memory::format_tag::nchw);
      auto const how = dnnl::algorithm::convolution_direct;
      using Forward = dnnl::convolution_forward;
      Forward::primitive_desc const hint({dnnl::prop_kind::forward_training, how, x, w, y, steps, gaps, pad, pad},
                                         engine_);
      auto const bind = [&](memory::desc const& a, int as, memory::desc const& b, int bs, memory::desc const& to,
                            int ts) {
        for (memory::desc const* d : {&a, &b, &to}) memory_[d == &a ? 0 : d == &b ? 1 : 2] = {*d, engine_, nullptr};
        name_[0] = as, name_[1] = bs, name_[2] = ts;
      };
      if (pass == Pass::Forward) {
        run_ = Forward(hint);
        bind(x, DNNL_ARG_SRC, w, DNNL_ARG_WEIGHTS, y, DNNL_ARG_DST);
      } else if (pass == Pass::Input) {
        using Back = dnnl::convolution_backward_data;
        run_ = Back(Back::primitive_desc({how, x, w, y, steps, gaps, pad, pad}, engine_, hint));
        bind(y, DNNL_ARG_DIFF_DST, w, DNNL_ARG_WEIGHTS, x, DNNL_ARG_DIFF_SRC);
      } else {
        using Back = dnnl::convolution_backward_weights;
        run_ = Back(Back::primitive_desc({how, x, w, y, steps, gaps, pad, pad}, engine_, hint));
        bind(x, DNNL_ARG_SRC, y, DNNL_ARG_DIFF_DST, w, DNNL_ARG_DIFF_WEIGHTS);
      }
    } catch (dnnl::error const& e) {
      throw Error({"oneDNN: cannot convolve ", c.rows, " images of (", c.groups * c.in, ", ", c.h, ", ", c.w,
                   ") with windows of ", c.kernel, ": ", e.what()});
    }
  }

  /// Forward: x, w to y. Input: dy, w to dx. Weight: x, dy to dw.
  void operator()(float const* a, float const* b, float* to) {
    OnThisThread const alone;
    memory_[0].set_data_handle(const_cast<float*>(a));  // read-only: the argument's index says so
    memory_[1].set_data_handle(const_cast<float*>(b));
    memory_[2].set_data_handle(to);
    dnnl_exec_arg_t const args[] = {
        {name_[0], memory_[0].get()}, {name_[1], memory_[1].get()}, {name_[2], memory_[2].get()}};
    if (dnnl_primitive_execute(run_.get(), stream_.get(), 3, args) != dnnl_success)
      throw Error("oneDNN: a convolution failed");
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive run_;
  dnnl::memory memory_[3];
  int name_[3]{};
};

}  // namespace cleave::backend::host
