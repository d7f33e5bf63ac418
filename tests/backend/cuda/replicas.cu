// backend/cuda/replicas.cu - replicas around a parameter server on a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../train/device_ranks.cpp"
