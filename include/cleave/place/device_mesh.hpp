// place/device_mesh.hpp - the ranks as an array of any number of axes: who stands where, and who is in which group.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <string>

#include "../meta/error.hpp"
#include "axis_set.hpp"

namespace cleave::place {

/// `DeviceMesh{2, 4}`: the number of ranks along each axis, the outermost first. Ranks are numbered from 0 along the
/// innermost axis first. A size of 0 is known only when a run starts (`with_replicas`): that of the data axis, which
/// cuts the batch and nothing else.
struct DeviceMesh {
  int axes = 2;
  int size[most_axes]{1, 1, 1, 1};  // beyond `axes`: 1
  int stages = 1;  // of a pipeline: each has such an array of ranks, the first stage those from rank 0 on

  constexpr DeviceMesh() = default;
  constexpr DeviceMesh(std::initializer_list<int> sizes) : axes(0) {
    for (int n : sizes) {
      if (axes == most_axes) throw Error({"a mesh of more than ", most_axes, " axes"});
      size[axes++] = n;
    }
  }
  constexpr DeviceMesh with_replicas(int replicas) const {
    DeviceMesh out = *this;
    out.size[data_axis] = replicas;
    return out;
  }

  constexpr AxisSet all() const {
    AxisSet out;
    out.bits = (1u << axes) - 1;
    return out;
  }
  /// The axes of the ranks of one replica, its ways.
  constexpr AxisSet of_replica() const { return all() - over_data; }
  constexpr int replicas() const { return size[data_axis]; }
  constexpr int ways() const { return group_size(of_replica()); }
  constexpr int ranks_of_stage() const { return group_size(all()); }
  constexpr int ranks_of_replica() const { return ways() * stages; }
  constexpr int world() const { return ranks_of_stage() * stages; }
  constexpr int stage(int rank) const { return stages == 1 ? 0 : rank / ranks_of_stage(); }
  /// Its number among the ranks of its stage; of unknown replicas, a rank is one of the first stage.
  constexpr int within_stage(int rank) const {
    return stages == 1 || ranks_of_stage() == 0 ? rank : rank % ranks_of_stage();
  }
  /// The rank of another stage that has the same coordinates.
  constexpr int at_stage(int rank, int other) const { return rank + (other - stage(rank)) * ranks_of_stage(); }

  constexpr int group_size(AxisSet over) const {
    int n = 1;
    for (int a = 0; a < axes; ++a) n *= over.has(a) ? size[a] : 1;
    return n;
  }
  /// Of a rank along an axis.
  constexpr int coordinate(int rank, int axis) const {
    rank = within_stage(rank);
    for (int a = axes - 1; a > axis; --a) rank /= size[a];
    return axis == data_axis ? rank : rank % size[axis];
  }
  /// A rank's number in its group: of its coordinates along these axes, the innermost first.
  constexpr int index(int rank, AxisSet over) const {
    rank = within_stage(rank);
    int out = 0, unit = 1;
    for (int a = axes - 1; a >= 0; --a) {
      int const at = a == data_axis ? rank : rank % size[a];
      if (over.has(a)) {
        out += at * unit;
        unit *= size[a];
      }
      rank /= a == data_axis ? 1 : size[a];
    }
    return out;
  }
  /// The rank of this index in a group over these axes: of the group of rank 0.
  constexpr int member(int index, AxisSet over) const {
    int out = 0, apart = 1;
    for (int a = axes - 1; a >= 0; apart *= size[a--]) {
      if (!over.has(a)) continue;
      out += (a == data_axis ? index : index % size[a]) * apart;
      index /= a == data_axis ? 1 : size[a];
    }
    return out;
  }
  friend constexpr bool operator==(DeviceMesh const&, DeviceMesh const&) = default;
};

}  // namespace cleave::place
