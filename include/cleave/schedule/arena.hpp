// schedule/arena.hpp - the layout of a rank's memory: one block, computed before the run, exact to the byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "format.hpp"
#include "liveness.hpp"
#include "norm.hpp"
#include "rows.hpp"
#include "slices.hpp"

namespace cleave::schedule {

constexpr Share shared(place::Request r, Ranks ranks) {
  return {r.micro_batches,
          ranks,
          r.rounds,
          r.micro_batches * r.rows,
          0,
          r.portions,
          r.cuts_positions,
          r.sums_rounds && ranks.replicas() > 1};
}

/// Space for tensors with overlapping lifetimes; others share it. Best fit first, then growth.
template <int Most> struct Heap {
  struct Gap {
    long at, bytes;
  };
  Gap gap[Most]{};
  int gaps = 0;
  long top = 0;

  constexpr long take(long bytes) {
    int best = -1;
    for (int g = 0; g < gaps; ++g) {
      if (gap[g].bytes >= bytes && (best < 0 || gap[g].bytes < gap[best].bytes)) best = g;
    }
    if (best < 0 && gaps > 0 && gap[gaps - 1].at + gap[gaps - 1].bytes == top) {  // grow the gap at the end
      top += bytes - gap[gaps - 1].bytes;
      return gap[--gaps].at;
    }
    if (best < 0) {
      top += bytes;
      return top - bytes;
    }
    long const at = gap[best].at;
    gap[best].at += bytes;
    gap[best].bytes -= bytes;
    if (gap[best].bytes == 0) {
      for (int g = best; g + 1 < gaps; ++g) gap[g] = gap[g + 1];
      --gaps;
    }
    return at;
  }
  constexpr void give(long at, long bytes) {
    int g = 0;
    while (g < gaps && gap[g].at < at) ++g;
    bool const left = g > 0 && gap[g - 1].at + gap[g - 1].bytes == at, right = g < gaps && at + bytes == gap[g].at;
    if (left && right) {
      gap[g - 1].bytes += bytes + gap[g].bytes;
      for (int i = g; i + 1 < gaps; ++i) gap[i] = gap[i + 1];
      --gaps;
    } else if (left) {
      gap[g - 1].bytes += bytes;
    } else if (right) {
      gap[g].at = at;
      gap[g].bytes += bytes;
    } else {
      for (int i = gaps; i > g; --i) gap[i] = gap[i - 1];
      gap[g] = {at, bytes};
      ++gaps;
    }
  }
};

/// Bytes by category; they add up to `total`, which is what a rank allocates.
struct Memory {
  long bytes[categories]{};
  long total = 0;
  constexpr long operator[](Category c) const { return bytes[static_cast<int>(c)]; }
};

/// The offsets in bytes of the tensors of which a rank has one each.
struct Regions {
  long weights = 0, copies = 0, states = 0, moments = 0, gradients = 0, scratch = 0, wire = 0, labels = 0, losses = 0;
  long targets = 0;         // f32; if the loss uses numbers
  long sample_weights = 0;  // f32; if the loss reads them
  long workspace = 0, outbox = 0;
  long batch_sums = 0;  // branches of sums over the batch that the model reads
  long norm = 0;        // for clipping; see norm.hpp
  // The rank's parts of the sums of gradients, if they are kept, and the elements from one sum to the next.
  long own_gradients = 0, own_gradients_apart = 0;
  long coding = 0;         // workspace of a codec
  long factor_levels = 0;  // intermediate sums of a gradient that is computed from all ranks' factors
  long own_weights = 0;    // the rank's parts of the weights, as peers read them, if they are in turn
  BucketPlaces gradient, copy;
  int branches = 1, deepest = 1, kept = 1;
  // Of a stage of a pipeline: the slots of what it keeps of a micro-batch, of each of its chunks; and from one to the
  // next of labels, targets and weights of samples, in bytes.
  int slots[most_chunks]{1, 1, 1, 1, 1, 1, 1, 1};
  long labels_apart = 0, targets_apart = 0, sample_weights_apart = 0;
  Memory memory;
};

template <int Ops> struct Layout : Regions {
  long buffer[BufferTable<Ops>::most_buffers]{};
  // For each bucket that is compressed: its messages, its residuals, and the residuals of its sums.
  long encoded[Ops * 2 + 1]{}, left[Ops * 2 + 1]{}, left_of_sum[Ops * 2 + 1]{};
  long part[Ops * 2 + 1]{};                            // of each bucket: the elements of the parts before it
  long rows_apart[Ops * 2 + 1]{};                      // for buckets of rows: from one branch's message to the next
  long slots_apart[BufferTable<Ops>::most_buffers]{};  // of each buffer of which there is one in each slot, else 0
};

/// A layout that is computed when a program runs.
struct RuntimeLayout : Regions {
  class Array {
   public:
    void resize(int count) { of_.resize(static_cast<std::size_t>(count)); }
    long& operator[](int i) { return of_[static_cast<std::size_t>(i)]; }
    long operator[](int i) const { return of_[static_cast<std::size_t>(i)]; }
    std::size_t size() const { return of_.size(); }
    long const* data() const { return of_.data(); }

