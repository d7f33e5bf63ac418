// train/fingerprint.hpp - one number for what two processes must agree on before the first byte of data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

#include "../backend/tcp/frame.hpp"
#include "../schedule/listing.hpp"
#include "../version.hpp"
#include "checkpoint.hpp"

namespace cleave::session {

/// Hash of library version, protocol, number format, agreement and the whole schedule for a number of replicas.
template <class P> std::uint64_t fingerprint(int replicas) {
  std::string portions;
  for (int g = 0; g < P::request.portions.groups; ++g) portions += "/" + std::to_string(P::request.portions.each[g]);
  std::string const text = std::string(version) + ", protocol " + std::to_string(backend::tcp::protocol) + "\n" +
                           std::to_string(replicas) + " replicas\n" + plan_text<P>() + "\n" +
                           schedule::listing<P>({replicas, P::ways}) + std::to_string(P::shards) + " shards, change " +
                           std::to_string(static_cast<int>(P::agreed::change)) + ", pace " +
                           std::to_string(P::agreed::pace.fetch) + "/" + std::to_string(P::agreed::pace.push) +
                           ", spares " + std::to_string(P::agreed::spares) + ", portions " + portions;
  return backend::tcp::checksum(0xCBF29CE484222325u, text.data(), text.size());
}

}  // namespace cleave::session
