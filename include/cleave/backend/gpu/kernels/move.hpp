// backend/gpu/kernels/move.hpp - kernels that move and add: packing for conversions, the ordered sum over ranks, merges, inputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>

#include "../../../tensor/number.hpp"
#include "context.hpp"
#include "pack.hpp"

namespace cleave::backend::gpu {

/// Base of element-wise kernels: no thread synchronises with another.
struct Each {
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
};

template <class To, class From> CLEAVE_HD To in_format(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else {
    return static_cast<To>(v);
  }
}
template <class To, class From, int W> CLEAVE_HD Pack<To, W> converted(Pack<From, W> const& from) {
  Pack<To, W> to;
  CLEAVE_UNROLL
  for (int k = 0; k < W; ++k) to.v[k] = in_format<To>(from.v[k]);
  return to;
}
/// Launches a kernel over n elements, K::width in one access.
template <class K, class Q> void stream(Q const& q, typename K::Args const& args) {
  q.template launch<K>(blocks_each(args.n, K::width), args);
}

template <class To, class From> struct Copy : Each {
  static constexpr int width = pack_of<To, From>();
  struct Args {
    To* to;
    From const* from;
    long n;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.to, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      store<W>(a.to + i, converted<To>(load<W>(a.from + i)));
    });
  }
};
/// `lines` runs of `width` elements in each of `blocks`; how far apart these begin where they are written and read.
struct CopyExtents {
  long lines = 1, width = 0, to_apart = 0, from_apart = 0;
  long blocks = 1, to_block = 0, from_block = 0;
  CLEAVE_HD constexpr long size() const { return blocks * lines * width; }
  constexpr bool dense() const {
    bool const in_block = lines == 1 || (width == to_apart && width == from_apart);
    return in_block && (blocks == 1 || (lines * width == to_block && lines * width == from_block));
  }
};
/// In the format of each.
template <class To, class From> struct CopyLines : Each {
  struct Args {
    To* to;
    From const* from;
    CopyExtents of;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.of.size(), [&](long e) {
      long const line = e / a.of.width, block = line / a.of.lines, in_block = line % a.of.lines, i = e % a.of.width;
      a.to[block * a.of.to_block + in_block * a.of.to_apart + i] =
          in_format<To>(a.from[block * a.of.from_block + in_block * a.of.from_apart + i]);
    });
  }
};

/// Zeros in such runs.
template <class T> struct ClearLines : Each {
  struct Args {
    T* to;
    CopyExtents of;  // as they are written
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.of.size(), [&](long e) {
      long const line = e / a.of.width;
      a.to[line / a.of.lines * a.of.to_block + line % a.of.lines * a.of.to_apart + e % a.of.width] =
          static_cast<T>(0.0f);
    });
  }
};
template <class T, class Q> void clear_lines(Q const& q, T* to, CopyExtents const& of) {
  q.template launch<ClearLines<T>>(blocks_each(of.size()), {to, of});
}

/// Launches one or the other: a copy without gaps needs no division.
template <class To, class From, class Q> void copy_lines(Q const& q, To* to, From const* from, CopyExtents const& of) {
  if (of.size() == 0) return;
  if (of.dense()) {
    stream<Copy<To, From>>(q, {to, from, of.size()});
  } else {
    q.template launch<CopyLines<To, From>>(blocks_each(of.size()), {to, from, of});
  }
}

inline constexpr int most_sources = 64, most_depth = 8;  // of a sum: tensors, levels of the tree

/// What a sum reads: lines of several tensors of E, how far lines and blocks of them are apart in each, and how many
/// sums are merged after each.
template <class E> struct Summands {
  E* to = nullptr;
  long lines = 0, width = 0, to_apart = 0;
  long blocks = 1, to_block = 0;
  int sources = 0;
  E const* from[most_sources]{};
  long apart[most_sources]{}, block[most_sources]{};
  signed char merges[most_sources]{};
};

