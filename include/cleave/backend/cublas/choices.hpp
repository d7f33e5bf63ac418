// backend/cublas/choices.hpp - who makes which product, as measured: a file of a line each, kept from start to start.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../../meta/error.hpp"
#include "call.hpp"

namespace cleave::backend::cublas {

/// Whose algorithm is `there` where the library has one that ran; times are in microseconds.
struct Choice {
  bool own = true, there = false;
  double library_us = 0, own_us = 0;
  Algorithm algorithm{};
};

/// A line is
///   device | library | product | cublas or own | us by cublas | us by own | algorithm
/// and may be edited: `own` or `cublas` is what is done. What cannot be read is measured again, what cannot be written
/// is measured at each start; `trouble` says so.
class Choices {
 public:
  /// Without a name: kept in memory only.
  explicit Choices(std::string file) : file_(std::move(file)) {
    std::error_code e;
    if (std::filesystem::exists(file_, e) && !std::ifstream(file_)) {
      trouble_ = file_ + " cannot be read; products are measured at each start (CLEAVE_CACHE names another folder)";
      file_.clear();
    }
    read(choices_);
  }
  Choices(Choices const&) = delete;
  Choices& operator=(Choices const&) = delete;

  /// $CLEAVE_CACHE, $XDG_CACHE_HOME/cleave or ~/.cache/cleave; nothing where there is none, or CLEAVE_CACHE is empty.
  template <class Variable> static std::string usual_file(Variable variable) {
    char const *const own = variable("CLEAVE_CACHE"), *const xdg = variable("XDG_CACHE_HOME"),
                      *const home = variable("HOME");
    std::string const folder = own           ? own
                               : xdg && *xdg ? std::string(xdg) + "/cleave"
                               : home        ? std::string(home) + "/.cache/cleave"
                                             : "";
    return folder.empty() ? "" : folder + "/products";
  }

  std::optional<Choice> find(std::string const& key) const {
    auto const at = choices_.find(key);
    return at == choices_.end() ? std::nullopt : std::optional(at->second);
  }
  /// What another process has written meanwhile stays.
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

  std::mutex learning;  // one thread at a time: they would measure each other

 private:
  static constexpr char between[] = " | ";

  void read(std::map<std::string, Choice>& into) {
    std::ifstream in(file_);
    int wrong = 0;
    for (std::string line; !file_.empty() && std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::string> part(1);
      for (std::size_t at = 0, next; part.size() < 8; at = next + sizeof between - 1) {
        next = line.find(between, at);
        part.back() = line.substr(at, next - at);
        if (next == std::string::npos) break;
        part.emplace_back();
      }
      Choice c;
      if (part.size() == 7 && parse(part, c)) {
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
  static bool parse(std::vector<std::string> const& part, Choice& c) {
    c.own = part[3] == "own";
    if (!c.own && part[3] != "cublas") return false;
    auto const number = [](std::string const& s, double& to) {
      char* end = nullptr;
      to = std::strtod(s.c_str(), &end);
      return !s.empty() && *end == '\0' && to >= 0;
    };
    if (!number(part[4], c.library_us) || !number(part[5], c.own_us)) return false;
    c.there = part[6] != "-";
    if (!c.there) return c.own;
    if (part[6].size() != 16 * c.algorithm.size()) return false;
    for (std::size_t i = 0; i < c.algorithm.size(); ++i) {
      std::string const digits = part[6].substr(16 * i, 16);
      if (digits.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
      c.algorithm[i] = std::strtoull(digits.c_str(), nullptr, 16);
    }
    return true;
  }
  static std::string line(std::string const& key, Choice const& c) {
    char numbers[64], digits[17];
    std::snprintf(numbers, sizeof numbers, "%.2f%s%.2f", c.library_us, between, c.own_us);
    std::string s = key + between + (c.own ? "own" : "cublas") + between + numbers + between + (c.there ? "" : "-");
    for (std::uint64_t word : c.algorithm) {
      std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(word));
      if (c.there) s += digits;
    }
    return s + "\n";
  }
  /// Beside the file, then in its place: whoever reads sees all of it.
  void write(std::map<std::string, Choice> const& all) {
    std::error_code e;
    std::filesystem::path const to(file_), beside(file_ + "." + std::to_string(::getpid()));
    std::filesystem::create_directories(to.parent_path(), e);
    {
      std::ofstream out(beside, std::ios::trunc);
      out << "# device | library | product | cublas or own: what is done | us by cublas | us by own | algorithm\n";
      for (auto const& [key, c] : all) out << line(key, c);
      if (!out.flush()) e = std::make_error_code(std::errc::io_error);
    }
    if (!e) std::filesystem::rename(beside, to, e);
    if (!e) return;
    trouble_ = file_ + " cannot be written; products are measured at each start (CLEAVE_CACHE names another folder)";
    std::filesystem::remove(beside, e);
  }

  std::string file_, trouble_;
  std::map<std::string, Choice> choices_;
};

}  // namespace cleave::backend::cublas
