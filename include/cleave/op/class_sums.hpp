// op/class_sums.hpp - cross-entropy of classes that lie on several ranks: sums over parts of the classes, then the loss.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "../tensor/elementary.hpp"
#include "per_position.hpp"

namespace cleave::op {

/// What is known of a part of the classes, in the format of the data. The sum has two numbers and the class three, so
/// that they keep their digits in a narrow format.
template <class T> struct ClassPart {
  using A = tensor::accumulate_t<T>;
  static constexpr int numbers = 8, digit = 128;
  A top = 0, sum = 0, of_label = 0;  // the largest logit; of exp(logit - top); the label's logit, if it is of this part
  long best = 0;                     // which logit is the largest

  CLEAVE_HD static ClassPart of(T const* x, long n, long label) {
    ClassPart out;
    out.top = static_cast<A>(x[0]);
    for (long i = 1; i < n; ++i) out.top = static_cast<A>(x[i]) > out.top ? static_cast<A>(x[i]) : out.top;
    while (out.best < n - 1 && !(static_cast<A>(x[out.best]) == out.top)) ++out.best;  // the last, if the top is NaN
    for (long i = 0; i < n; ++i) out.sum += tensor::exp(static_cast<A>(x[i]) - out.top);
    if (label >= 0 && label < n) out.of_label = static_cast<A>(x[label]);
    return out;
  }
  CLEAVE_HD void write(T* to) const {
    to[0] = static_cast<T>(top);
    to[1] = static_cast<T>(sum);
    to[2] = static_cast<T>(sum - static_cast<A>(to[1]));
    to[3] = static_cast<T>(of_label);
    to[4] = static_cast<T>(static_cast<A>(best % digit));
    to[5] = static_cast<T>(static_cast<A>(best / digit % digit));
    to[6] = static_cast<T>(static_cast<A>(best / digit / digit));
    to[7] = static_cast<T>(A{0});
  }
  CLEAVE_HD static ClassPart read(T const* from) {
    ClassPart out;
    out.top = static_cast<A>(from[0]);
    out.sum = static_cast<A>(from[1]) + static_cast<A>(from[2]);
    out.of_label = static_cast<A>(from[3]);
    out.best = static_cast<long>(static_cast<A>(from[4])) + digit * static_cast<long>(static_cast<A>(from[5])) +
               digit * digit * static_cast<long>(static_cast<A>(from[6]));
    return out;
  }
};
/// The parts in which classes are summed, wherever they lie: the largest power of two up to 64 that divides them into
/// parts of 16 or more.
constexpr int class_parts(int classes) {
  int n = 64;
  while (n > 1 && (classes % n != 0 || classes / n < 16)) n /= 2;
  return n;
}

/// x (b, classes), y (b, parts x 8): a ClassPart of each part. Not differentiated: the loss that reads it has the
/// gradient of x.
struct ClassSums : Base {
  static constexpr auto name = "class_sums";
  static constexpr auto equation = "bf->bf";
  static constexpr bool finds_classes = true, has_gradient = false, of_loss = true;
  static constexpr int numbers = ClassPart<float>::numbers;
  static constexpr int parts(char letter, int n) { return letter == 'f' ? class_parts(n) : n; }
  static constexpr Shape output(Shape x) { return Shape(numbers * class_parts(x[0])); }
  /// Of row b: its class, counted from the first of this rank.
  template <class T> CLEAVE_HD static long label(Operands<T> const& t, long b) {
    return t.labels[t.where.label_of(b)] - t.where.feature;
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    constexpr long n = L.x.size(), here = L.y.size() / numbers, each = n / here;
    ctx.each(L.rows * here, [&](long e) {
      long const b = e / here, first = e % here * each;
      ClassPart<T>::of(t.x + b * n + first, each, label(t, b) - first).write(t.y + e * numbers);
    });
  }
};

/// Of logits x (b, classes), of which a rank may have some, and x2 (b, parts x 8), the sums over all parts: the
/// cross-entropy with the sample's class, added part by part.
struct CrossEntropyOfSums : Base {
  static constexpr auto name = "cross_entropy";
  static constexpr auto equation = "bf,bP->b";
  static constexpr int inputs = 2;
  static constexpr bool is_loss = true, reads_x = true, finds_classes = true, reads_class_sums = true;
  static constexpr int numbers = ClassSums::numbers;
  static constexpr Shape output(Shape) { return Shape(1); }
  static constexpr int parts(char letter, int n) { return letter == 'f' ? class_parts(n) : n; }
  static constexpr long aux(Shape, Shape) { return 2; }  // the largest logit, and the sum of exp(logit - that)

