// report/metrics.cpp - metrics.jsonl goes on where a resumed run does, whatever state it was left in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/report/metrics.hpp>

#include <cmath>
#include <filesystem>

#include "../io/scratch.hpp"

using namespace cleave;
using session::Metrics;

namespace {
std::string text_of(std::string const& path) {
  auto const bytes = io::read_file(path);
  return {bytes.begin(), bytes.end()};
}
void line(Metrics& m, long step) { m.add(io::JsonLine().add("step", step).add("loss", 0.5)); }
}  // namespace

TEST_CASE("lines are in the file as soon as they are added; a run from step 0 begins anew") {
  scratch::Folder const folder;
  std::string const path = folder / "metrics.jsonl";
  Metrics first("train", path, 0, true);
  line(first, 16);
  CHECK(text_of(path) == "{\"step\":16,\"loss\":0.5}\n");
  Metrics const again("train", path, 0, true);
  CHECK(text_of(path) == "");
}
TEST_CASE("a resumed run keeps the lines up to its step, without later ones and a cut last line") {
  scratch::Folder const folder;
  std::string const path = folder / "metrics.jsonl";
  std::string const kept =
      "{\"step\":16,\"epoch\":2,\"loss\":1.5}\n{\"step\":32,\"loss\":1.25}\n{\"step\":32,\"accuracy\":0.5}\n";
  std::string const left = kept + "{\"step\":48,\"loss\":1.125}\nnothing of ours\n{\"step\":32,\"lo";
  io::write_file(path, scratch::bytes(left));
  {
    Metrics more("train", path, 32, true);
    CHECK(more.curves().losses.x == std::vector<double>{16, 32});
    CHECK(more.curves().losses.y == std::vector<double>{1.5, 1.25});
    line(more, 48);
  }
  CHECK(text_of(path) == kept + "{\"step\":48,\"loss\":0.5}\n");
  Metrics const other("train", path, 16, false);  // another process writes
  CHECK(text_of(path) == kept + "{\"step\":48,\"loss\":0.5}\n");
}
TEST_CASE("resumed into an empty folder it begins there") {
  scratch::Folder const folder;
  Metrics more("train", folder / "metrics.jsonl", 32, true);
  line(more, 48);
  CHECK(text_of(folder / "metrics.jsonl") == "{\"step\":48,\"loss\":0.5}\n");
  CHECK(more.whole());
}
TEST_CASE("a loss that was not finite stays a gap in the curve, and its evaluation keeps the accuracy") {
  scratch::Folder const folder;
  std::string const path = folder / "metrics.jsonl";
  io::write_file(path, scratch::bytes("{\"step\":16,\"loss\":null}\n"
                                      "{\"step\":32,\"accuracy\":0.5,\"held_out_loss\":null}\n"));
  Metrics const more("train", path, 32, true);
  REQUIRE(more.curves().losses.y.size() == 1);
  CHECK(std::isnan(more.curves().losses.y[0]));
  REQUIRE(more.curves().held_out.size() == 1);
  CHECK(std::isnan(more.curves().held_out[0].loss));
  CHECK(more.curves().held_out[0].accuracy == 0.5);
}
TEST_CASE("a file that cannot be read is left as it is, and training goes on without it") {
  scratch::Folder const folder;
  std::string const path = folder / "metrics.jsonl";
  std::filesystem::create_directory(path);
  Metrics more("train", path, 32, true);
  line(more, 48);
  more.add_loss(48, 0.5);
  CHECK(!more.whole());
  CHECK(more.curves().losses.y == std::vector<double>{0.5});
  CHECK(std::filesystem::is_directory(path));
}
