// programs/server_dlib - the task of examples/15_server.cpp with dlib, on the file of csv_dlib.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <dlib/server.h>
#include <dlib/statistics.h>
#include <cstdio>
#include <mutex>
using namespace dlib;

using Flower = matrix<float, 4, 1>;
using Net = loss_multiclass_log<fc<3, relu<fc<16, input<Flower>>>>>;

class Server : public server_iostream {
 public:
  Server() { deserialize("flowers.dat") >> net >> scale >> names; }
  ~Server() { clear(); }

 private:
  Net net;
  vector_normalizer<Flower> scale;
  std::vector<std::string> names;
  std::mutex one;  // the net holds the outputs of its layers

  /// Each line of a client is four numbers; the answer is the name of their class. Each client has a thread.
  void on_connect(std::istream& in, std::ostream& out, std::string const&, std::string const&, unsigned short,
                  unsigned short, uint64) override {
    for (std::string line; std::getline(in, line);) {
      Flower x;
      if (std::sscanf(line.c_str(), "%f,%f,%f,%f", &x(0), &x(1), &x(2), &x(3)) == 4) {
        std::lock_guard const lock(one);
        out << names[net(scale(x))] << std::endl;
      } else {
        out << "say four numbers: 5.1,3.5,1.4,0.2" << std::endl;
      }
    }
  }
};

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: server_dlib PORT\n"), 2;
  Server server;
  server.set_listening_ip("127.0.0.1");
  server.set_listening_port(std::atoi(argv[1]));
  server.start();
} catch (std::exception const& e) {
  std::fprintf(stderr, "server_dlib: %s\n", e.what());
  return 2;
}
