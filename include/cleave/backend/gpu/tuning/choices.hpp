// backend/gpu/tuning/choices.hpp - the measured choice between a library and our kernels: a file with a line each, kept between runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../../../meta/error.hpp"

namespace cleave::backend::gpu {

/// A library's identifier of an algorithm, valid for one version of it; stored and passed back.
using Algorithm = std::vector<std::uint64_t>;

/// The library has an algorithm that ran if `there`; times are in microseconds. Algorithms that lacked workspace need
/// at least `wants` bytes.
struct Choice {
  bool own = true, there = false;
  double library_us = 0, own_us = 0;
  Algorithm algorithm{};
  long wants = 0;
};

/// Changes when our kernels do: then times measured beside the earlier ones are not reused.
inline constexpr char const* own_revision = ", own 2";

/// What a library computes, its name, its word in the file and the suffix of its environment variable.
struct Words {
  char const *things, *library, *word, *variable;
};

/// A line is
///   device | library | product | cublas or own | us by cublas | us by own | algorithm
/// followed by the bytes that others need, if there are any. It may be edited: `own` or `cublas` is obeyed. A line that
/// cannot be read is measured again; a file that cannot be written is measured at each start, and `trouble` says so.
class Choices {
 public:
  /// Without a name: kept in memory only.
  Choices(std::string file, Words const& words) : words_(words), file_(std::move(file)) {
    std::error_code e;
    if (std::filesystem::exists(file_, e) && !std::ifstream(file_)) {
      trouble_ = file_ + " cannot be read" + otherwise();
      file_.clear();
    }
    read(choices_);
  }
  Choices(Choices const&) = delete;
  Choices& operator=(Choices const&) = delete;

  /// $CLEAVE_CACHE, $XDG_CACHE_HOME/cleave or ~/.cache/cleave; empty if there is none, or if CLEAVE_CACHE is empty.
  template <class Variable> static std::string usual_file(Words const& words, Variable variable) {
    char const *const own = variable("CLEAVE_CACHE"), *const xdg = variable("XDG_CACHE_HOME"),
                      *const home = variable("HOME");
    std::string const folder = own           ? own
                               : xdg && *xdg ? std::string(xdg) + "/cleave"
                               : home        ? std::string(home) + "/.cache/cleave"
                                             : "";
    return folder.empty() ? "" : folder + "/" + words.things;
  }

  std::optional<Choice> find(std::string const& key) const {
    auto const at = choices_.find(key);
    return at == choices_.end() ? std::nullopt : std::optional(at->second);
  }
  /// Keeps what another process has written meanwhile.
  void put(std::string const& key, Choice const& c) {
    choices_[key] = c;
    if (file_.empty()) return;
    std::map<std::string, Choice> all;
    read(all);
    for (auto const& [k, v] : choices_) all[k] = v;
    write(all);
  }
  std::string const& file() const { return file_; }
  std::string const& trouble() const { return trouble_; }

  static inline std::mutex learning;  // one thread at a time: concurrent measurements would disturb each other

 private:
  static constexpr char between[] = " | ";
  static constexpr std::size_t digits = 16;  // of a word of an algorithm

  std::string otherwise() const {
    return std::string("; ") + words_.things + " are measured at each start (CLEAVE_CACHE names another folder)";
  }

  void read(std::map<std::string, Choice>& into) {
    std::ifstream in(file_);
    int wrong = 0;
    for (std::string line; !file_.empty() && std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::string> part(1);
      for (std::size_t at = 0, next; part.size() < 9; at = next + sizeof between - 1) {
        next = line.find(between, at);
        part.back() = line.substr(at, next - at);
        if (next == std::string::npos) break;
        part.emplace_back();
      }
      Choice c;
      if ((part.size() == 7 || part.size() == 8) && parse(part, c)) {
        into[part[0] + between + part[1] + between + part[2]] = c;
      } else {
        ++wrong;
      }
    }
    if (wrong > 0) {
      trouble_ = file_ + ": " + std::to_string(wrong) + (wrong == 1 ? " line is" : " lines are") +
                 " not understood; what is missing is measured again";
    }
  }
  bool parse(std::vector<std::string> const& part, Choice& c) const {
    c.own = part[3] == "own";
    if (!c.own && part[3] != words_.word) return false;
    auto const number = [](std::string const& s, double& to) {
      char* end = nullptr;
      to = std::strtod(s.c_str(), &end);
      return !s.empty() && *end == '\0' && to >= 0;
    };
    if (!number(part[4], c.library_us) || !number(part[5], c.own_us)) return false;
    double wants = 0;
    if (part.size() == 8 && !number(part[7], wants)) return false;
    c.wants = static_cast<long>(wants);
    c.there = part[6] != "-";
    if (!c.there) return c.own;
    if (part[6].empty() || part[6].size() % digits != 0) return false;
    if (part[6].find_first_not_of("0123456789abcdef") != std::string::npos) return false;
    for (std::size_t at = 0; at < part[6].size(); at += digits) {
      c.algorithm.push_back(std::strtoull(part[6].substr(at, digits).c_str(), nullptr, 16));
    }
    return true;
  }
  std::string line(std::string const& key, Choice const& c) const {
    char numbers[64], hex[digits + 1];
    std::snprintf(numbers, sizeof numbers, "%.2f%s%.2f", c.library_us, between, c.own_us);
    std::string s = key + between + (c.own ? "own" : words_.word) + between + numbers + between + (c.there ? "" : "-");
    for (std::uint64_t word : c.algorithm) {
      std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(word));
      if (c.there) s += hex;
    }
    return s + (c.wants > 0 ? between + std::to_string(c.wants) : "") + "\n";
  }
  /// Writes a temporary file and renames it, so that readers see a complete file.
  void write(std::map<std::string, Choice> const& all) {
    std::error_code e;
    std::filesystem::path const to(file_), beside(file_ + "." + std::to_string(::getpid()));
    std::filesystem::create_directories(to.parent_path(), e);
    {
      std::ofstream out(beside, std::ios::trunc);
      out << "# device | library | one of the " << words_.things << " | " << words_.word
          << " or own: what is done | us by " << words_.word << " | us by own | algorithm\n";
      for (auto const& [key, c] : all) out << line(key, c);
      if (!out.flush()) e = std::make_error_code(std::errc::io_error);
    }
    if (!e) std::filesystem::rename(beside, to, e);
    if (!e) return;
    trouble_ = file_ + " cannot be written" + otherwise();
    std::filesystem::remove(beside, e);
  }

  Words words_;
  std::string file_, trouble_;
  std::map<std::string, Choice> choices_;
};

}  // namespace cleave::backend::gpu
