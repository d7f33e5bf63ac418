// backend/cuda/nccl.cu - NCCL itself: what it says without a GPU, and a communicator of one rank where there is one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One rank with itself sends nothing to anybody. Several ranks are tried with a stand-in for NCCL
// (backend/nccl/link.cpp), and by no test on GPUs.
#include <cstdio>

#include <cleave.hpp>

using namespace cleave;
using Linked = session::NcclLink;
using backend::nccl::Api;

struct Net : Sequential<Vector<8>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
template class cleave::DeviceTrainer<Train, backend::cuda::Machine, Linked>;

int main() {
  Api::Id id;
  if (int const e = Api::get_unique_id(&id)) return std::printf("no identity: %s\n", Api::text(e).c_str()), 1;
  if (backend::cuda::devices() == 0) {
    try {
      Linked link({}, 0, 1, id, std::chrono::seconds(20));
    } catch (Error const& e) {
      std::printf("%s\n", e.what());
      bool const named = std::string(e.what()).rfind("rank 0 of 1: NCCL: join the other ranks: ", 0) == 0;
      std::printf("%s\n", named ? "skipped: there is no GPU; the error is one that names rank and operation" : "wrong");
      return named ? 77 : 1;
    }
    return 1;  // it must not come to be
  }
  auto machine = std::make_unique<backend::cuda::Machine>();
  auto link = std::make_unique<Linked>(Api{}, 0, 1, id);
  DeviceTrainer<Train, backend::cuda::Machine, Linked> alone(1, 7, std::move(machine), std::move(link));
  DeviceTrainer<Train, backend::cuda::Machine> together(1, 7);
  auto const samples = [] {
    return backend::host::Feed{nullptr,
                               [](void const*, long step, long first, int count, float* out) {
                                 for (long i = first * 8; i < (first + count) * 8; ++i)
                                   *out++ = static_cast<float>((i * 7 + step) % 11) - 5;
                               },
                               [](void const*, long, long first, int count, int* out) {
                                 for (long i = first; i < first + count; ++i) *out++ = static_cast<int>(i % 4);
                               }};
  };
  bool const same = alone.train(0, 20, samples()) == together.train(0, 20, samples());
  std::printf("%s\n", same ? "one rank by NCCL has the losses of one rank" : "the losses differ");
  return same ? 0 : 1;
}
