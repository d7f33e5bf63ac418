// refused: Workspace: only libraries use more than the MiB that there always is
// refused: say Fastest
// refused: workspace_is_for_libraries<true, 1>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Workspace<67108864>> {};
