// place/ranks.hpp - the ranks of a mesh with a matrix each: what a sharding means, and what collectives do, in plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/place/sharding.hpp>
#include <vector>

namespace cleave::place {

using Array = std::vector<long>;

/// A matrix of side x side whole numbers on every rank of a mesh.
struct Ranks {
  static constexpr int side = 8;
  DeviceMesh mesh;

  int count() const {
    int n = 1;
    for (int a = 0; a < mesh.axes; ++a) n *= mesh.size[a];
    return n;
  }
  int stride(int axis) const {
    int n = 1;
    for (int a = axis + 1; a < mesh.axes; ++a) n *= mesh.size[a];
    return n;
  }
  int at(int rank, int axis) const { return rank / stride(axis) % mesh.size[axis]; }

  struct Part {
    int begin[2]{0, 0}, size[2]{side, side};
    int elements() const { return size[0] * size[1]; }
  };
  Part part(int rank, Sharding const& s) const {
    Part p;
    for (int a = 0; a < mesh.axes; ++a) {
      if (s.on[a].kind != Kind::Shard) continue;
      int const d = s.on[a].dim;
      p.size[d] /= mesh.size[a];
      p.begin[d] += at(rank, a) * p.size[d];
    }
    return p;
  }
  /// What the rank has of `whole`: its part, or a summand of it if other ranks have the rest.
  Array held(int rank, Sharding const& s, Array const& whole) const {
    Part const p = part(rank, s);
    int summand = 0, summands = 1;
    for (int a = 0; a < mesh.axes; ++a) {
      if (s.on[a].kind != Kind::Partial) continue;
      summand = summand * mesh.size[a] + at(rank, a);
      summands *= mesh.size[a];
    }
    Array out;
    for (int i = 0; i < p.size[0]; ++i) {
      for (int j = 0; j < p.size[1]; ++j) {
        long const v = whole[static_cast<std::size_t>((p.begin[0] + i) * side + p.begin[1] + j)];
        auto const piece = [&](int k) { return (v * 7 + k * 13) % 101; };
        long rest = v;
        for (int k = 0; k + 1 < summands; ++k) rest -= piece(k);
        out.push_back(summand + 1 < summands ? piece(summand) : rest);
      }
    }
    return out;
  }
  std::vector<Array> all(Sharding const& s, Array const& whole) const {
    std::vector<Array> out;
    for (int r = 0; r < count(); ++r) out.push_back(held(r, s, whole));
    return out;
  }

  static Array join(std::vector<Array> const& parts, Part const& each, int dim) {
    Array out;
    int const rows = dim == 0 ? 1 : each.size[0];
    for (int row = 0; row < rows; ++row) {
      for (Array const& p : parts) {
        auto const n = static_cast<long>(p.size()) / rows;
        out.insert(out.end(), p.begin() + row * n, p.begin() + (row + 1) * n);
      }
    }
    return out;
  }
  static Array take(Array const& from, Part const& is, int dim, int mine, int n) {
    Array out;
    int const rows = is.size[0], columns = is.size[1];
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        int const place = dim == 0 ? i / (rows / n) : j / (columns / n);
        if (place == mine) out.push_back(from[static_cast<std::size_t>(i * columns + j)]);
      }
    }
    return out;
  }

  /// One collective over the ranks that differ along `axis` alone.
  std::vector<Array> run(op::Verb does, int axis, Sharding const& from, Sharding const& to,
                         std::vector<Array> const& have) const {
    std::vector<Array> out;
    using enum op::Verb;
    int const n = mesh.size[axis];
    for (int r = 0; r < count(); ++r) {
      std::vector<Array> group;
      for (int k = 0; k < n; ++k) group.push_back(have[static_cast<std::size_t>(r + (k - at(r, axis)) * stride(axis))]);
      Array mine = have[static_cast<std::size_t>(r)];
      if (does == AllReduce || does == ReduceScatter) {
        for (std::size_t e = 0; e < mine.size(); ++e) {
          mine[e] = 0;
          for (Array const& g : group) mine[e] += g[e];
        }
      }
      Sharding whole = from;
      if (does == AllGather || does == AllToAll) mine = join(group, part(r, from), from.on[axis].dim);
      whole.on[axis] = invariant;
      if (does == Slice || does == ReduceScatter || does == AllToAll) {
        mine = take(mine, part(r, whole), to.on[axis].dim, at(r, axis), n);
      }
      out.push_back(mine);
    }
    return out;
  }

  /// Whether the ranks hold `whole` as `s` says: parts element by element, summands in their sum.
  bool right(Sharding const& s, std::vector<Array> const& have, Array const& whole) const {
    Sharding summed = s;
    for (Placement& p : summed.on) {
      if (p.kind == Kind::Partial) p = invariant;
    }
    for (int r = 0; r < count(); ++r) {
      Array total(static_cast<std::size_t>(part(r, s).elements()), 0);
      for (int q = 0; q < count(); ++q) {
        bool with = true;
        for (int a = 0; a < mesh.axes; ++a) with = with && (s.on[a].kind == Kind::Partial || at(q, a) == at(r, a));
        if (!with) continue;
        Array const& summand = have[static_cast<std::size_t>(q)];
        if (summand.size() != total.size()) return false;
        for (std::size_t e = 0; e < total.size(); ++e) total[e] += summand[e];
      }
      if (total != held(r, summed, whole)) return false;
    }
    return true;
  }
};

}  // namespace cleave::place
