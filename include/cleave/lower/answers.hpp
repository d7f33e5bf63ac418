// lower/answers.hpp - what the loss of a plan compares with, the evaluation of its samples, and what else all backends ask for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/host/execution/feed.hpp"
#include "../backend/host/kernels/kernel.hpp"
#include "../layer/graph.hpp"
#include "../meta/list.hpp"
#include "../send/route.hpp"

namespace cleave::lower {

template <class P> constexpr backend::host::Wanted wanted() {
  auto const& last = P::signatures.op[P::ops::size - 1];
  return {last.name, last.x.size() / last.labels, last.target, last.labels, last.weighs_samples};
}
/// The class of the largest output; x (each): the outputs, or sums over parts of n classes.
template <class Loss, long n, long each, class T> long largest(T const* x) {
  using A = tensor::accumulate_t<T>;
  if constexpr (requires { Loss::reads_class_sums; }) {
    constexpr int parts = static_cast<int>(each) / Loss::numbers;
    return Loss::best(x, parts, n / parts);
  } else {
    long best = 0;
    for (long i = 1; i < n; ++i) best = static_cast<A>(x[i]) > static_cast<A>(x[best]) ? i : best;
    return best;
  }
}
/// x (end - begin, labels, outputs): evaluates the rows [begin, end) below `valid`: the loss of each, and at how many
/// of its labels the largest output is; of targets of 0 and 1, how many outputs are on their side. The loss of a user's
/// loss layer that has weights is not known, hence NaN.
template <class P, class T>
void score_rows(T const* x, backend::host::Answers const& answers, schedule::Range rows, long valid,
                backend::host::Seen& seen) {
  using A = tensor::accumulate_t<T>;
  using Loss = meta::at<layer::ops_of<typename P::Net>, P::ops::size - 1>;
  constexpr auto const& last = P::signatures.op[P::ops::size - 1];
  constexpr op::Local one = [] {
    op::Local l{1, P::batch, last.x, last.reads_class_sums ? last.x2 : Shape{}, last.y, {}, {}, last.labels};
    if (last.reads_class_sums) l.classes = last.x[last.x.dims - 1];
    return l;
  }();
  constexpr long n = last.x.size() / last.labels,
                 size = P::placed.last < 0 ? last.x.size() : P::placed.node[P::placed.last].whole.size(),
                 each = size / last.labels;
  int const* label = answers.labels;
  A loss = 0;
  std::vector<A> aux(static_cast<std::size_t>(last.aux(last.x, last.y)));
  op::Pass const pass{.training = false};
  op::Operands<T> t;
  t.aux = aux.data();
  t.loss = &loss;
  t.pass = &pass;
  for (long row = rows.begin; row < rows.end && row < valid; ++row) {
    t.x = t.x2 = x;  // of a loss of sums over classes the second is read
    t.labels = label;
    if (P::schedule.targets > 0) t.targets = answers.targets + (row - rows.begin) * size;
    if (P::schedule.weighs_samples) t.sample_weights = answers.sample_weights + (row - rows.begin) * last.labels;
    if constexpr ((Loss::inputs == 1 || last.reads_class_sums) && Loss::weights == 0 && Loss::states == 0) {
      Loss::template forward<one>(backend::host::Context{}, t);
    } else {
      loss = std::numeric_limits<A>::quiet_NaN();
    }
    ++seen.samples;
    seen.loss += static_cast<double>(loss);
    if constexpr (Loss::loss_target == op::Target::Shares && P::schedule.targets > 0) {
      seen.shares += n;
      for (long i = 0; i < n; ++i) seen.shares_correct += (static_cast<A>(x[i]) > 0) == (t.targets[i] > 0.5f);
    }
    for (int position = 0; position < last.labels; ++position, x += each, ++label) {
      if (last.labels > 1 && *label == op::ignored) continue;
      ++seen.labels;
      long const best = largest<Loss, n, each>(x);
      seen.correct += best == *label;
      if constexpr (P::schedule.targets == 0 && n <= backend::host::most_paired_classes) seen.take(n, *label, best);
    }
  }
}

/// The functions that every backend asks for: evaluation.
template <class P, class Functions> constexpr void bind_for_all(Functions& f) {
  f.score = &score_rows<P, typename P::number>;
  f.wanted = wanted<P>();
}

}  // namespace cleave::lower
