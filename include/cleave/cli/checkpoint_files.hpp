// cli/checkpoint_files.hpp - the checkpoints in a run's output folder: the newest two, and the best.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/statvfs.h>

#include <limits>
#include <string>
#include <vector>

#include "../backend/mpi/process.hpp"
#include "../io/parse_double.hpp"
#include "../report/words.hpp"
#include "../train/checkpoint.hpp"

namespace cleave::session {

/// The file that is written: the target at the end of a chain of symbolic links.
inline std::string written_through(std::string path) {
  for (int links = 0; links < 40; ++links) {
    char to[4096];
    ssize_t const n = ::readlink(path.c_str(), to, sizeof to);
    if (n <= 0 || n == static_cast<ssize_t>(sizeof to)) return path;
    std::string const name(to, static_cast<std::size_t>(n));
    path = name.front() == '/' ? name : io::folder_of(path) + "/" + name;
  }
  throw Error({path, ": too many symbolic links"});
}

/// Bytes of the tensors of a checkpoint of a plan, without residuals.
inline long checkpoint_bytes(Description const& plan) {
  long elements = 0;
  for (Kept const& k : kept(plan)) elements += k.shape.size();
  return elements * plan.program.format.sum;
}

class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::string const& folder)
      : last(folder + "/checkpoint.safetensors"),
        previous(folder + "/checkpoint-previous.safetensors"),
        best(folder + "/checkpoint-best.safetensors"),
        folder_(folder) {}

  std::string const last, previous, best;
  Preprocessing const* preprocessing = nullptr;  // saved with the weights

  /// Called before training: creates the folder and tries to write there. Throws Error if a checkpoint of `bytes` bytes
  /// could not be saved.
  void check(long bytes) const {
    io::make_folder(folder_);
    for (std::string const& path : {last, previous, best}) {
      struct stat about {};
      if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
        throw Error({path, ": is a folder, and a checkpoint has this name; remove it, or say another --out"});
      }
    }
    std::string const folder = io::folder_of(written_through(last)), probe = folder + "/.cleave-can-write";
    io::write_file(probe, io::Bytes{});
    ::unlink(probe.c_str());
    struct statvfs disk {};
    if (::statvfs(folder.c_str(), &disk) != 0) return;
    double const free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
    if (free < static_cast<double>(bytes)) {
      throw Error({folder, ": has ", static_cast<long>(free), " bytes free, a checkpoint takes ", bytes,
                   "; make room, or say another --out"});
    }
  }

  /// Saves as `last`; the file that had this name becomes `previous`. There is a complete `last` at every moment. If it
  /// is a symbolic link, its target is replaced. Called by all processes; one `writes`.
  template <class Trained> void save(Trained& trainer, std::uint64_t seed, bool writes) {
    std::string const target = written_through(last), aside = previous + ".new";
    bool const kept = writes && is_good(target) && io::second_name(target, aside);
    try {
      session::save(trainer, target, seed, writes, preprocessing);
    } catch (...) {
      if (kept) ::unlink(aside.c_str());
      throw;
    }
    good_ = true;
    if (kept && ::rename(aside.c_str(), previous.c_str()) != 0) ::unlink(aside.c_str());
  }
  /// Saves as `best`, with its loss.
  template <class Trained> void save_best(Trained& trainer, std::uint64_t seed, double loss, bool writes) const {
    session::save(trainer, written_through(best), seed, writes, preprocessing, {{"best_loss", io::number_text(loss)}});
  }
  /// The loss of `best`; infinite if there is none.
  double best_loss() const {
    double loss = std::numeric_limits<double>::infinity();
    try {
      if (!io::exists(best)) return loss;
      io::SafeTensors const file = io::load_safetensors(best);
      std::string const* const text = file.find_metadata("best_loss");
      if (text) io::parse_double(text->data(), text->data() + text->size(), loss);
    } catch (Error const&) {  // a broken one is replaced
    }
    return loss;
  }

  /// `last` if it is valid, else the newer of the others, or empty. Reports broken ones; throws Error if one that it
  /// reads is valid but of another plan, since the run would overwrite it.
  std::string newest(Description const& plan, std::FILE* say) const {
    std::string found;
    long step = -1;
    for (std::string const& path : {last, previous, best}) {
      if (!io::exists(path)) continue;
      try {
        long const its = saved_step(plan, read_checkpoint(plan, path), path);
        if (path == last) return path;  // the others may be of an earlier run
        if (its > step) found = path, step = its;
      } catch (OtherPlan const& e) {
        throw Error({"--resume auto: ", e.what(), "; say another --out, or leave --resume out to begin anew"});
      } catch (Error const& e) {
        std::fprintf(say, "--resume auto: skipped %s\n", e.what());
      }
    }
    return found;
  }

 private:
  /// Only a valid file becomes `previous`. Files that this run has written are valid.
  bool is_good(std::string const& path) {
    if (!good_ && io::exists(path)) {
      try {
        io::load_safetensors(path);
        good_ = true;
      } catch (Error const&) {
      }
    }
    return good_;
  }

  std::string folder_;
  bool good_ = false;
};

