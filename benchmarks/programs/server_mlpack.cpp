// programs/server_mlpack - the task of examples/15_server.cpp with mlpack, on the file of csv_mlpack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <mlpack.hpp>
#include <mutex>
#include <thread>
using namespace mlpack;

CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(LogSoftMax<arma::mat>)

struct Model {
  FFN<NegativeLogLikelihood, GlorotInitialization> net;
  StandardScaler scale;
  DatasetInfo columns;  // has the names of classes
  template <class Archive> void serialize(Archive& archive, uint32_t) {
    archive(CEREAL_NVP(net), CEREAL_NVP(scale), CEREAL_NVP(columns));
  }
};
Model flowers;
std::mutex one;  // the net holds the outputs of its layers

std::string name(arma::mat const& x) {
  std::lock_guard const lock(one);
  arma::mat scaled, p;
  flowers.scale.Transform(x, scaled);
  flowers.net.Predict(scaled, p);
  return flowers.columns.UnmapString(static_cast<double>(p.index_max()), 4);
}

/// Each line of a client is four numbers; the answer is the name of their class.
void answer(int client) {
  FILE *const in = fdopen(client, "r"), *const out = fdopen(dup(client), "w");
  char line[256];
  while (fgets(line, sizeof line, in)) {
    arma::mat x(4, 1);
    bool const read = std::sscanf(line, "%lf,%lf,%lf,%lf", &x(0), &x(1), &x(2), &x(3)) == 4;
    std::fprintf(out, "%s\n", read ? name(x).c_str() : "say four numbers: 5.1,3.5,1.4,0.2");
    std::fflush(out);
  }
  std::fclose(in);
  std::fclose(out);
}

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: server_mlpack PORT\n"), 2;
  Load("flowers.bin", flowers, Fatal);
  std::signal(SIGPIPE, SIG_IGN);  // a client that leaves
  int const listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<in_port_t>(std::atoi(argv[1])));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) < 0 || listen(listener, 64) < 0)
    throw std::runtime_error(std::string("cannot listen on port ") + argv[1]);
  for (int client; (client = accept(listener, nullptr, nullptr)) >= 0;) std::thread(answer, client).detach();
} catch (std::exception const& e) {
  std::fprintf(stderr, "server_mlpack: %s\n", e.what());
  return 2;
}
