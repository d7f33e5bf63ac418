// run/pushes.hpp - what a replica pushes to a shard as bytes: elements as they are, or each layer's part of it encoded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../send/codec.hpp"
#include "server.hpp"

namespace cleave::session {

template <class P> struct Pushes {
  using S = Server<P>;
  using Sent = typename S::Sent;
  using A = tensor::accumulate_t<typename P::number>;
  static constexpr bool encoded = bool(P::format.encoding);

  /// visit(way, bucket, where its part of this shard lies among the way's weights), in the order of the message.
  template <class Visit> static constexpr void each(int shard, Visit visit) {
    constexpr int n = P::format.shards;
    int const first = S::waits ? 0 : S::way(shard), past = S::waits ? P::ways : first + 1;
    for (int way = first; way < past; ++way) {
      for (int b = 0; b < P::schedule.buckets; ++b) {
        visit(way, b, schedule::in_shard(P::schedule.bucket[b], shard % n, n, P::schedule.weight_elements));
      }
    }
  }
  static constexpr long bytes(int shard) {
    long sum = 0;
    if constexpr (encoded) {
      each(shard, [&](int, int, schedule::Run r) { sum += P::format.encoding.bytes(r.count); });
    } else {
      sum = (S::end(shard) - S::begin(shard)) * static_cast<long>(sizeof(Sent));
    }
    return sum;
  }
  /// Makes the messages of a push to all shards. What `from` has to push becomes what their readers will read.
  static void encode(Replica<P>& from) {
    if constexpr (encoded) {
      for (int s = 0; s < S::shards; ++s) {
        each(s, [&](int way, int b, schedule::Run r) {
          auto& rank = from.at(way);
          std::byte* const to = message(rank, b, s);
          long const in_bucket = r.begin - P::schedule.bucket[b].offset;
          A* const left =
              P::format.encoding.feedback ? rank.template at<A>(rank.layout().left[b]) + in_bucket : nullptr;
          send::encode<typename P::codec>(r.count, rank.outbox() + r.begin, left, to);
          send::decode<typename P::codec>(r.count, to, rank.outbox() + r.begin);
        });
      }
    }
  }
  /// The message to a shard; valid until the next.
  static std::vector<unsigned char> const& message(Replica<P>& from, int shard, std::vector<unsigned char>& out) {
    out.clear();
    if constexpr (encoded) {
      each(shard, [&](int way, int b, schedule::Run r) {
        auto const* p = reinterpret_cast<unsigned char const*>(message(from.at(way), b, shard));
        out.insert(out.end(), p, p + P::format.encoding.bytes(r.count));
      });
    } else {
      auto const* p =
          reinterpret_cast<unsigned char const*>(from.pushed(S::way(shard), S::begin(shard), S::end(shard)));
      out.assign(p, p + bytes(shard));
    }
    return out;
  }
  /// Of a message of bytes(shard); may lie in it.
  static Sent* read(int shard, std::vector<unsigned char>& message, std::vector<Sent>& room) {
    if constexpr (encoded) {
      room.resize(static_cast<std::size_t>(S::end(shard) - S::begin(shard)));
      auto const* in = reinterpret_cast<std::byte const*>(message.data());
      std::vector<A> part;
      each(shard, [&](int way, int, schedule::Run r) {
        part.resize(static_cast<std::size_t>(r.count));
        send::decode<typename P::codec>(r.count, in, part.data());
        in += P::format.encoding.bytes(r.count);
        long const before = S::waits ? way * P::schedule.weight_elements : -S::begin(shard);
        for (long i = 0; i < r.count; ++i) {
          room[static_cast<std::size_t>(before + r.begin + i)] = static_cast<Sent>(part[static_cast<std::size_t>(i)]);
        }
      });
      return room.data();
    } else {
      return reinterpret_cast<Sent*>(message.data());
    }
  }
  /// A replica that comes back owes nothing.
  static void forget(Replica<P>& of) {
    if constexpr (encoded && P::format.encoding.feedback) {
      for (int way = 0; way < P::ways; ++way) {
        for (int b = 0; b < P::schedule.buckets; ++b) {
          std::fill_n(of.at(way).template at<A>(of.at(way).layout().left[b]), P::schedule.bucket[b].count, A{0});
        }
      }
    }
  }

 private:
  template <class Rank> static std::byte* message(Rank& rank, int b, int shard) {
    constexpr int n = P::format.shards;
    long at = rank.layout().encoded[b];
    for (int s = 0; s < shard % n; ++s) {
      at +=
          P::format.encoding.bytes(schedule::in_shard(P::schedule.bucket[b], s, n, P::schedule.weight_elements).count);
    }
    return rank.template at<std::byte>(at);
  }
};

}  // namespace cleave::session