/// The newest checkpoint in a folder, or empty, as CheckpointFiles::newest.
template <class = void>
std::string newest_checkpoint(Description const& plan, std::string const& folder, std::FILE* say) {
  return CheckpointFiles(folder).newest(plan, say);
}
/// Says so if a checkpoint was saved under another split, other micro-batches or another number format.
CLEAVE_IN_LIBRARY void tell_other_settings(std::FILE* say, Description const& plan, std::string const& path) {
  io::SafeTensors const file = io::load_safetensors(path);
  std::string const *const then = file.find_metadata("plan"), now = plan_text(plan);
  if (then && *then != now) {
    std::fprintf(say, "%s was saved under %s; it goes on under %s: the same training, with other roundings\n",
                 path.c_str(), then->c_str(), now.c_str());
  }
}

/// The file that --resume names; empty: a fresh start. With "auto", rank 0 searches, and all ranks use its result.
inline std::string resume_path(Description const& plan, std::string const& given, std::string const& out,
                               std::FILE* say, bool leads, backend::mpi::Process const& process) {
  if (given != "auto") return given;
  std::string found = process.from_first(leads ? newest_checkpoint(plan, out, say) : "");
  std::fprintf(say, "--resume auto: %s\n",
               found.empty() ? ("no checkpoint in " + out + ", a fresh start").c_str() : found.c_str());
  return found;
}

/// Writes a file whose failure should not end the training: then prints a warning. Returns whether it was written.
template <class Write> bool wrote(std::string const& who, Write write) {
  try {
    write();
    return true;
  } catch (Diverged const&) {
    throw;
  } catch (std::exception const& e) {  // memory may be what is missing
    std::fprintf(stderr, "%s: warning: %s\n", who.c_str(), words_of(e));
    return false;
  }
}

/// Saves a run: at intervals, when it stops, at its end; and names the last good file when it fails.
template <class Trained> class Saver {
 public:
  /// Checks the folder. A `resumed` run continues to compare with its best.
  Saver(Trained& trainer, std::string program, std::string const& folder, std::uint64_t seed, bool writes, bool resumed)
      : files(folder), trainer_(trainer), program_(std::move(program)), seed_(seed), writes_(writes) {
    if (writes_) {
      files.check(checkpoint_bytes(description_of(trainer)));
      best_ = resumed ? files.best_loss() : std::numeric_limits<double>::infinity();
    }
    if constexpr (requires { trainer.sum_over_processes(&best_, 1); }) trainer.sum_over_processes(&best_, 1);
  }

  CheckpointFiles files;

  /// A file that cannot be written is a warning: training continues, and the next save tries again.
  void save_now_and_then() {
    if (wrote(program_, [&] { save(); })) return;
    std::fprintf(stderr, "%s: warning: not saved at step %ld, training goes on%s\n", program_.c_str(), trainer_.steps(),
                 told().c_str());
  }
  /// Throws Error if the file cannot be written. Saves once for a step: all processes take part in a save, or none.
  void save() {
    if (tried_ != trainer_.steps()) {
      tried_ = trainer_.steps();
      failure_.clear();
      try {
        files.save(trainer_, seed_, writes_);
        saved_ = tried_;
      } catch (Diverged const&) {
        tried_ = -1;
        throw;
      } catch (Error const& e) {
        failure_ = e.what();
      }
    }
    if (!failure_.empty()) throw Error(failure_);
  }
  /// Keeps the weights if this loss, the same on all processes, is the lowest so far.
  void save_if_best(double loss) {
    if (!(loss < best_)) return;
    best_ = loss;
    if (wrote(program_, [&] { files.save_best(trainer_, seed_, loss, writes_); })) has_best_ = true;
  }
  bool has_best() const { return has_best_; }
  /// To be appended to an error message.
  std::string told() const {
    if (saved_ >= 0) return "; saved last: " + files.last + ", step " + std::to_string(saved_);
    return io::exists(files.last) ? "; " + files.last + " is as it was before this run" : "; nothing was saved yet";
  }

 private:
  Trained& trainer_;
  std::string program_;
  std::uint64_t seed_;
  bool writes_;
  long tried_ = -1, saved_ = -1;  // steps
  std::string failure_;           // of the last attempt
  double best_ = 0;               // the lowest loss; on a process that does not write, 0 until it is told
  bool has_best_ = false;
};

}  // namespace cleave::session
