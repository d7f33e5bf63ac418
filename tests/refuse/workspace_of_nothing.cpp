// refused: Workspace<n>: n bytes for libraries, more than the MiB that there always is
// refused: 4096
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Fastest, Workspace<4096>> {};
