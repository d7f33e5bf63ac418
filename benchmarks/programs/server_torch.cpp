// programs/server_torch - the task of examples/15_server.cpp with libtorch, on the file of csv_torch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <arpa/inet.h>
#include <torch/torch.h>
#include <csignal>
#include <cstdio>
#include <thread>
namespace nn = torch::nn;

struct Net : nn::Module {
  nn::Linear first{4, 16}, second{16, 3};
  torch::Tensor mean = register_buffer("mean", torch::zeros(4));
  torch::Tensor deviation = register_buffer("deviation", torch::ones(4));
  std::vector<std::string> names;
  Net() { register_module("first", first), register_module("second", second); }
  torch::Tensor forward(torch::Tensor const& x) { return second(torch::relu(first((x - mean) / deviation))); }
  void load(torch::serialize::InputArchive& archive) override {
    Module::load(archive);
    c10::IValue read;
    archive.read("names", read);
    names = read.to<std::vector<std::string>>();
  }
};

/// Each line of a client is four numbers; the answer is the name of their class.
void answer(std::shared_ptr<Net> const& flowers, int client) {
  torch::InferenceMode none;
  FILE *const in = fdopen(client, "r"), *const out = fdopen(dup(client), "w");
  char line[256];
  while (fgets(line, sizeof line, in)) {
    float x[4];
    bool const read = std::sscanf(line, "%f,%f,%f,%f", &x[0], &x[1], &x[2], &x[3]) == 4;
    auto const name = [&] { return flowers->names[flowers->forward(torch::from_blob(x, {4})).argmax().item<long>()]; };
    std::fprintf(out, "%s\n", read ? name().c_str() : "say four numbers: 5.1,3.5,1.4,0.2");
    std::fflush(out);
  }
  std::fclose(in);
  std::fclose(out);
}

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: server_torch PORT\n"), 2;
  auto flowers = std::make_shared<Net>();
  torch::load(flowers, "flowers.pt");
  std::signal(SIGPIPE, SIG_IGN);  // a client that leaves
  int const listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<in_port_t>(std::atoi(argv[1])));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) < 0 || listen(listener, 64) < 0)
    throw std::runtime_error(std::string("cannot listen on port ") + argv[1]);
  for (int client; (client = accept(listener, nullptr, nullptr)) >= 0;) std::thread(answer, flowers, client).detach();
} catch (std::exception const& e) {
  std::fprintf(stderr, "server_torch: %s\n", e.what());
  return 2;
}