  /// Of one sample or position, with `parts` parts of `each` classes: writes aux, gives the loss.
  template <class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(T const* sums, int parts, long each, long label,
                                                tensor::accumulate_t<T>* aux) {
    using A = tensor::accumulate_t<T>;
    A top = ClassPart<T>::read(sums).top, sum = 0;
    for (int p = 1; p < parts; ++p) {
      A const of = ClassPart<T>::read(sums + p * numbers).top;
      top = of > top ? of : top;
    }
    for (int p = 0; p < parts; ++p) {
      auto const of = ClassPart<T>::read(sums + p * numbers);
      sum += of.sum * tensor::exp(of.top - top);
    }
    aux[0] = top;
    aux[1] = sum;
    return std::log(sum) + top - (label < 0 ? A{0} : ClassPart<T>::read(sums + label / each * numbers).of_label);
  }
  /// The class of the largest logit, the first of equal ones.
  template <class T> CLEAVE_HD static long best(T const* sums, int parts, long each) {
    long out = 0;
    tensor::accumulate_t<T> top = 0;
    for (int p = 0; p < parts; ++p) {
      auto const of = ClassPart<T>::read(sums + p * numbers);
      if (p > 0 && !(of.top > top)) continue;
      top = of.top;
      out = p * each + of.best;
    }
    return out;
  }
  template <class T>
  CLEAVE_HD static T gradient(T x, bool is_label, tensor::accumulate_t<T> const* aux, tensor::accumulate_t<T> scale) {
    using A = tensor::accumulate_t<T>;
    A const p = tensor::exp(static_cast<A>(x) - aux[0]) / aux[1];
    return static_cast<T>((p - (is_label ? A{1} : A{0})) * scale);
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int all = static_cast<int>(L.x2.size()) / numbers;
    constexpr long each = L.classes / all;
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) total += loss(t.x2 + b * L.x2.size(), all, each, t.labels[b], t.aux + 2 * b);
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    constexpr long n = L.x.size();
    ctx.each(L.rows * n, [&](long e) {
      long const b = e / n;
      t.dx[e] = gradient(t.x[e], e % n + t.where.feature == t.labels[b], t.aux + 2 * b, t.scale);
    });
  }
};

/// Of x (b, t, classes), of which a rank may have some classes or some positions, and x2 (b, T, parts x 8). The loss of
/// a sample is the mean over its positions whose class is not `ignored`.
template <> struct OnEachPosition<CrossEntropyOfSums> : CrossEntropyOfSums {
  using of_position = CrossEntropyOfSums;
  static constexpr bool of_sequences = true;
  static constexpr auto equation = "btf,bTP->b";
  static constexpr int labels(Shape x) { return x[0]; }
  /// Of each position here the two numbers above, then the share of a position in the sample's mean.
  static constexpr long aux(Shape x, Shape) { return 2 * x[0] + 1; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long wide = L.x2[1];
    constexpr int all = static_cast<int>(wide) / numbers;
    constexpr long each = L.classes / all;
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) {
        A sum = 0;
        for (long p = b * L.x2[0]; p < (b + 1) * L.x2[0]; ++p) {
          long const here = t.where.position_of(p);
          A elsewhere[2];
          A* const known = here < 0 ? elsewhere : known_of<L>(t, here);
          A const of = loss(t.x2 + p * wide, all, each, t.labels[p], known);
          if (t.labels[p] != ignored) sum += of;
        }
        kept_share<L>(t, b) = share_of_position<L>(t, b);
        total += sum * kept_share<L>(t, b);
      }
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x[1];
    ctx.each(L.rows * L.x[0], [&](long p) {
      int const label = t.labels[t.where.label_of(p)];
      A const scale = label == ignored ? A{0} : t.scale * kept_share<L>(t, p / L.x[0]);
      for (long i = 0; i < n; ++i)
        t.dx[p * n + i] = gradient(t.x[p * n + i], i + t.where.feature == label, known_of<L>(t, p), scale);
    });
  }

 private:
  /// The two numbers of position p of those here, counted over samples.
  template <Local L, class T> CLEAVE_HD static tensor::accumulate_t<T>* known_of(Operands<T> const& t, long p) {
    return t.aux + p / L.x[0] * (2 * L.x[0] + 1) + p % L.x[0] * 2;
  }
  template <Local L, class T> CLEAVE_HD static tensor::accumulate_t<T>& kept_share(Operands<T> const& t, long sample) {
    return t.aux[sample * (2 * L.x[0] + 1) + 2 * L.x[0]];
  }
};

}  // namespace cleave::op
