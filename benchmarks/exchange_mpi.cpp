// exchange_mpi.cpp - C7 and C8 of exchange.cpp by MPI_Allreduce, as mpicxx and mpirun of an MPI build and start it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi.h>

#include <cstring>

#include "burst.hpp"

namespace {

/// Rank 0 says how many sums of how many floats; 0 floats: it is over.
struct Order {
  long floats, times;
};
std::vector<float> sum;

void follow(Order o) {
  if (sum.size() != static_cast<std::size_t>(o.floats)) sum.assign(static_cast<std::size_t>(o.floats), 0);
  for (long k = 0; k < o.times; ++k) {
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(o.floats), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}
void lead(Order o) {
  MPI_Bcast(&o, sizeof o, MPI_BYTE, 0, MPI_COMM_WORLD);
  follow(o);
}
double row_us(std::string const& row) {
  long const bytes = row == "C8" ? 64L << 20 : row.compare(0, 3, "C7.") == 0 ? std::stol(row.substr(3)) : 0;
  if (bytes == 0) return -1;
  long const times = bytes < 65536 ? 64 : 1;
  return bench::step_us([&](int n) { lead({bytes / 4, n * times}); }) / static_cast<double>(times);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(name, &length);
    code = bench::serve(argc, argv, std::strstr(name, "Open MPI") ? "Open MPI" : "MPICH", row_us);
    lead({0, 0});
  } else {
    for (Order o{1, 0}; o.floats > 0;) {
      MPI_Bcast(&o, sizeof o, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (o.floats > 0) follow(o);
    }
  }
  MPI_Finalize();
  return code;
}