/// Lines again: the sum over the sources, in their order.
template <class T> struct SumLines : Each {
  using A = tensor::accumulate_t<T>;
  using Args = Summands<T>;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.blocks * a.lines * a.width, [&](long e) {
      long const at = e / a.width, block = at / a.lines, line = at % a.lines, i = e % a.width;
      auto const of = [&](int s) { return static_cast<A>(a.from[s][block * a.block[s] + line * a.apart[s] + i]); };
      A sum = of(0);
      for (int s = 1; s < a.sources; ++s) sum += of(s);
      a.to[block * a.to_block + line * a.to_apart + i] = static_cast<T>(sum);
    });
  }
};

/// to += from; sums are rounded to T if one rank and many have to agree in a low-precision format.
template <class T, bool Rounded> struct AddTo : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<A>();
  struct Args {
    A* to;
    A const* from;  // null: only rounds
    long n;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.to, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto sum = load<W>(a.to + i);
      if (a.from) {
        auto const from = load<W>(a.from + i);
        CLEAVE_UNROLL
        for (int k = 0; k < W; ++k) sum.v[k] += from.v[k];
      }
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) sum.v[k] = Rounded ? static_cast<A>(static_cast<T>(sum.v[k])) : sum.v[k];
      store<W>(a.to + i, sum);
    });
  }
};
/// Adds the two gradients of a value that is read twice.
template <class T> struct AddValues : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<T>();
  struct Args {
    T* to;
    T const* from;
    long n;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.to, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto sum = load<W>(a.to + i);
      auto const from = load<W>(a.from + i);
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) sum.v[k] = static_cast<T>(static_cast<A>(sum.v[k]) + static_cast<A>(from.v[k]));
      store<W>(a.to + i, sum);
    });
  }
};

template <class Wire> struct Leaves {
  Wire* to;
  long n;
  int leaves;
  Wire const* from[most_sources];
  signed char merges[most_sources];
};
/// The sum over the branches that the ranks of a group hold, in the tree of schedule/slices.hpp: leaves from left to
/// right, with `merges` saying how many siblings are merged after each. The stack is kept in registers. `Complete`: the
/// number of leaves of a tree whose leaves all have as many levels above them; 0: of any.
template <class T, class Wire, bool Rounded, int Complete = 0> struct SumLeaves : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<Wire>(), read_ahead = 4;  // leaves that are read before the first is added
  using Args = Leaves<Wire>;
  template <int W> CLEAVE_HD static Pack<Wire, W> complete(Args const& a, long i) {
    Pack<Wire, W> leaf[Complete];
    CLEAVE_UNROLL
    for (int l = 0; l < Complete; ++l) leaf[l] = load<W>(a.from[l] + i);
    Pack<A, W> sum[Complete];
    CLEAVE_UNROLL
    for (int l = 0; l < Complete; ++l) sum[l] = converted<A>(leaf[l]);
    CLEAVE_UNROLL
    for (int left = Complete / 2; left > 0; left /= 2) {
      CLEAVE_UNROLL
      for (int l = 0; l < left; ++l) {
        CLEAVE_UNROLL
        for (int k = 0; k < W; ++k) {
          A const both = sum[2 * l].v[k] + sum[2 * l + 1].v[k];
          sum[l].v[k] = Rounded ? static_cast<A>(static_cast<T>(both)) : both;
        }
      }
    }
    return converted<Wire>(sum[0]);
  }
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.to, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      if constexpr (Complete > 0) return store<W>(a.to + i, complete<W>(a, i));
      A stack[most_depth][W]{};
      int depth = 0;
      auto const put = [&](Pack<Wire, W> const& leaf, int merges) {
        CLEAVE_UNROLL
        for (int d = 0; d < most_depth; ++d) {
          CLEAVE_UNROLL
          for (int k = 0; k < W; ++k) stack[d][k] = d == depth ? static_cast<A>(leaf.v[k]) : stack[d][k];
        }
        ++depth;
        for (int m = 0; m < merges; ++m) {
          --depth;
          CLEAVE_UNROLL
          for (int d = 1; d < most_depth; ++d) {
            CLEAVE_UNROLL
            for (int k = 0; k < W; ++k) {
              A const sum = stack[d - 1][k] + stack[d][k];
              if (d == depth) stack[d - 1][k] = Rounded ? static_cast<A>(static_cast<T>(sum)) : sum;
            }
          }
        }
      };
      for (int first = 0; first < a.leaves; first += read_ahead) {
        Pack<Wire, W> leaf[read_ahead];
        CLEAVE_UNROLL
        for (int l = 0; l < read_ahead; ++l) {
          if (first + l < a.leaves) leaf[l] = load<W>(a.from[first + l] + i);
        }
        CLEAVE_UNROLL
        for (int l = 0; l < read_ahead; ++l) {
          if (first + l < a.leaves) put(leaf[l], a.merges[first + l]);
        }
      }
      Pack<Wire, W> to;
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) to.v[k] = static_cast<Wire>(stack[0][k]);
      store<W>(a.to + i, to);
    });
  }
};

