// parameter_server/client.hpp - one replica in a separate process, which needs only the server's address and a container name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "client_messages.hpp"

namespace cleave::session {

/// `Client<Train> mine({{"host", 29500}}, "net", 3, 8); mine.train(0, 1000, feed);` A client without a replica number
/// (-1) does not train and may read. No call waits longer than the deadline, and to connect to a part
/// not longer than `connects_within`, where that is given. `Ranks` compute: threads, or a device's.
template <class P, class Ranks = ThreadRanks<P>> class Client : public ClientOf<formats_of<P>> {
 public:
  using plan = P;
  using typename ClientOf<formats_of<P>>::Addresses;

  Client(Addresses const& servers, std::string const& container, int replica, int replicas, std::uint64_t seed = 1,
         backend::tcp::Milliseconds deadline = std::chrono::seconds(60), std::string token = {},
         std::optional<backend::tcp::Milliseconds> connects_within = {})
      : ClientOf<formats_of<P>>(service<P>, ranks_by<P, Ranks>, servers, container, replica, replicas, seed, deadline,
                                std::move(token), connects_within) {}
};

}  // namespace cleave::session
