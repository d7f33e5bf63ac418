// place/split.hpp - the splits of a layer over the model axes; each names one letter of the equation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave {

// y (b, o) = x (b, i) W (i, o), two ways:
//
//   SplitCols   rank 0 | x  W[:, left]  |  -> left columns of y     no sum: each rank owns whole columns
//               rank 1 | x  W[:, right] |  -> right columns of y    dX is the sum over ranks, in the backward pass
//   SplitRows   rank 0 | x[:, left]  W[top, :]    |  -> a summand of y   dX comes out in columns, unsummed
//               rank 1 | x[:, right] W[bottom, :] |  -> a summand of y
struct SplitCols {
  static constexpr char letter = 'o';
};
struct SplitRows {
  static constexpr char letter = 'i';
};
/// Rows of what comes in columns, else columns: each pair meets without a conversion and costs one sum per pass, also
/// where two layers in columns come before one in rows (SwiGlu).
struct SplitColsRows {
  static constexpr char letter = '~';
};
/// Columns of what comes out of rows, else rows: over one of several axes, with SplitColsRows over another.
struct SplitRowsCols {
  static constexpr char letter = '^';
};
/// Whole samples: data parallelism over the model axis, for layers with few weights (convolutions).
struct SplitBatch {
  static constexpr char letter = 'b';
};
/// Whole groups of a grouped convolution, which exchange nothing.
struct SplitGroups {
  static constexpr char letter = 'c';
};
/// Whole samples, and of Experts whole experts, over the same ranks: two all-to-alls in each pass bring positions to
/// their experts and back. Source: Lepikhin et al., "GShard", 2020.
struct SplitExperts {
  static constexpr char letter = 'b', experts = 'c';
};
/// Whole positions of every sequence (context parallelism): each rank has all weights, and a part of the positions of
/// all that is computed on each position by itself. Attention has all positions of a part of the heads instead: two
/// all-to-alls in each pass, of as many elements as its queries, keys, values and outputs have. Source: Jacobs et al.,
/// "DeepSpeed Ulysses", 2023. Of images whole rows of pixels: convolutions and pools read those that their windows need
/// from the ranks that have them.
struct SplitPositions {
  static constexpr char letter = 't';
};
/// Not split: every rank of the model axis computes the same.
struct Whole {
  static constexpr char letter = 'W';
};
/// The letter of a split that a layer can have along one axis; of another type 0.
template <class Split> constexpr char letter_along_one_axis() {
  if constexpr (
      requires { Split::along; } || !requires { Split::letter; }) {
    return '\0';
  } else {
    return Split::letter == '?' ? '\0' : Split::letter;  // what chooses splits
  }
}

/// That of experts, which are whole on a rank by each split of weights. By SplitExperts they are cut along its axis
/// alone.
template <class Split> inline constexpr bool splits_experts = requires { Split::experts; };
template <class Split> constexpr char letter_of_experts(bool another_splits_them = false) {
  if constexpr (splits_experts<Split>) {
    return Split::experts;
  } else {
    char const letter = letter_along_one_axis<Split>();
    if (letter == 0 || letter == 'W' || letter == 'b') return letter;
    return another_splits_them ? 'W' : 'c';
  }
}

/// Over `Ways<a, b, ...>`, an array of ranks: a split for each of its axes, the outermost first. By
/// `SplitAlong<SplitColsRows, SplitRowsCols>` a rank has a block of every weight: the first layer's columns lie over
/// the first axis and its rows over the second, the next layer's the other way round, and each layer has one sum, over
/// one of the axes. A single split is for all axes: columns in a * b parts.
template <class First, class... Splits> struct SplitAlong {
  static constexpr int axes = 1 + static_cast<int>(sizeof...(Splits));
  static constexpr char letter = letter_along_one_axis<First>(),
                        along[axes] = {letter, letter_along_one_axis<Splits>()...};
  static constexpr bool have_own_axis = splits_experts<First> || (splits_experts<Splits> || ...);
  static constexpr char experts_along[axes] = {letter_of_experts<First>(have_own_axis),
                                               letter_of_experts<Splits>(have_own_axis)...};
  static constexpr bool are_splits = letter != 0 && ((letter_along_one_axis<Splits>() != 0) && ...);
};

}  // namespace cleave
