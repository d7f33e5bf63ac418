// schedule/image_rows.hpp - rows of images on a group of ranks: those that each has, and those that windows read for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "group.hpp"
#include "program.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// Of a conversion to padded rows. A plane is a channel of a sample. Before it each rank has equal parts of each
/// plane's rows, or all of them; after it those that an operation with windows reads for its part of the output, and
/// zeros where it reads outside the image.
struct ImageRows {
  place::PaddedRows padded;
  bool are_cut = true;      // before the conversion
  int rows = 0, width = 0;  // of a rank's plane before it
  long planes = 0;          // of a rank, in one round of accumulation

  constexpr ImageRows(Program const& program, ProgramNode const& n, Share const& share, int rank, int accumulation)
      : padded(n.padded), are_cut(n.forward == op::Verb::Halo), rows(n.local.x[1]), width(n.local.x[2]) {
    Range const own = share.part(place::axes_of(n.y, place::shard(place::batch)), rank, accumulation);
    planes = long{own.size()} * program.rows * n.local.x[0];
  }

  constexpr int padded_width() const { return width + 2 * padded.columns; }
  /// Of rank i of the group: of the whole image.
  constexpr Range has(int i) const { return are_cut ? Range{i * rows, (i + 1) * rows} : Range{0, padded.height}; }
  constexpr int first_read(int i) const { return i * padded.step + padded.first; }
  constexpr Range reads(int i) const { return meet({first_read(i), first_read(i) + padded.rows}, {0, padded.height}); }
  static constexpr Range meet(Range a, Range b) {
    Range const both{a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
    return both.end > both.begin ? both : Range{both.begin, both.begin};
  }
  /// Where they lie in the tensors of rank i, of all planes.
  constexpr Strided in_part(Range r, int i) const {
    return {long{r.begin - has(i).begin} * width, r.size(), width, width, planes, long{rows} * width};
  }
  constexpr Strided in_padded(Range r, int i) const {
    return {long{r.begin - first_read(i)} * padded_width() + padded.columns,
            r.size(),
            width,
            padded_width(),
            planes,
            plane()};
  }
  /// visit(zeros in the padded rows of rank i), each once.
  template <class Visit> constexpr void each_zeros(int i, Visit visit) const {
    Range const inside = reads(i);
    int const begin = inside.size() > 0 ? inside.begin - first_read(i) : padded.rows, end = begin + inside.size();
    long const line = padded_width();
    auto const put = [&](long first, long count, long lines) {
      if (lines * count > 0) visit(Strided{first, lines, count, line, planes, plane()});
    };
    put(0, line, begin);
    put(end * line, line, padded.rows - end);
    put(begin * line, padded.columns, inside.size());
    put(begin * line + padded.columns + width, padded.columns, inside.size());
  }
  /// visit(rows, readers) for the parts of rank i's rows that the same ranks read, [first, last].
  template <class Visit> constexpr void each_read(int i, int ranks, Visit visit) const {
    Range const own = has(i);
    for (int row = own.begin, next = 0; row < own.end; row = next) {
      Range readers{ranks, ranks};
      next = own.end;
      for (int w = ranks - 1; w >= 0; --w) {
        Range const r = reads(w);
        bool const is_read = r.begin <= row && row < r.end;
        if (is_read) readers = {w, readers.begin == ranks ? w + 1 : readers.end};
        int const changes = is_read ? r.end : r.begin;
        if (changes > row && changes < next) next = changes;
      }
      visit(Range{row, next}, readers);
    }
  }
  /// Elements that rank i sends the others, forward or, of gradients, back.
  constexpr long sent(int i, int ranks, bool forward) const {
    long sum = 0;
    for (int w = 0; w < ranks && are_cut; ++w) {
      if (w != i) sum += meet(forward ? reads(w) : reads(i), forward ? has(i) : has(w)).size();
    }
    return sum * width * planes;
  }

 private:
  constexpr long plane() const { return long{padded.rows} * padded_width(); }
};

/// An exchange: each rank copies the rows that its windows read from the ranks that have them, with zeros around the
/// image.
template <class V>
constexpr void read_rows(ImageRows const& rows, RankGroup const& g, Location from, Location to, V& v) {
  v.round();
  rows.each_zeros(g.mine, [&](Strided at) { v.write(Write{Opcode::Clear, to, at}); });
  for (int w = rows.are_cut ? 0 : g.mine; w < (rows.are_cut ? g.size : g.mine + 1); ++w) {
    Range const both = ImageRows::meet(rows.reads(g.mine), rows.has(w));
    Strided const at = rows.in_padded(both, g.mine);
    if (at.size() == 0) continue;
    v.write(Write{Opcode::Copy, to, at});
    v.source(Source{g.rank(w), from, rows.in_part(both, w)});
  }
}
/// Its adjoint: the gradient of each row of a rank, summed over the ranks whose windows read it, in their order.
template <class V>
constexpr void sum_rows(ImageRows const& rows, RankGroup const& g, Location from, Location to, V& v) {
  v.round();
  rows.each_read(g.mine, g.size, [&](Range of, Range readers) {
    Strided const at = rows.in_part(of, g.mine);
    if (at.size() == 0) return;
    v.write(Write{readers.size() == 0 ? Opcode::Clear : readers.size() == 1 ? Opcode::Copy : Opcode::Reduce, to, at});
    for (int w = readers.begin; w < readers.end; ++w)
      v.source(Source{g.rank(w), from, rows.in_padded(of, w), w > readers.begin});
  });
}

}  // namespace cleave::schedule
