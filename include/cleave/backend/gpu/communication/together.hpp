// backend/gpu/communication/together.hpp - the steps on which ranks communicate, enqueued for all local ones: conversions and sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "converter.hpp"
#include "direct.hpp"
#include "gradients.hpp"

namespace cleave::backend::gpu {

/// Events replace the waits of threads. Gradients are reduced on a separate stream that overlaps with the backward
/// pass; traffic and the order of sums are those of host::Gradients and host::all_reduce.
template <class N, class Machine, class Link> class Together {
 public:
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using T = N;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;

  Together(Ranks& ranks, Control<A> const* control) : ranks_(ranks), gradients_(ranks, control) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World})
      sums_[a == host::Axis::World] =
          host::reduction(ranks.at(0).m, a, ranks.share, ranks.program.format.ordered, false);
  }

  void convert(int step, int round) {
    schedule::Program const& program = ranks_.program;
    schedule::Step const s = program.step[step];
    schedule::ProgramNode const& n = program.node[s.node];
    bool const forward = s.what == schedule::Do::Convert;
    int const from = !forward ? program.gradient[s.node] : n.in0 < 0 ? program.input_value : program.value[n.in0];
    op::Verb const verb = forward ? n.forward : n.backward;
    bool const from_rows = forward ? n.from_rows : n.rows_cut, to_rows = forward ? n.rows_cut : n.from_rows;
    if (verb != op::Verb::Slice) ranks_.meet(host::Axis::Model);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (int phase = 0; phase < Converter<Ranks>::phases(verb); ++phase) {
      if (phase > 0) ranks_.meet(host::Axis::Model);
      ranks_.phase(&One::compute, [&](One& one) {
        schedule::Range const own = one.m.slices(ranks_.share, false, round);
        Value v{n.features, long{own.size()} * program.rows, {0}};
        for (int w = 0; w < program.ways; ++w) {
          int const end = ranks_.share.part(one.m.replica() * program.ways + w, round).end;
          v.row.push_back(long{end - own.begin} * program.rows);
        }
        Converter<Ranks>(ranks_, one, v, ranks_.layout.buffer[from], ranks_.layout.buffer[s.dx])
            .put(verb, from_rows, to_rows, phase);
      });
    }
    ranks_.close_all(&One::compute);
    if (verb != op::Verb::Slice) ranks_.meet(host::Axis::Model);
  }

  /// The model's sums (BatchNorm's), complete on every rank: n elements from branches at `from` to `to`.
  void sum(int step, int round, long from, long to, long n) {
    bool const world = ranks_.program.node[ranks_.program.step[step].node].rows_cut;
    host::Axis const axis = world ? host::Axis::World : host::Axis::Data;
    ranks_.meet(axis);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    ranks_.phase(&One::compute, [&](One& one) {
      put_sum<S, S, false>(ranks_, one, one.compute, axis, sums_[world], from,
                           ranks_.program.most_sum_leaf * static_cast<long>(sizeof(S)), to, n);
    });
    ranks_.meet(axis);
    ranks_.phase(&One::compute, [&](One& one) { gather<S>(ranks_, one, one.compute, axis, to, n); });
    ranks_.close_all(&One::compute);
    ranks_.meet(axis);
  }

  DeviceGradients<T, Machine, Link>& gradients() { return gradients_; }

 private:
  Ranks& ranks_;
  DeviceGradients<T, Machine, Link> gradients_;
  host::Reduction sums_[2];
};

}  // namespace cleave::backend::gpu
