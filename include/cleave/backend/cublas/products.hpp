// backend/cublas/products.hpp - products by cuBLASLt where it was measured faster than our own kernels, on that device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <deque>
#include <functional>

#include "choices.hpp"

namespace cleave::backend::cublas {

/// Who makes products: CLEAVE_PRODUCTS. It reaches the processes that a launcher starts, and every machine of a
/// program.
enum class Pin : unsigned char { Measured, Own, Cublas };
inline Pin pin_of(char const* said) {
  std::string const s = said ? said : "measured";
  if (s == "measured") return Pin::Measured;
  if (s == "own") return Pin::Own;
  if (s == "cublas") return Pin::Cublas;
  throw Error("CLEAVE_PRODUCTS=" + s + ": say measured, own or cublas");
}

/// What `Api` is: cuBLASLt's functions (api.hpp), or a stand-in for tests. Results are 0 for success, `not_supported`
/// where the library has nothing for a call, anything else is an error that text(result) explains.
///   create(Handle*), destroy(Handle), describe(Call, Matmul*), forget(Matmul), version(),
///   suggest(Handle, Matmul, Call, bytes of workspace, Algorithm*, found*), check(Handle, Matmul, Algorithm,
///   bytes*), multiply(Handle, Matmul, Algorithm, Operands, workspace, bytes, Stream)
/// A product is met first in learn: then algorithms are asked for, and each is timed in a graph of its own, as our own
/// kernel is, with what stands behind the product. In a capture nothing is asked but multiply.
template <class Api> class Products {
 public:
  Products(Api api, Choices& choices, Pin pin, std::string device)
      : api_(std::move(api)), choices_(choices), pin_(pin), device_(std::move(device)) {}
  Products(Products const&) = delete;
  Products& operator=(Products const&) = delete;
  ~Products() {
    for (Known const& k : known_) api_.forget(k.matmul);
    if (started_) api_.destroy(handle_);
  }
  Api& api() { return api_; }

  using Puts = std::function<void()> const&;  // kernels, on the queue
  template <class Queue>
  void learn(Queue const& q, gpu::Product const& p, gpu::Places const& at, Puts fill, Puts own, Puts behind) {
    if (pin_ == Pin::Own || !suits(at)) return;
    Call const call = call_for(p, at);
    if (find(p, call)) return;
    std::lock_guard const alone(choices_.learning);
    start();
    Known& k = known_.emplace_back(Known{p, text(p, call), call, {}, {}});
    settle(api_.describe(call, &k.matmul), "describe", k);
    std::string const key = device_ + " | cuBLASLt " + api_.version() + " | " + k.text;
    auto const kept = choices_.find(key);
    if (kept && (!by_library(*kept) || runs(q, k, *kept, at))) {
      k.choice = *kept;
      return;
    }
    fill();
    k.choice = measured(q, k, at, own, behind);
    choices_.put(key, k.choice);
  }
  template <class Queue> bool multiply(Queue const& q, gpu::Product const& p, gpu::Places const& at) {
    Known const* const k = suits(at) ? find(p, call_for(p, at)) : nullptr;
    if (!k || !by_library(k->choice)) return false;
    settle(put(q, *k, k->choice.algorithm, at), "multiply", *k);
    return true;
  }

  /// A line for each product, and one for what went wrong with the file.
  std::string listing() const {
    if (pin_ == Pin::Own) return "products by own kernels: CLEAVE_PRODUCTS=own\n";
    std::string s;
    for (Known const& k : known_) {
      char times[96];
      std::snprintf(times, sizeof times, k.choice.there ? " (%.1f us, own %.1f us)\n" : " (cuBLASLt has none)\n",
                    k.choice.library_us, k.choice.own_us);
      s += "  " + k.text + ": " + (by_library(k.choice) ? "cuBLASLt" : "own kernel") + times;
    }
    if (!s.empty()) s = "products, by cuBLASLt " + api_.version() + " or own kernels" + how() + ":\n" + s;
    return s + (choices_.trouble().empty() ? "" : "  " + choices_.trouble() + "\n");
  }

 private:
  static constexpr int in_a_graph = 8, graphs = 3;
  struct Known {
    gpu::Product product;
    std::string text;
    Call call;
    typename Api::Matmul matmul;
    Choice choice;
  };

  /// A bias must be as aligned as any kernel that the library may choose wants it: it is told of no lesser one.
  static bool suits(gpu::Places const& at) { return aligned(at.bias) == most_aligned; }
  bool by_library(Choice const& c) const { return c.there && (pin_ == Pin::Cublas || !c.own); }
  std::string how() const {
    if (pin_ == Pin::Cublas) return " (CLEAVE_PRODUCTS=cublas)";
    return choices_.file().empty() ? ", as measured" : ", as measured (" + choices_.file() + ")";
  }
  Known const* find(gpu::Product const& p, Call const& c) const {
    for (Known const& k : known_) {
      bool const as_aligned =
          k.call.a_aligned == c.a_aligned && k.call.b_aligned == c.b_aligned && k.call.d_aligned == c.d_aligned;
      if (k.product == p && as_aligned) return &k;
    }
    return nullptr;
  }
  void start() {
    if (started_) return;
    if (int const e = api_.create(&handle_)) throw Error("cuBLASLt: begin on " + device_ + ": " + api_.text(e));
    started_ = true;
  }
  void settle(int e, char const* what, Known const& k) const {
    if (e != 0) throw Error("cuBLASLt: " + std::string(what) + " " + k.text + ": " + api_.text(e));
  }
  template <class Queue> int put(Queue const& q, Known const& k, Algorithm const& a, gpu::Places const& at) {
    return api_.multiply(handle_, k.matmul, a, operands_for(k.product, at), q.workspace, Queue::workspace_bytes,
                         q.stream);
  }
  /// Is what was kept still an algorithm? It runs once, so that its code is there before a capture.
  template <class Queue> bool runs(Queue const& q, Known const& k, Choice const& c, gpu::Places const& at) {
    std::size_t bytes = 0;
    return api_.check(handle_, k.matmul, c.algorithm, &bytes) == 0 && bytes <= Queue::workspace_bytes &&
           put(q, k, c.algorithm, at) == 0;
  }
  template <class Queue> Choice measured(Queue const& q, Known const& k, gpu::Places const& at, Puts own, Puts behind) {
    Algorithm of[most_algorithms];
    int found = 0;
    int const e = api_.suggest(handle_, k.matmul, k.call, Queue::workspace_bytes, of, &found);
    if (e != Api::not_supported) settle(e, "ask for algorithms for", k);
    Choice c;
    c.own_us = timed(q, own);
    for (int i = 0; i < found; ++i) {
      int const ran = put(q, k, of[i], at);
      if (ran == Api::not_supported) continue;
      settle(ran, "try", k);
      double const us = timed(q, [&] {
        settle(put(q, k, of[i], at), "try", k);
        behind();
      });
      if (c.there && us >= c.library_us) continue;
      c.there = true;
      c.library_us = us;
      c.algorithm = of[i];
    }
    c.own = !c.there || c.own_us <= c.library_us;
    return c;
  }
  /// Microseconds of what `work` puts, in a graph as a step is; of several runs the shortest.
  template <class Queue> static double timed(Queue const& q, Puts work) {
    auto& machine = *q.machine;
    work();  // what is loaded at a first call is there
    machine.finish();
    machine.begin(q.stream);
    for (int i = 0; i < in_a_graph; ++i) work();
    auto const graph = machine.end();
    auto const begin = machine.timer(), end = machine.timer();
    double least = 0;
    for (int i = 0; i <= graphs; ++i) {  // the first is not counted
      machine.stamp(begin, q.stream);
      machine.run(graph, q.stream);
      machine.stamp(end, q.stream);
      machine.finish();
      double const us = machine.milliseconds(begin, end) * 1000 / in_a_graph;
      if (i == 1 || (i > 1 && us < least)) least = us;
    }
    return least;
  }

  Api api_;
  Choices& choices_;
  Pin pin_;
  std::string device_;
  typename Api::Handle handle_{};
  bool started_ = false;
  std::deque<Known> known_;
};

/// A machine whose products are made so.
template <class Base, class Api> class With : public Base {
 public:
  With() : With(Api{}, shared(), pin_of(std::getenv("CLEAVE_PRODUCTS"))) {}
  template <class... Of>
  With(Api api, Choices& choices, Pin pin, Of... of)
      : Base(of...), products_(std::move(api), choices, pin, Base::title()) {}
  Products<Api>& products() { return products_; }

 private:
  /// Of this program.
  static Choices& shared() {
    static Choices all(Choices::usual_file([](char const* name) { return std::getenv(name); }));
    return all;
  }
  Products<Api> products_;
};

}  // namespace cleave::backend::cublas
