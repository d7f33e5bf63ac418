// data/token_inputs.hpp - which numbers of a sample are tokens, and the check of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "../meta/error.hpp"
#include "../meta/in_library.hpp"
#include "../meta/list.hpp"
#include "../meta/text.hpp"

namespace cleave::session {

/// Numbers [first, end) of a sample's input are tokens below `vocabulary`.
struct TokenRange {
  long first = 0, end = 0;
  int vocabulary = 0;
};
/// Which numbers of a sample's input an Embedding reads; the rest are numbers.
struct TokenInputs {
  TokenRange const* range = nullptr;
  std::size_t ranges = 0;

  constexpr bool any() const { return ranges > 0; }
  /// Of number k; 0: it is no token.
  constexpr int vocabulary(long k) const {
    for (std::size_t p = 0; p < ranges; ++p)
      if (k >= range[p].first && k < range[p].end) return range[p].vocabulary;
    return 0;
  }
};

template <std::size_t N> struct TokenRanges {
  TokenRange of[N]{};
  std::size_t count = 0;
};
/// One for each operation of plan P that reads tokens of the data, each once. Those that reach it through other
/// operations are not known.
template <class P>
constexpr auto token_ranges = []<class... Ops>(meta::list<Ops...>) {
  TokenRanges<sizeof...(Ops)> all;
  constexpr auto part = []<class Op>(meta::type<Op>) {
    if constexpr (requires { typename Op::all_inputs; }) return TokenRange{Op::first, Op::end};
    return TokenRange{};
  };
  constexpr auto vocabulary = []<class Op>(meta::type<Op>) {
    if constexpr (Op::whole_numbers && requires { Op::vocabulary; }) return Op::vocabulary;
    return int{Op::tokens};
  };
  constexpr TokenRange parts[] = {part(meta::type<Ops>{})...}, whole{0, P::Net::input::shape.size()};
  constexpr int vocabularies[] = {vocabulary(meta::type<Ops>{})...};
  for (std::size_t k = 0; k < sizeof...(Ops); ++k) {
    if (vocabularies[k] == 0) continue;
    int const from = P::signatures.op[k].in0;
    TokenRange const of = from < 0 ? whole : parts[from];
    bool known = of.end == of.first;
    for (std::size_t p = 0; p < all.count; ++p) known = known || all.of[p].first == of.first;
    if (!known) all.of[all.count++] = {of.first, of.end, vocabularies[k]};
  }
  return all;
}(typename P::ops{});
/// Of plan P, whose model may have several inputs.
template <class P> constexpr TokenInputs token_inputs_of{token_ranges<P>.of, token_ranges<P>.count};

inline bool is_token(double v, int vocabulary) { return v >= 0 && v < vocabulary && v == std::floor(v); }
inline std::string no_token(double v, int vocabulary) {
  return meta::joined({meta::short_number(v), ", which is no token of Embedding<", vocabulary,
                       ", ...>; tokens are whole, 0 to ", vocabulary - 1});
}
/// What is wrong with a sample's input x (n); empty if its tokens are of the vocabulary and, if `finite`, its numbers
/// finite.
CLEAVE_IN_LIBRARY std::string what_is_wrong(TokenInputs const& tokens, float const* x, long n, bool finite = true) {
  for (long k = 0; k < n; ++k) {
    int const vocabulary = tokens.vocabulary(k);
    if (vocabulary > 0 && !is_token(x[k], vocabulary))
      return meta::joined({"number ", k, " is ", no_token(x[k], vocabulary)});
    if (vocabulary == 0 && finite && !std::isfinite(x[k]))
      return meta::joined({"number ", k, " is not finite; leave the sample out"});
  }
  return {};
}

}  // namespace cleave::session
