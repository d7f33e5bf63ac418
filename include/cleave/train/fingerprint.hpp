// train/fingerprint.hpp - one number for what two processes must agree on before the first byte of data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

#include "../agree/decider.hpp"
#include "../backend/tcp/frame.hpp"
#include "../schedule/listing.hpp"
#include "../version.hpp"
#include "checkpoint.hpp"

namespace cleave::session {

/// Hash of library version, protocol, number format, agreement and the whole schedule for a number of replicas.
/// `listing` is the schedule as text (schedule/listing.hpp).
template <class = void>
std::uint64_t fingerprint(Description const& plan, agree::Terms const& agreed, int shards, int replicas,
                          std::string const& listing) {
  std::string portions;
  place::Portions const& of = plan.request.portions;
  for (int g = 0; g < of.groups; ++g) meta::append(portions, {"/", of.each[g]});
  std::string text = meta::joined({version, ", protocol ", backend::tcp::protocol, "\n", replicas, " replicas\n"});
  meta::append(text, {plan_text(plan), "\n", listing, shards, " shards"});
  meta::append(text,
               {", change ", static_cast<int>(agreed.change), ", pace ", agreed.pace.fetch, "/", agreed.pace.push});
  meta::append(text, {", spares ", agreed.spares, ", portions ", portions});
  return backend::tcp::checksum(0xCBF29CE484222325u, text.data(), text.size());
}
/// Of plan P.
template <class P> std::uint64_t fingerprint(int replicas) {
  return fingerprint(description<P>, agree::terms<typename P::agreed, P::served>(), P::shards, replicas,
                     schedule::listing<P>({replicas, P::ways}));
}

}  // namespace cleave::session