   private:
    std::vector<long> of_;
  };
  Array buffer, encoded, left, left_of_sum, part, rows_apart, slots_apart;
};

/// A layout of any number of operations. What it views must outlive it.
struct LayoutView : Regions {
  long const *buffer, *encoded, *left, *left_of_sum, *part, *rows_apart, *slots_apart;
  LayoutView(RuntimeLayout const& of)
      : Regions(of),
        buffer(of.buffer.data()),
        encoded(of.encoded.data()),
        left(of.left.data()),
        left_of_sum(of.left_of_sum.data()),
        part(of.part.data()),
        rows_apart(of.rows_apart.data()),
        slots_apart(of.slots_apart.data()) {}
  LayoutView(RuntimeLayout const&&) = delete;
  template <int Ops>
  constexpr LayoutView(Layout<Ops> const& of)
      : Regions(of),
        buffer(of.buffer),
        encoded(of.encoded),
        left(of.left),
        left_of_sum(of.left_of_sum),
        part(of.part),
        rows_apart(of.rows_apart),
        slots_apart(of.slots_apart) {}
  template <int Ops> LayoutView(Layout<Ops> const&&) = delete;  // it would not outlive the view

  /// Of a buffer, in a round of a program or schedule s.
  template <class S> constexpr long buffer_in(S const& s, int b, int round) const {
    return buffer[b] + slot(s, s.buffer[b].part, round) * slots_apart[b];
  }
  template <class S> constexpr int slot(S const& s, int of_part, int round) const {
    return s.pipeline.is_split() ? round % slots[of_part / s.pipeline.pipeline.stages] : 0;
  }
};

/// The number of sums that a rank holds over its micro-batches: the result, and the intermediate ones.
constexpr int factor_sums(int micro_batches, bool ordered) {
  return ordered ? held({micro_batches, {}}, over_data, 0, true).deepest : 3;
}

/// Whether a tensor of a pipeline is read after the task, of a micro-batch forward or back, that has written it: it has
/// a place in each slot, or, if it is a gradient that another stage reads, one.
constexpr bool outlives_task(Life const& life, int forward_steps) {
  return (life.birth < forward_steps && life.death >= forward_steps) || life.sent;
}

template <class Out, class S, class Region>
constexpr void encode(Out& out, S const& s, place::Request request, Format const& f, Ranks ranks, int stage,
                      Region region) {
  Share const share = shared(request, ranks);
  long most_factored = 0;
  for (int b = 0; b < s.buckets; ++b) {
    Bucket const& bucket = s.bucket[b];
    if (s.pipeline.stage(bucket.part) != stage) continue;
    int const n = ranks.group_size(bucket.over);
    if (bucket.factors > 0) {
      long const elements = long{share.most(bucket.over)} * request.rows * bucket.factors;
      out.encoded[b] = region(Category::Communication, n > 1 ? elements * f.data : 0);
      if (n > 1 && bucket.count > most_factored) most_factored = bucket.count;
      continue;
    }
    if (bucket.row > 0) {
      long const samples = long{share.most(bucket.over)} * request.rounds * request.rows;
      out.rows_apart[b] = aligned(rows_bytes(bucket, most_rows(bucket, samples), f.data));
      out.encoded[b] = region(Category::Communication, n > 1 ? out.rows_apart[b] * out.branches : 0);
      continue;
    }
    if (!f.encoding || bucket.whole) continue;
    bool const sent = f.pushed > 0 || n > 1, keeps = f.encoding.feedback && sent;
    long const bytes = f.pushed > 0 ? pushed_bytes(f.encoding, bucket, f.shards, s.weight_elements)
                                    : encoded_bytes(f.encoding, bucket.count, n);
    out.encoded[b] = region(Category::Communication, bytes);
    out.left[b] = region(Category::Communication, keeps ? bucket.count * f.sum : 0);
    bool const resums = f.pushed == 0 && f.encoding.resums;
    out.left_of_sum[b] = region(Category::Communication, keeps && resums ? Partition{bucket.count}.most(n) * f.sum : 0);
  }
  out.coding = region(Category::Communication, f.pushed == 0 && ranks.world() > 1 ? f.encoding.workspace : 0);
  out.factor_levels =
      region(Category::Gradients, (factor_sums(request.micro_batches, f.ordered) - 1) * most_factored * f.sum);
}

/// Of a rank's tensor.
constexpr long bytes_of(Buffer const& t, Share const& share, Format const& f) {
  long const count = t.per_slice ? t.elements * share.most(t.batch_axes) : t.elements;
  return aligned(count * (!t.per_slice ? f.batch_sum : t.wide ? f.sum : f.data));
}

/// Fills `out`, whose arrays are there, for a stage of a schedule or a program s. `dying` has an element for each step
/// and one more; `life`, `next` and `size` have one for each buffer.
template <class Out, class S>
constexpr void lay_out(Out& out, S const& s, Life const* life, place::Request request, Format const& f, Ranks ranks,
                       int stage, int* dying, int* next, long* size) {
  Share const share = shared(request, ranks);
  int const most_slices = share.most(over_data);
  for (unsigned axes = 0; axes < 1u << ranks.axes; ++axes) {  // that cut the batch of some layer
    AxisSet over;
    over.bits = axes;
    if (!over.has(place::data_axis)) continue;
    Held const h = most_held(share, over, f.ordered);
    out.branches = h.branches > out.branches ? h.branches : out.branches;
    out.deepest = h.deepest > out.deepest ? h.deepest : out.deepest;
    out.kept = h.kept > out.kept ? h.kept : out.kept;
  }

  long at = 0;
  auto const region = [&](Category c, long bytes) {
    long const begin = at;
    at += aligned(bytes);
    out.memory.bytes[static_cast<int>(c)] += aligned(bytes);
    return begin;
  };
  bool const narrow = f.data < f.sum;
  out.workspace =
      region(Category::Workspace, f.workspace);  // first: libraries need an alignment of 256 bytes, which the arena has
  // Second: other stages read it at the same place.
  bool const split = s.pipeline.is_split();
  if (request.waits_for_norm && split) out.norm = region(Category::Workspace, norm_bytes(s, f, ranks));
  long const before_weights = at;
  bool const in_turn = weights_in_turn(f, ranks);
  long const own = part_elements(s, f, ranks, stage), weights = stage_elements(s, stage);
  bool const keeps = keeps_gradients(f, ranks, request.waits_for_norm, request.rounds);
  for (int b = 0; b < s.buckets && (in_turn || keeps); ++b) out.part[b] = parts_before(s, ranks, b, stage);
  out.copy = bucket_places(s, stage, in_turn);
  out.weights = region(Category::Weights, (masters_in_parts(s, f, ranks) ? own : weights) * f.sum);
  out.own_weights = narrow && in_turn ? region(Category::Weights, own * f.data) : out.weights;
  out.copies = narrow || in_turn ? region(Category::Weights, out.copy.count * f.data) : out.weights;
  out.states = region(Category::Weights, s.state_elements * f.sum);
  long const weights_apart =
      request.infers && !request.one_block ? at - before_weights : 0;  // several arenas share them
  at -= weights_apart;
  out.moments = region(Category::Optimizer, own * f.sum * f.moments);
  int const sums = request.infers ? 0 : 1;
  out.gradient = bucket_places(s, stage, gradients_in_turn(f, ranks, request.waits_for_norm, request.rounds));
  out.gradients = region(Category::Gradients, sums * out.gradient.count * f.sum * out.kept);
  if (keeps) {
    int most = 1;
    for (int b = 0; b < s.buckets; ++b) most = std::max(most, kept_sums(share, s.bucket[b].over, f.ordered));
    out.own_gradients = region(Category::Gradients, own * kept_bytes(f) * most);
    out.own_gradients_apart = own;
  }
  out.scratch = region(Category::Gradients, sums * (out.deepest - out.kept) * s.most_weight_leaf * f.sum);
  out.batch_sums = region(Category::Gradients, sums * out.deepest * s.most_sum_leaf * f.batch_sum);
  bool plain = !f.encoding || f.pushed > 0;
  for (int i = 0; i < s.buckets; ++i) plain = plain || s.bucket[i].whole;
  out.wire = narrow && plain && !request.infers
                 ? region(Category::Communication, out.gradient.count * f.data * out.branches)
                 : out.gradients;
  if (f.pushed > 0) out.outbox = region(Category::Communication, s.weight_elements * f.sum);
  encode(out, s, request, f, ranks, stage, region);
  for (int c = 0; c < s.pipeline.pipeline.chunks; ++c) out.slots[c] = s.pipeline.slots(c * ranks.stages + stage);
  bool const answers = stage == ranks.stages - 1;  // the last part has the loss
  int const answer_slots = answers ? out.slots[s.pipeline.pipeline.chunks - 1] : 0;
  out.labels_apart = aligned(long{most_slices} * request.rows * s.labels * 4);
  out.labels = region(Category::Activations, answer_slots * out.labels_apart);
  out.targets_apart = aligned(long{most_slices} * request.rows * s.targets * 4);
  if (s.targets > 0) out.targets = region(Category::Activations, answer_slots * out.targets_apart);
  out.sample_weights_apart = s.weighs_samples ? out.labels_apart : 0;  // one beside each label
  out.sample_weights = region(Category::Activations, answer_slots * out.sample_weights_apart);
  out.losses = region(Category::Activations, long{share.most_of_a_replica()} * f.sum);
  if (request.waits_for_norm && !split) out.norm = region(Category::Workspace, norm_bytes(s, f, ranks));

  for (Category c : {Category::Activations, Category::Communication}) {
    Heap<64> heap;
    // Buffers are created in the order of their births; those that die at a step are chained to it.
    for (int k = 0; k <= s.steps; ++k) dying[k] = 0;
    int freed = 0;  // steps whose dead buffers have been freed
    for (int k = 0; k < s.buffers; ++k) {
      Buffer const& t = s.buffer[k];
      size[k] = bytes_of(t, share, f);
      if (t.category != c || s.pipeline.stage(t.part) != stage) continue;
      if (split && outlives_task(life[k], s.forward_steps)) continue;
      for (; freed < life[k].birth; ++freed) {
        for (int d = dying[freed]; d != 0; d = next[d - 1]) {
          if (size[d - 1] > 0) heap.give(out.buffer[d - 1], size[d - 1]);
        }
      }
      int const from = t.takes_over;
      if (from >= 0 && s.buffer[from].category == c && life[from].death == life[k].written && size[from] == size[k] &&
          !(split && outlives_task(life[from], s.forward_steps))) {
        out.buffer[k] = out.buffer[from];
        size[from] = 0;
      } else {
        out.buffer[k] = heap.take(size[k]);
      }
      next[k] = dying[life[k].death];
      dying[life[k].death] = k + 1;
    }
    long const begin = region(c, heap.top);
    for (int k = 0; k < s.buffers; ++k) {
      if (s.buffer[k].category != c) continue;
      out.buffer[k] += begin;
      if (!split || !outlives_task(life[k], s.forward_steps)) continue;
      bool const here = s.pipeline.stage(s.buffer[k].part) == stage, forward = life[k].written >= 0;
      out.slots_apart[k] = here && forward ? size[k] : 0;
      out.buffer[k] = region(c, here ? size[k] * (forward ? s.pipeline.slots(s.buffer[k].part) : 1) : 0);
    }
  }
  out.memory.total = at + weights_apart;
}

/// In a constant.
template <int Ops>
constexpr Layout<Ops> layout(Schedule const& s, Lives<Ops> const& lives, place::Request request, Format const& f,
                             Ranks ranks, int stage = 0) {
  Layout<Ops> out;
  int dying[PlacedModel<Ops>::most_nodes * 4 + Ops * 6 + 5]{}, next[BufferTable<Ops>::most_buffers]{};
  long size[BufferTable<Ops>::most_buffers]{};
  lay_out(out, s, lives.of, request, f, ranks, stage, dying, next, size);
  return out;
}

}  // namespace cleave::schedule
