// train/guest.cpp - a trainer in a larger program: it writes nothing, leaves signals alone, and has no state but its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cleave.hpp>
#include <cleave/io/file.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<4>, Linear<8>, Tanh, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<16>, DataParallel<Sync>, Adam> {};

/// While it lives, a file has what is written to a descriptor.
class Diverted {
 public:
  Diverted(int of, std::string const& path) : of_(of), before_(::dup(of)) {
    std::fflush(nullptr);
    int const to = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(to, of);
    ::close(to);
  }
  ~Diverted() {
    std::fflush(nullptr);
    ::dup2(before_, of_);
    ::close(before_);
  }
  Diverted(Diverted const&) = delete;
  Diverted& operator=(Diverted const&) = delete;

 private:
  int of_, before_;
};

std::vector<float> inputs() {
  std::vector<float> x;
  for (int i = 0; i < 64 * 4; ++i) x.push_back(static_cast<float>(i * 7 % 13) / 13);
  return x;
}
std::vector<int> labels() {
  std::vector<int> y;
  for (int i = 0; i < 64; ++i) y.push_back(i % 3);
  return y;
}
/// All that a program does with a trainer; its last outputs.
std::vector<float> used(std::string const& file, int replicas) {
  std::vector<float> const x = inputs();
  std::vector<int> const y = labels();
  Trainer<Train> trainer({.replicas = replicas});
  trainer.fit(x, y, {.epochs = 3, .validation = 0.25, .patience = 2});
  trainer.save(file);
  trainer.load(file);
  for (auto const& batch : trainer.batches(x, y)) trainer.step(batch);
  trainer.evaluate(x, y);
  return Predictor<Net>(trainer)(x);
}
void own_handler(int) {}

}  // namespace

TEST_CASE("training writes nothing and leaves the handlers of signals as they are") {
  scratch::Folder const folder;
  int const all[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGSEGV, SIGABRT, SIGFPE, SIGXFSZ};
  void (*before[std::size(all)])(int);
  for (std::size_t i = 0; i < std::size(all); ++i) before[i] = std::signal(all[i], own_handler);
  {
    Diverted const out(1, folder / "out"), err(2, folder / "err");
    used(folder / "w.safetensors", 2);
    CHECK_THROWS_AS(Predictor<Net>("no such file"), Error);
  }
  for (std::size_t i = 0; i < std::size(all); ++i) {
    CAPTURE(all[i]);
    bool const kept = std::signal(all[i], before[i]) == own_handler;
    CHECK(kept);
  }
  CHECK(io::read_file(folder / "out").empty());
  CHECK(io::read_file(folder / "err").empty());
}
TEST_CASE("two trainers in threads of a program have the results that each has alone") {
  scratch::Folder const folder;
  std::vector<float> const one = used(folder / "a", 1), two = used(folder / "b", 2);
  std::vector<float> a, b;
  std::thread first([&] { a = used(folder / "c", 1); }), second([&] { b = used(folder / "d", 2); });
  first.join();
  second.join();
  CHECK(a == one);
  CHECK(b == two);
  CHECK(a == b);  // of ordered sums
}
