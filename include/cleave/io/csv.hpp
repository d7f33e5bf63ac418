// io/csv.hpp - the cells of a CSV file (RFC 4180), line by line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "file.hpp"

namespace cleave::io {

/// A line of cells; `number` is that of its first line in the file, from 1.
struct CsvLine {
  long number = 0;
  std::vector<std::string> cells;
};

/// Lines end with \n or \r\n; empty ones are left out. A cell in quotes may hold separators, line ends, and "" for a
/// quote. Spaces around a cell without quotes are not part of it. Throws Error if the file cannot be read, or if quotes
/// do not end.
template <class = void> std::vector<CsvLine> read_csv(std::string const& path, char separator = ',') {
  std::vector<unsigned char> const file = read_file(path);
  std::size_t at =
      file.size() >= 3 && file[0] == 0xEF && file[1] == 0xBB && file[2] == 0xBF ? 3 : 0;  // byte order mark
  std::vector<CsvLine> lines;
  CsvLine line;
  std::string cell;
  long number = 1;
  bool quoted = false;  // the cell was in quotes
  auto const end_cell = [&] {
    if (!quoted) {
      std::size_t const first = cell.find_first_not_of(" \t"), last = cell.find_last_not_of(" \t");
      cell = first == std::string::npos ? std::string() : cell.substr(first, last - first + 1);
    }
    line.cells.push_back(std::move(cell));
    cell.clear();
  };
  auto const end_line = [&] {
    bool const empty = line.cells.empty() && !quoted && cell.find_first_not_of(" \t") == std::string::npos;
    if (!empty) {
      end_cell();
      lines.push_back(std::move(line));
    }
    line = {};
    cell.clear();
    quoted = false;
  };
  for (; at < file.size(); ++at) {
    char const c = static_cast<char>(file[at]);
    if (line.cells.empty() && cell.empty()) line.number = number;
    if (c == '"' && !quoted && cell.find_first_not_of(" \t") == std::string::npos) {
      long const began = number;
      cell.clear();
      quoted = true;
      for (++at;; ++at) {
        if (at >= file.size()) throw Error({path, ":", began, ": a quote that does not end"});
        char const q = static_cast<char>(file[at]);
        if (q == '\n') ++number;
        if (q != '"') {
          cell += q;
        } else if (at + 1 < file.size() && file[at + 1] == '"') {
          cell += '"';
          ++at;
        } else {
          break;
        }
      }
    } else if (c == separator) {
      end_cell();
      quoted = false;
    } else if (c == '\n') {
      end_line();
      ++number;
    } else if (c == '\r' && at + 1 < file.size() && file[at + 1] == '\n') {
      continue;
    } else if (!quoted) {
      cell += c;
    } else if (c != ' ' && c != '\t') {
      throw Error({path, ":", number, ": text behind a cell in quotes"});
    }
  }
  end_line();
  return lines;
}

}  // namespace cleave::io
