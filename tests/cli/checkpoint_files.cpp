// cli/checkpoint_files.cpp - the files of an output folder: which there are after a save, after a failing one, and which
// of them --resume auto takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"

using namespace cleave;
using session::CheckpointFiles;

namespace {
struct Net : Sequential<Vector<9>, Linear<7>, Tanh, Linear<4>, CrossEntropy> {};
struct P : Plan<Net, Batch<12>, MicroBatches<4>, DataParallel<Sync>, Sgd> {};
struct Other : Plan<Net, Batch<24>, MicroBatches<4>, DataParallel<Sync>, Sgd> {};
using Saver = session::Saver<Trainer<P>>;

long step_of(std::string const& path) {
  return session::saved_step(session::description<P>, session::read_checkpoint(session::description<P>, path), path);
}
void cut(std::string const& path) {
  auto bytes = io::read_file(path);
  bytes.resize(bytes.size() / 2);
  io::write_file(path, bytes);
}
}  // namespace

TEST_CASE("the newest two and the best are kept") {
  scratch::Folder const folder;
  Trainer<P> trainer(1, 3);
  Saver saver(trainer, "test", folder / "out", 3, true, false);
  CheckpointFiles const& files = saver.files;
  CHECK(saver.told() == "; nothing was saved yet");
  double const loss[] = {3, 1, 2};
  for (int i = 0; i < 3; ++i) {
    trainer.set_steps(10 * (i + 1));
    saver.save_now_and_then();
    saver.save_if_best(loss[i]);
  }
  CHECK(step_of(files.last) == 30);
  CHECK(step_of(files.previous) == 20);
  CHECK(step_of(files.best) == 20);
  CHECK(files.best_loss() == 1);
  CHECK(saver.told() == "; saved last: " + files.last + ", step 30");
  // A resumed run goes on comparing.
  Saver resumed(trainer, "test", folder / "out", 3, true, true);
  resumed.save_if_best(1.5);
  CHECK(step_of(files.best) == 20);
  resumed.save_if_best(0.5);
  CHECK(step_of(files.best) == 30);
  resumed.save_if_best(std::numeric_limits<double>::quiet_NaN());
  CHECK(files.best_loss() == 0.5);
}

TEST_CASE("a save that fails leaves the newest two, is told, and the next one may succeed") {
  scratch::Folder const folder;
  Trainer<P> trainer(1, 3);
  Saver saver(trainer, "test", folder / "out", 3, true, false);
  for (long step : {10, 20}) {
    trainer.set_steps(step);
    saver.save();
  }
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float good = 0;
  trainer.read(0, backend::host::Region::Weights, 0, 1, &good);
  trainer.write(0, backend::host::Region::Weights, 0, 1, &nan);
  trainer.set_steps(30);
  CHECK_THROWS_AS(saver.save_now_and_then(), Diverged);
  CHECK_THROWS_AS(saver.save_if_best(0.1), Diverged);
  CHECK(step_of(saver.files.last) == 20);
  CHECK(step_of(saver.files.previous) == 10);
  CHECK(!io::exists(saver.files.best));
  trainer.write(0, backend::host::Region::Weights, 0, 1, &good);
  saver.save();
  CHECK(step_of(saver.files.last) == 30);
  CHECK(step_of(saver.files.previous) == 20);
}

TEST_CASE("--resume auto takes the newest that is whole, tells of those that are not, and refuses another plan") {
  scratch::Folder const folder;
  Trainer<P> trainer(1, 3);
  Saver saver(trainer, "test", folder / "out", 3, true, false);
  CheckpointFiles const& files = saver.files;
  std::FILE* const log = std::fopen((folder / "log").c_str(), "w+");
  auto const said = [&] {
    std::fflush(log);
    auto const bytes = io::read_file(folder / "log");
    return std::string(bytes.begin(), bytes.end());
  };
  CHECK(files.newest(session::description<P>, log).empty());
  for (long step : {10, 20, 30}) {
    trainer.set_steps(step);
    saver.save();
    if (step == 10) saver.save_if_best(1);
  }
  CHECK(files.newest(session::description<P>, log) == files.last);
  CHECK(said().empty());
  CHECK_THROWS_WITH_AS(files.newest(session::description<Other>, log), doctest::Contains("saved under another plan"),
                       Error);
  cut(files.last);
  CHECK(files.newest(session::description<P>, log) == files.previous);
  CHECK(said().find("skipped " + files.last) != std::string::npos);
  cut(files.previous);
  CHECK(files.newest(session::description<P>, log) == files.best);
  cut(files.best);
  CHECK(files.newest(session::description<P>, log).empty());
  std::fclose(log);
}

TEST_CASE("a broken file never becomes the previous one") {
  scratch::Folder const folder;
  Trainer<P> trainer(1, 3);
  for (long step : {10, 20, 30}) {
    Saver saver(trainer, "test", folder / "out", 3, true, true);
    trainer.set_steps(step);
    saver.save();
    if (step == 20) cut(saver.files.last);
    if (step != 30) continue;
    CHECK(step_of(saver.files.last) == 30);
    CHECK(step_of(saver.files.previous) == 10);
  }
}

TEST_CASE("a symbolic link stays one, and the file that it names is replaced") {
  scratch::Folder const folder;
  io::make_folder(folder / "out");
  io::make_folder(folder / "store");
  CheckpointFiles files(folder / "out");
  REQUIRE(::symlink("../store/weights.safetensors", files.last.c_str()) == 0);  // of a file to come
  Trainer<P> trainer(1, 3);
  for (long step : {10, 20}) {
    trainer.set_steps(step);
    files.save(trainer, 3, true);
    CHECK(step_of(folder / "store/weights.safetensors") == step);
  }
  struct stat about {};
  REQUIRE(::lstat(files.last.c_str(), &about) == 0);
  CHECK(S_ISLNK(about.st_mode));
  CHECK(step_of(files.previous) == 10);
  REQUIRE(::symlink("turn", (folder / "turn").c_str()) == 0);
  CHECK_THROWS_WITH_AS(session::written_through(folder / "turn"), doctest::Contains("too many symbolic links"), Error);
}

TEST_CASE("an output folder that cannot take a checkpoint is an error before training") {
  scratch::Folder const folder;
  io::write_file(folder / "plain", scratch::bytes("x"));
  CHECK_THROWS_WITH_AS(CheckpointFiles(folder / "plain").check(100), doctest::Contains("cannot make the folder"),
                       Error);
  io::make_folder(folder / "out/checkpoint-best.safetensors");
  CHECK_THROWS_WITH_AS(CheckpointFiles(folder / "out").check(100),
                       doctest::Contains("checkpoint-best.safetensors: is a folder"), Error);
  CHECK_THROWS_WITH_AS(CheckpointFiles(folder / "huge").check(1L << 60), doctest::Contains("bytes free"), Error);
  CheckpointFiles(folder / "new/one").check(100);
  CHECK(io::exists(folder / "new/one"));
  CHECK(!io::exists(folder / "new/one/.cleave-can-write"));
}
