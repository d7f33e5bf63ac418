// refused: Compress: a format has a name, bytes(n), encode(n, gradient, out) and decode<A>(n, in, to), all static
// refused: Half
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Half : send::Codec {
  static constexpr std::string_view name = "half";
  static constexpr long bytes(long n) { return 2 * n; }
  template <class A> static void encode(long, A const*, std::byte*) {}
};
struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Compress<Half>, Fastest> {};
