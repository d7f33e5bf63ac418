// backend/gpu/communication/together.hpp - the steps on which ranks communicate, enqueued for all local ones: conversions, sums, updates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../kernels/clip.hpp"
#include "../kernels/rows.hpp"
#include "converter.hpp"
#include "direct.hpp"
#include "encoded.hpp"
#include "routed.hpp"

namespace cleave::backend::gpu {

/// Events replace the waits of threads. Gradients are reduced on a separate stream that overlaps with the backward
/// pass; traffic and the order of sums are those of host::Gradients and host::all_reduce.
template <class P, class Machine, class Link> class Together {
 public:
  using Ranks = gpu::Ranks<P, Machine, Link>;
  using One = typename Ranks::One;
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  static constexpr bool encodes = bool(P::format.encoding) && !P::served, routed = bool(P::format.path);
  using Plain = typename std::conditional_t<routed, meta::type<Routed<P, Machine, Link>>,
                                            meta::type<Direct<P, Machine, Link>>>::is;
  using Exchange = typename std::conditional_t<encodes, meta::type<Encoded<P, Machine, Link>>, meta::type<Plain>>::is;

  Together(Ranks& ranks, Control<A> const* control)
      : ranks_(ranks), control_(control), exchange_(ranks), direct_(ranks) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World})
      sums_[a == host::Axis::World] = host::reduction(ranks.at(0).m, a, ranks.share, P::format.ordered, false);
  }

  void convert(int step, int round) {
    schedule::Step const s = P::schedule.step[step];
    schedule::ProgramNode const& n = schedule::program<P>.node[s.node];
    bool const forward = s.what == schedule::Do::Convert;
    int const from = !forward    ? P::schedule.gradient[s.node]
                     : n.in0 < 0 ? P::schedule.input_value
                                 : P::schedule.value[n.in0];
    op::Verb const verb = forward ? n.forward : n.backward;
    bool const from_rows = forward ? n.from_rows : n.rows_cut, to_rows = forward ? n.rows_cut : n.from_rows;
    if (verb != op::Verb::Slice) ranks_.meet(host::Axis::Model);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (int phase = 0; phase < Converter<Ranks>::phases(verb); ++phase) {
      if (phase > 0) ranks_.meet(host::Axis::Model);
      ranks_.phase(&One::compute, [&](One& one) {
        schedule::Range const own = one.m.slices(ranks_.share, false, round);
        host::Value v{n.features, long{own.size()} * P::request.rows, {0}};
        for (int w = 0; w < P::ways; ++w) {
          int const end = ranks_.share.part(one.m.replica() * P::ways + w, round).end;
          v.row.push_back(long{end - own.begin} * P::request.rows);
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
    bool const world = P::placed.node[P::schedule.step[step].node].rows_cut;
    host::Axis const axis = world ? host::Axis::World : host::Axis::Data;
    ranks_.meet(axis);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    ranks_.phase(&One::compute, [&](One& one) {
      put_sum<S, S, false>(ranks_, one, one.compute, axis, sums_[world], from,
                           P::schedule.most_sum_leaf * static_cast<long>(sizeof(S)), to, n);
    });
    ranks_.meet(axis);
    ranks_.phase(&One::compute, [&](One& one) { gather<S>(ranks_, one, one.compute, axis, to, n); });
    ranks_.close_all(&One::compute);
    ranks_.meet(axis);
  }

  /// Starts the exchange of a bucket's gradients.
  void reduce(int b, int step, int round) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    if (ranks_.at(0).m.size(axis) == 1) return;
    with(b, [&](auto& exchange) {
      if constexpr (std::remove_reference_t<decltype(exchange)>::packs) {
        ranks_.open_all(&One::compute, host::Did::Line, step, round);
        for (One& one : ranks_.all) {
          if (one.here && !ranks_.rehearsing()) pack(ranks_, one, bucket);
        }
        ranks_.close_all(&One::compute);
      }
      ranks_.meet(axis, &One::compute, &One::sums);
      ranks_.open_all(&One::sums, host::Did::Reduce, step, round);
      exchange.reduce(b, axis);
      ranks_.close_all(&One::sums);
    });
  }
  /// If a rank sums with no other, all buckets are one: one kernel updates the arena.
  void update(int b, int step, int round) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    if (alone(b)) {
      if (b > 0 && alone(b - 1)) return;  // included in the one below
      int end = b;
      while (end + 1 < P::schedule.buckets && alone(end + 1)) ++end;
      long const count = P::schedule.bucket[end].offset + P::schedule.bucket[end].count - bucket.offset;
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      for (One& one : ranks_.all) {
        if (one.here) put_update(one, bucket.offset, count, sources(own_sum(one, b)));
      }
      ranks_.close_all(&One::compute);
      return;
    }
    if (!P::clips) ranks_.meet(axis, &One::sums, &One::compute);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    with(b, [&](auto& exchange) {
      for (One& one : ranks_.all) {
        auto const from = [&] {
          if constexpr (P::clips) {
            return found(exchange, one, b);
          } else {
            return exchange.sums(one, b, axis);
          }
        }();
        if (one.here) put_update(one, bucket.offset, bucket.count, sources(from));
      }
    });
    ranks_.close_all(&One::compute);
  }

  /// For clipping, before any update: when all sums are complete, computes the scale of the gradients.
  void norm(int step, int round) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World}) {
      bool any = false;
      for (int b = 0; b < P::schedule.buckets; ++b) any = any || (axis_of(b) == a && !alone(b));
      if (any) ranks_.meet(a, &One::sums, &One::compute);
    }
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (int b = P::schedule.buckets - 1; b >= 0; --b) {
      if (!alone(b)) with(b, [&](auto& exchange) { find(exchange, b); });
    }
    for (One& one : ranks_.all) {
      if (one.here && !ranks_.rehearsing()) put_squares(one);
    }
    if (P::ways > most_sources) throw Error(too_many("ways", most_sources));
    if (P::ways > 1) ranks_.meet(host::Axis::Model);
    ranks_.phase(&One::compute, [&](One& one) {
      typename ClipScale<typename P::optimizer, A>::Args args{scale(one), P::ways, {}};
      for (int w = 0; w < P::ways; ++w) {
        args.squares[w] =
            ranks_.template reach<double>(one, one.m.peer(host::Axis::Model, w), ranks_.layout.norm, 0, 1);
      }
      if (!ranks_.planning()) one.compute.template launch<ClipScale<typename P::optimizer, A>>(1, args);
    });
    ranks_.close_all(&One::compute);
  }

 private:
  /// A bucket's exchange.
  template <class F> void with(int b, F f) {
    if (P::schedule.bucket[b].whole) return f(direct_);
    f(exchange_);
  }
  static host::Axis axis_of(int bucket) {
    return P::schedule.bucket[bucket].world ? host::Axis::World : host::Axis::Data;
  }
  bool alone(int bucket) const { return ranks_.at(0).m.size(axis_of(bucket)) == 1; }
  std::vector<A const*> own_sum(One const& one, int b) const {
    return {ranks_.template in_arena<A>(one, ranks_.layout.gradients) + P::schedule.bucket[b].offset};
  }
  template <class G> static Sources<G> sources(std::vector<G const*> const& from) {
    if (from.size() > most_sources) throw Error(too_many("parts", most_sources));
    Sources<G> g{static_cast<int>(from.size()), {}};
    for (std::size_t i = 0; i < from.size(); ++i) g.from[i] = from[i];
    return g;
  }

  /// Each rank asks once in a step where its sums are: this counts what it reads.
  template <class E> void find(E& exchange, int b) {
    for (One& one : ranks_.all) {
      auto const from = exchange.sums(one, b, axis_of(b));
      place(one, b).assign(from.begin(), from.end());
    }
  }
  template <class E> auto found(E& exchange, One& one, int b) {
    decltype(exchange.sums(one, b, axis_of(b))) from;
    for (void const* p : place(one, b)) from.push_back(static_cast<typename decltype(from)::value_type>(p));
    return from;
  }
  std::vector<void const*>& place(One const& one, int b) {
    return found_[static_cast<std::size_t>(one.m.rank * P::schedule.buckets + b)];
  }
  A* scale(One const& one) const {
    return reinterpret_cast<A*>(ranks_.template in_arena<double>(one, ranks_.layout.norm, schedule::norm_scale));
  }
  /// The squares that a rank counts: by pieces, then their sum.
  void put_squares(One& one) {
    double *const words = ranks_.template in_arena<double>(one, ranks_.layout.norm),
                  *to = words + schedule::norm_pieces;
    schedule::each_of_norm<P>([&](schedule::OfNorm const& n) {
      if (n.alike && one.m.way() != 0) return;
      schedule::Bucket const& bucket = P::schedule.bucket[n.bucket];
      int const pieces = blocks_for(n.count, schedule::norm_piece);
      auto const put = [&](auto g) {
        one.compute.template launch<Squares<typename decltype(g)::format>>(
            pieces, {to, n.offset - bucket.offset, n.count, bucket.count, g});
      };
      if (alone(n.bucket)) {
        put(sources(own_sum(one, n.bucket)));
      } else {
        with(n.bucket, [&](auto& exchange) { put(sources(found(exchange, one, n.bucket))); });
      }
      to += pieces;
    });
    one.compute.template launch<AddUp<double>>(
        1, {words, words + schedule::norm_pieces, to - words - schedule::norm_pieces});
  }
  template <class G> void put_update(One& one, long offset, long count, Sources<G> const& g) {
    if (ranks_.rehearsing()) return;
    auto const& l = ranks_.layout;
    A* const weights = ranks_.template in_arena<A>(one, l.weights) + offset;
    T* const copies = narrow ? ranks_.template in_arena<T>(one, l.copies) + offset : nullptr;
    if constexpr (P::pushes_gradients) {
      stream<Keep<T, G>>(one.compute,
                         {ranks_.template in_arena<A>(one, l.outbox) + offset, weights, copies, count, control_, g});
    } else {
      auto const step = [&](auto const& from) {
        stream<Update<typename P::optimizer, T, G, std::remove_cvref_t<decltype(from)>>>(
            one.compute, {weights, copies, ranks_.template in_arena<A>(one, l.moments) + offset,
                          P::schedule.weight_elements, count, control_, from});
      };
      if constexpr (P::clips) {
        step(Clipped<G, A>{g, scale(one)});
      } else {
        step(g);
      }
    }
  }

  Ranks& ranks_;
  Control<A> const* control_;
  Exchange exchange_;
  Direct<P, Machine, Link> direct_;
  host::Reduction sums_[2];
  std::vector<std::vector<void const*>> found_{
      ranks_.all.size() *
      static_cast<std::size_t>(P::schedule.buckets)};  // of each rank and bucket, the parts of its sum
};

}  // namespace cleave::backend::gpu
