// report/metrics.hpp - metrics.jsonl: one line for each measurement, written during training and continued on resume.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../io/chart.hpp"
#include "../io/file.hpp"
#include "../io/json_line.hpp"
#include "../io/parse_double.hpp"

namespace cleave::session {

/// An evaluation on held-out samples; accuracy is NaN if they have no classes.
struct HeldOut {
  double step = 0, loss = 0, accuracy = 0;
};
/// Of a whole run, with what was kept from before.
struct Curves {
  io::Series losses{"loss", {}, {}};
  std::vector<HeldOut> held_out{};
  std::vector<io::Series> measured{};
};

/// Lines {"step":N,...} in a file. If it cannot be read or written, training continues without it, and `warning` says
/// why; a program also prints it. A file that cannot be read is left as it is.
class Metrics {
 public:
  /// A run resumed at step `first` keeps the lines up to there, and drops later ones and an incomplete last line; a run
  /// from step 0 begins a new file. `writes`: this process does. `program`: the prefix of warnings;
  /// without one they are not printed.
  Metrics(std::string program, std::string path, long first, bool writes)
      : program_(std::move(program)), path_(std::move(path)), writes_(writes) {
    if (!writes_) return;
    if (struct stat at; stat(path_.c_str(), &at) == 0 && !S_ISREG(at.st_mode)) {
      warn(path_ + ": is no file that can be written anew");
      return;
    }
    try {
      std::string const kept = first > 0 && io::exists(path_) ? lines_up_to(static_cast<double>(first)) : "";
      io::write_file(path_, io::Bytes(reinterpret_cast<unsigned char const*>(kept.data()), kept.size()));
    } catch (Error const& e) {
      warn(e.what());
      return;
    }
    file_ = std::fopen(path_.c_str(), "ae");
    if (!file_) failed();
  }
  ~Metrics() {
    if (file_) std::fclose(file_);
  }
  Metrics(Metrics const&) = delete;
  Metrics& operator=(Metrics const&) = delete;

  void add(io::JsonLine const& line) {
    if (!file_) return;
    std::string const text = line.text() + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) failed();
  }
  void add_loss(long step, double loss) {
    curves_.losses.x.push_back(static_cast<double>(step));
    curves_.losses.y.push_back(loss);
  }
  void add_held_out(long step, double loss, double accuracy) {
    curves_.held_out.push_back({static_cast<double>(step), loss, accuracy});
  }
  Curves const& curves() const { return curves_; }
  std::string const& path() const { return path_; }
  bool whole() const { return file_ != nullptr || !writes_; }
  std::string const& warning() const { return warning_; }

 private:
  /// Of the file; their losses are added to those of the run.
  std::string lines_up_to(double first) {
    std::string kept;
    auto const bytes = io::read_file(path_);
    std::string_view rest(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      std::string_view const line = rest.substr(0, end);
      double step = -1, loss = 0;
      if (!line.ends_with('}') || !line.starts_with("{\"step\":") || !number_of(line, "\"step\":", step)) continue;
      if (!(step >= 0 && step <= first)) continue;
      (kept += line) += '\n';
      if (number_of(line, "\"loss\":", loss)) curves_.losses.x.push_back(step), curves_.losses.y.push_back(loss);
      HeldOut test{step, 0, std::numeric_limits<double>::quiet_NaN()};
      number_of(line, "\"accuracy\":", test.accuracy);
      if (number_of(line, "\"held_out_loss\":", test.loss)) curves_.held_out.push_back(test);
    }
    return kept;
  }
  /// A number that is not finite is written as null.
  static bool number_of(std::string_view line, std::string_view name, double& value) {
    std::size_t const at = line.find(name);
    if (at == std::string_view::npos) return false;
    char const* const begin = line.data() + at + name.size();
    if (line.substr(at + name.size()).starts_with("null")) {
      value = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    return io::parse_double(begin, line.data() + line.size(), value).ec == std::errc();
  }
  void failed() {
    warn(meta::joined({path_, ": writing failed: ", io::errno_text(errno), "; training goes on without it"}));
    if (file_) std::fclose(file_);
    file_ = nullptr;
  }
  void warn(std::string const& what) {
    warning_ = what;
    if (!program_.empty()) std::fprintf(stderr, "%s: warning: %s\n", program_.c_str(), what.c_str());
  }

  std::string program_, path_, warning_;
  bool writes_;
  std::FILE* file_ = nullptr;
  Curves curves_;
};

}  // namespace cleave::session
