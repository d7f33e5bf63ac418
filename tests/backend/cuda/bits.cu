// backend/cuda/bits.cu - the updates of one rank, which reads gradients in f32, and of several, which read bf16. For
// bits.sh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/cuda/device.hpp>
#include <cleave/backend/gpu/kernels/clip.hpp>
#include <cleave/optim/adaptive.hpp>
#include <cleave/optim/sgd.hpp>
#include <cleave/tensor/number.hpp>

using namespace cleave;
using namespace cleave::backend;

template <class Base> struct Decayed : Base { static constexpr float weight_decay = 0.01f, clip_norm = 1; };
template <class O, class G> using Plain = gpu::Update<Decayed<O>, bf16, G>;
template <class O, class G> using Clipped = gpu::Update<Decayed<O>, bf16, G, gpu::Scaled<G, float>>;

template <class K> void* of() { return reinterpret_cast<void*>(cuda::entry<K>); }
template <class O> void updates(void** to) {
  to[0] = of<Plain<O, float>>(), to[1] = of<Plain<O, bf16>>();
  to[2] = of<Clipped<O, float>>(), to[3] = of<Clipped<O, bf16>>();
}
template <class... Os> void all(void** to) { (updates<Os>(to), ...); }
void every(void** to) {
  all<Sgd, Momentum, Nesterov, Adagrad, RmsProp, Adam, AdamW>(to);
  to[0] = of<gpu::Keep<bf16, float>>(), to[1] = of<gpu::Keep<bf16, bf16>>();
}
