// tests/fuzz/csv.cpp - a CSV file: cells as text, and as a data set of two inputs and three classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/data/csv.hpp>
#include <cleave/layer/input.hpp>

#include "fuzz.hpp"

using namespace cleave;

std::vector<std::string> fuzz::seeds() {
  return {"a,b,kind\n1,2,x\n3,4,y\n5,6,z\n", "\"a\",\"b\"\"\",\"k\nind\"\r\n1e3,-2,\"7\"\n+1,2,11\n0,0,9\n",
          "\xEF\xBB\xBF,,\n"};
}

void fuzz::read(std::string_view input) {
  static File file;
  file.holding(input);
  std::size_t size = 0;
  for (io::CsvLine const& line : io::read_csv(file.path())) {
    check(!line.cells.empty(), "a line has cells");
    for (std::string const& cell : line.cells) size += cell.size();
  }
  check(size <= input.size(), "cells lie in the file");
  Csv<Vector<2>, Class<3>> const data(file.path());
  check(data.class_names().size() == 3, "there are as many classes as the type says");
  for (long i = 0; i < data.size(); ++i) {
    float x[2];
    int label = -1;
    data.read(i, x, label);
    check(std::isfinite(x[0]) && std::isfinite(x[1]), "inputs are finite");
    check(label >= 0 && label < 3, "labels are classes");
  }
}