/// How many sums are merged after leaf l of a complete tree: as many as l + 1 can be halved.
inline bool is_complete(int leaves, signed char const* merges) {
  for (int l = 0; l < leaves; ++l) {
    if (merges[l] != std::countr_zero(static_cast<unsigned>(l + 1))) return false;
  }
  return true;
}

/// Gradients in the format of the data, which are added to what is kept of their sum, in that of sums.
template <class T> struct KeptSum {
  tensor::accumulate_t<T>* to;
  long n;
  int sources;
  bool goes_on;  // there is a sum
  T const* from[most_sources];
};
/// In their order.
template <class T> struct AddToKept : Each {
  using A = tensor::accumulate_t<T>;
  using Args = KeptSum<T>;
  static constexpr int width = pack_of<A, T>();
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.to, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto sum = a.goes_on ? load<W>(a.to + i) : Pack<A, W>{};
      for (int s = 0; s < a.sources; ++s) {
        auto const from = load<W>(a.from[s] + i);
        CLEAVE_UNROLL
        for (int k = 0; k < W; ++k) sum.v[k] += static_cast<A>(from.v[k]);
      }
      store<W>(a.to + i, sum);
    });
  }
};

/// What a peer sends is added to the local sum, which is sent on in the format of the data.
template <class A, class Wire> struct Addition {
  A* sum;
  Wire* wire;  // the same place, unless it is narrower
  Wire const* from;
  long n;
};
/// `Rounded`: the sum to the format of the data.
template <class T, class Wire, bool Rounded> struct Take : Each {
  using A = tensor::accumulate_t<T>;
  using Args = Addition<A, Wire>;
  static constexpr int width = pack_of<A, Wire>();
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.wire, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto const from = load<W>(a.from + i);
      auto sum = load<W>(a.sum + i);
      Pack<Wire, W> wire;
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) {
        A const v = sum.v[k] + static_cast<A>(from.v[k]);
        sum.v[k] = Rounded ? static_cast<A>(static_cast<T>(v)) : v;
        if constexpr (sizeof(Wire) < sizeof(A)) wire.v[k] = static_cast<Wire>(sum.v[k]);
      }
      store<W>(a.sum + i, sum);
      if constexpr (sizeof(Wire) < sizeof(A)) store<W>(a.wire + i, wire);
    });
  }
};

template <class T, class Q> void sum_lines(Q const& q, Summands<T> const& s) {
  q.template launch<SumLines<T>>(blocks_each(s.blocks * s.lines * s.width), s);
}
/// Of tensors without gaps, in the tree.
template <class T, class Wire, bool Rounded, class Q> void sum_leaves(Q const& q, Summands<Wire> const& s) {
  Leaves<Wire> args{s.to, s.lines * s.width, s.sources, {}, {}};
  for (int i = 0; i < s.sources; ++i) {
    args.from[i] = s.from[i];
    args.merges[i] = s.merges[i];
  }
  switch (is_complete(args.leaves, args.merges) ? args.leaves : 0) {
    case 2:
      return stream<SumLeaves<T, Wire, Rounded, 2>>(q, args);
    case 4:
      return stream<SumLeaves<T, Wire, Rounded, 4>>(q, args);
    case 8:
      return stream<SumLeaves<T, Wire, Rounded, 8>>(q, args);
    default:
      return stream<SumLeaves<T, Wire, Rounded>>(q, args);
  }
}

}  // namespace cleave::backend::gpu
