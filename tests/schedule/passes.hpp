// schedule/passes.hpp - all passes of a schedule over one placed model, as a plan has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/schedule/liveness.hpp>

/// Views the model, its nodes and the request.
template <int Ops> struct Passes {
  cleave::schedule::PlacedModel<Ops> model;
  cleave::schedule::ForwardPass<Ops> forward = cleave::schedule::forward(model);
  cleave::schedule::Adjoints<Ops> adjoints = cleave::schedule::differentiate(model);
  cleave::schedule::Fused<Ops> fused = cleave::schedule::fuse(model, forward, adjoints);
  cleave::schedule::Recomputed<Ops> recomputed = cleave::schedule::recompute(model, adjoints, fused);
  cleave::schedule::BucketTable<Ops> buckets = cleave::schedule::bucket(model);
  cleave::schedule::BufferTable<Ops> buffers =
      cleave::schedule::assign_buffers(model, forward, adjoints, fused, recomputed);
  cleave::schedule::StepTable<Ops> steps =
      cleave::schedule::steps(model, forward, adjoints, fused, recomputed, buckets, buffers);
  cleave::schedule::Schedule schedule = cleave::schedule::view(model, fused, recomputed, buckets, buffers, steps, {});
  cleave::schedule::Lives<Ops> lives = cleave::schedule::liveness(model, schedule);

  explicit Passes(cleave::schedule::PlacedModel<Ops> of) : model(of) {}
  Passes(Passes const&) = delete;
};
