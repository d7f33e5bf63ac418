// train/many_axes.hpp - plans whose products are cut over several axes of a replica, each by any letter: as values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/plan/plan.hpp>

namespace cleave {

/// A plan with other cuts. `Cuts::mesh` is that of a replica, whose ways are Base's; `Cuts::letters` has the letters of
/// each product, one for an axis after that of the replicas; '.' is none.
template <class Base, class Cuts> struct CutPlan : Base {
  static constexpr place::Request request = [] {
    place::Request r = Base::request;
    r.mesh = Cuts::mesh;
    return r;
  }();
  static_assert(request.mesh.ways() == Base::ways);
  static constexpr int count = Base::ops::size;
  static constexpr place::Wishes<count> wishes = [] {
    place::Wishes<count> out;
    int product = 0;
    for (int k = 0; k < count; ++k) {
      if (!Base::signatures.op[k].contracts) continue;
      for (int a = 1; a < Cuts::mesh.axes; ++a) {
        char const letter = Cuts::letters[product][a - 1];
        out.of[k][a] = letter == '.' ? '\0' : letter;
      }
      ++product;
    }
    return out;
  }();
  static constexpr auto shardings = place::propagate_shardings(Base::signatures, request.mesh, wishes, request);
  static constexpr auto placed = place::place(Base::signatures, shardings, request.mesh, request);
  static constexpr bool is_placed = placed.verdict.law == place::Law::None;

  static constexpr cleave::schedule::PlacedModel placed_model{Base::signatures, placed, request,
                                                              is_placed ? placed.count : 0};
  static constexpr auto forward_pass = cleave::schedule::forward(placed_model);
  static constexpr auto adjoints = cleave::schedule::differentiate(placed_model);
  static constexpr auto fused = cleave::schedule::fuse(placed_model, forward_pass, adjoints);
  static constexpr auto recomputed = cleave::schedule::recompute(placed_model, adjoints, fused);
  static constexpr auto bucket_table = cleave::schedule::bucket(placed_model);
  static constexpr auto buffer_table =
      cleave::schedule::assign_buffers(placed_model, forward_pass, adjoints, fused, recomputed);
  static constexpr auto step_table =
      cleave::schedule::steps(placed_model, forward_pass, adjoints, fused, recomputed, bucket_table, buffer_table);
  static constexpr cleave::schedule::Schedule schedule =
      cleave::schedule::view(placed_model, fused, recomputed, bucket_table, buffer_table, step_table, {});
  static constexpr auto lives = cleave::schedule::liveness(placed_model, schedule);

  static constexpr cleave::schedule::Share share(cleave::schedule::Ranks ranks) {
    return cleave::schedule::shared(request, ranks);
  }
  static constexpr place::Request request_of(int) { return request; }
  static constexpr cleave::schedule::Ranks ranks_of(int replicas) { return request.mesh.with_replicas(replicas); }
};

}  // namespace cleave
