// backend/cuda/machine.hpp - a CUDA device: memory, streams, events and captured graphs, each call checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device.hpp"

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../../meta/error.hpp"

namespace cleave::backend::cuda {

/// One line that says which call failed, and where.
inline void check(cudaError_t e, char const* what) {
  if (e == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not return it again
  throw Error({"CUDA: ", what, ": ", cudaGetErrorString(e), " (", cudaGetErrorName(e), ")"});
}

/// The number of usable devices; `why` says why if it is 0.
inline int devices(std::string* why = nullptr) {
  int count = 0, driver = 0, runtime = 0;
  cudaError_t const e = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (e == cudaSuccess && count > 0) return count;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  auto const version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  if (why) {
    *why = driver == 0        ? "there is no CUDA driver on this machine"
           : driver < runtime ? "the CUDA driver knows CUDA " + version(driver) + ", this program was built with " +
                                    version(runtime) + ": update the driver, or build with an older toolkit"
                              : std::string("no CUDA device can be used: ") + cudaGetErrorString(e);
  }
  return 0;
}

/// Whether the program has code for this device.
struct Probe {
  struct Args {};
  static constexpr int threads = gpu::lanes, shared_bytes = 0;
  template <class Ctx> CLEAVE_HD static void run(Ctx const&, Args const&) {}
};
/// Whether that code has the instructions of sm_90a, which sm_90 lacks: its limit of threads says so.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr int warpgroup_threads = 128;
#else
inline constexpr int warpgroup_threads = 32;
#endif
template <class K> __global__ void __launch_bounds__(warpgroup_threads) warpgroup_probe() {}

class Machine {
 public:
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  struct Graph {
    cudaGraphExec_t exec = nullptr;
    Graph() = default;
    explicit Graph(cudaGraphExec_t e) : exec(e) {}
    Graph(Graph&& o) noexcept : exec(std::exchange(o.exec, nullptr)) {}
    Graph& operator=(Graph&& o) noexcept {
      std::swap(exec, o.exec);
      return *this;
    }
    ~Graph() {
      if (exec) cudaGraphExecDestroy(exec);
    }
  };
  /// No wait lasts longer than the deadline. Without a number: the device of this thread.
  explicit Machine(int device = current(), std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : device_(device), deadline_(deadline) {
    std::string why;
    int const count = devices(&why);
    if (count == 0) throw Error({why, "; run without --backend cuda"});
    if (device < 0 || device >= count) {
      throw Error({"device ", device, " is asked for, this machine has ", count, " (counted from 0)"});
    }
    check(cudaSetDevice(device), "set the device");
    cudaDeviceProp of{};
    check(cudaGetDeviceProperties(&of, device), "ask what the device is");
    title_ = of.name;
    title_ += " (sm_" + std::to_string(of.major) + std::to_string(of.minor) + ")";
    cudaFuncAttributes has{};
    if (cudaFuncGetAttributes(&has, entry<Probe>) != cudaSuccess) {
      cudaGetLastError();
      throw Error({title_, ": this program has no code for it; compile with -arch=sm_", of.major, of.minor,
                   (of.major >= 9 ? "a" : "")});
    }
    check(cudaFuncGetAttributes(&has, warpgroup_probe<Probe>), "ask what a kernel may have");
    has_warpgroups_ = of.major == 9 && has.maxThreadsPerBlock >= 128;
  }
  static int current() {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) cudaGetLastError();
    return device;
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;
  /// Waits for its streams only: the device must not be synchronised while another thread captures on it.
  ~Machine() {
    if (capturing_) {
      cudaGraph_t left = nullptr;
      if (cudaStreamEndCapture(origin_, &left) == cudaSuccess) cudaGraphDestroy(left);
    }
    for (Stream s : streams_) cudaStreamSynchronize(s);
    for (Event e : events_) cudaEventDestroy(e);
    for (Stream s : streams_) cudaStreamDestroy(s);
    for (void* p : held_) cudaFree(p);
    for (void* p : pinned_) cudaFreeHost(p);
    cudaGetLastError();
  }
  std::string const& title() const { return title_; }
  /// Whether kernels whose warpgroups multiply can run: compiled for sm_90a, and on such a device.
  bool has_warpgroups() const { return has_warpgroups_; }
  /// Call before the first call by another thread than the one that created it.
  void adopt() const { check(cudaSetDevice(device_), "set the device"); }

  std::byte* allocate(long bytes) {
    void* p = nullptr;
    check(cudaMalloc(&p, static_cast<std::size_t>(bytes)), ("allocate " + std::to_string(bytes) + " bytes").c_str());
    held_.push_back(p);
    return static_cast<std::byte*>(p);
  }
  std::byte* allocate_pinned(long bytes) {
    void* p = nullptr;
    check(cudaMallocHost(&p, static_cast<std::size_t>(bytes)), ("pin " + std::to_string(bytes) + " bytes").c_str());
    pinned_.push_back(p);
    return static_cast<std::byte*>(p);
  }
  long free_bytes() const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "ask for free memory");
    return static_cast<long>(free);
  }

  Stream stream() {
    Stream s = nullptr;
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "make a stream");
    streams_.push_back(s);
    return s;
  }
  Event event() {
    Event e = nullptr;
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "make an event");
    events_.push_back(e);
    return e;
  }

  template <class K> void launch(Stream s, int blocks, typename K::Args const& args) {
    if constexpr (K::shared_bytes > static_shared_bytes) {
      check(cudaFuncSetAttribute(entry<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, K::shared_bytes),
            "ask for a block's shared memory");
      entry<K><<<static_cast<unsigned>(blocks), K::threads, K::shared_bytes, s>>>(args);
    } else {
      entry<K><<<static_cast<unsigned>(blocks), K::threads, 0, s>>>(args);
    }
    check(cudaGetLastError(), "launch a kernel");
    ++launches_;
  }
  void copy(Stream s, void* to, void const* from, long bytes) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, s), "copy");
  }
  void clear(Stream s, void* at, long bytes) {
    check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(bytes), s), "clear");
  }
  void record(Event e, Stream s) { check(cudaEventRecord(e, s), "record an event"); }
  void wait(Stream s, Event e) { check(cudaStreamWaitEvent(s, e, 0), "wait for an event"); }

  /// Records the time at which a stream gets here; a recorded event can be read without waiting. In a capture it is a
  /// node of the graph, which records the time in every run.
  Event timer() {
    Event e = nullptr;
    check(cudaEventCreate(&e), "make an event with a time");
    events_.push_back(e);
    return e;
  }
  void stamp(Event e, Stream s) {
    check(cudaEventRecordWithFlags(e, s, capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault),
          "record a time");
  }
  double milliseconds(Event from, Event to) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "read a time");
    return static_cast<double>(ms);
  }
  /// A named range of this thread in Nsight's profiles.
  static void enter(char const* name) { nvtxRangePushA(name); }
  static void leave() { nvtxRangePop(); }

  void begin(Stream origin) {
    origin_ = origin;
    check(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal), "begin a capture");
    capturing_ = true;
  }
  Graph end() {
    capturing_ = false;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(origin_, &graph), "end a capture");
    cudaGraphExec_t exec = nullptr;
    cudaError_t const e = cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    check(e, "make a graph of a capture");
    return Graph(exec);
  }
  void run(Graph const& g, Stream s) { check(cudaGraphLaunch(g.exec, s), "launch a graph"); }

  /// Called at intervals during a wait, and with `late` when it has taken too long: may end it with an error that says
  /// more.
  std::function<void(bool late)> while_waiting;
  /// Waits, by polling, until the work before the event is done.
  void finish(Event e) {
    until([&] { return cudaEventQuery(e); }, "a step");
  }
  void finish() {
    for (Stream s : streams_) until([&] { return cudaStreamQuery(s); }, "a stream");
  }
  long launches() const { return launches_; }

 private:
  template <class Ask> void until(Ask ask, char const* what) {
    auto told = std::chrono::steady_clock::now();
    auto const last = told + deadline_;
    for (cudaError_t e = ask(); e != cudaSuccess; e = ask()) {
      if (e != cudaErrorNotReady) check(e, what);
      auto const now = std::chrono::steady_clock::now();
      if (while_waiting && (now > last || now - told > std::chrono::milliseconds(10))) {
        while_waiting(now > last);
        told = now;
      }
      if (now > last) {
        throw Error({title_, ": ", what, " did not end within ", deadline_.count(), " ms"});
      }
      std::this_thread::yield();
    }
  }

  int device_;
  std::chrono::milliseconds deadline_;
  std::string title_;
  std::vector<void*> held_, pinned_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  Stream origin_ = nullptr;
  bool capturing_ = false, has_warpgroups_ = false;
  long launches_ = 0;
};

}  // namespace cleave::backend::cuda
