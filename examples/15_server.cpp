// 15_server - answers over TCP with the model of 12_own_csv: `15_server 8080`, then `echo 5.1,3.5,1.4,0.2 | nc localhost 8080`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <arpa/inet.h>

#include <cleave.hpp>
#include <cleave/predict/batching_predictor.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<16>, Relu, Linear<3>, CrossEntropy> {};

/// Each line of a client is four numbers; the answer is the name of their class.
void answer(BatchingPredictor<Net> const& flowers, int client) {
  FILE* const lines = fdopen(client, "r");
  float x[4];
  for (char line[256]; fgets(line, sizeof line, lines);) {
    bool const read = std::sscanf(line, "%f,%f,%f,%f", &x[0], &x[1], &x[2], &x[3]) == 4;
    std::string const said = read ? flowers.names(x)[0] + "\n" : "say four numbers: 5.1,3.5,1.4,0.2\n";
    ::send(client, said.data(), said.size(), MSG_NOSIGNAL);  // a client that has left
  }
  std::fclose(lines);
}

int main(int argc, char** argv) try {
  if (argc != 2) throw Error("usage: 15_server PORT");
  // Each client has a thread; what several ask at once is computed together.
  BatchingPredictor<Net> const flowers("flowers.safetensors");
  int const listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in const at{AF_INET, htons(static_cast<in_port_t>(std::atoi(argv[1]))), {htonl(INADDR_LOOPBACK)}, {}};
  if (bind(listener, reinterpret_cast<sockaddr const*>(&at), sizeof at) < 0 || listen(listener, 64) < 0)
    throw Error({"cannot listen on port ", argv[1]});
  for (int client; (client = accept(listener, nullptr, nullptr)) >= 0;)
    std::thread(answer, std::cref(flowers), client).detach();
} catch (Error const& e) {
  std::fprintf(stderr, "15_server: %s\n", e.what());
  return 2;
}
