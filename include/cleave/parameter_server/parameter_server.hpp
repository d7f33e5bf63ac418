// parameter_server/parameter_server.hpp - a process that keeps weights in named containers for clients that come and go over TCP.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "server_guests.hpp"

namespace cleave::session {

/// `ParameterServer<Train> server(29500, 8, seed); server.serve();` Of plan P.
template <class P> class ParameterServer : public ParameterServerOf<formats_of<P>> {
 public:
  explicit ParameterServer(int port, int replicas, std::uint64_t seed, int part = 0, int parts = 1,
                           backend::tcp::Milliseconds deadline = std::chrono::seconds(60), Door door = {})
      : ParameterServerOf<formats_of<P>>(service<P>, port, replicas, seed, part, parts, deadline, std::move(door)) {}
};

}  // namespace cleave::session
