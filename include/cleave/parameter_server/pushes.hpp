// parameter_server/pushes.hpp - encodes what a replica pushes to a shard: plain elements, compressed elements, or nonzero rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/tcp/greeting.hpp"
#include "../schedule/rows.hpp"
#include "../send/codec.hpp"
#include "server.hpp"

namespace cleave::session {

/// A message is each layer's part of the shard, one after the other. `From` is a Replica, on any ranks.
template <class P> struct Pushes {
  using S = Server<P>;
  using Sent = typename S::Sent;
  using A = tensor::accumulate_t<typename P::number>;
  using Bytes = std::vector<unsigned char>;
  using Rows = backend::host::Member::Sparse;
  static constexpr bool encoded = bool(P::format.encoding);
  static constexpr bool is_rows(int b) { return P::format.pushed_rows && P::schedule.bucket[b].row > 0; }
  static constexpr bool any_rows = [] {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (is_rows(b)) return true;
    }
    return false;
  }();
  static constexpr bool plain = !encoded && !any_rows;
  static constexpr long width = sizeof(Sent);

  /// visit(way, bucket, where its part of this shard begins among the way's weights), in the order of the message.
  template <class Visit> static constexpr void each(int shard, Visit visit) {
    constexpr int n = P::format.shards;
    int const first = S::waits ? 0 : S::way(shard), past = S::waits ? P::ways : first + 1;
    for (int way = first; way < past; ++way) {
      for (int b = 0; b < P::schedule.buckets; ++b) {
        visit(way, b, schedule::in_shard(P::schedule.bucket[b], shard % n, n, P::schedule.weight_elements));
      }
    }
  }
  static constexpr schedule::Cut cut(int b, schedule::Run r) { return schedule::cut(P::schedule.bucket[b], r); }
  /// The size of a message without its sparse rows, which are counted separately.
  static constexpr long elements(int shard) {
    long sum = 0;
    each(shard, [&](int, int b, schedule::Run r) { sum += is_rows(b) ? cut(b, r).head + cut(b, r).tail : r.count; });
    return sum;
  }
  static constexpr long bytes(int shard) {
    long sum = 0;
    each(shard, [&](int, int b, schedule::Run r) {
      schedule::Cut const c = is_rows(b) ? cut(b, r) : schedule::Cut{r.count, 0, 0};
      sum += encoded && !is_rows(b) ? P::format.encoding.bytes(r.count)
                                    : (c.head + c.tail) * width + (c.rows > 0 ? schedule::rows_header : 0);
    });
    return sum;
  }
  static constexpr long most_bytes(int shard) {
    long sum = bytes(shard);
    each(shard, [&](int, int b, schedule::Run r) {
      if (is_rows(b)) sum += cut(b, r).rows * schedule::row_bytes(P::schedule.bucket[b], width);
    });
    return sum;
  }
  template <class From> static Rows rows(From& from, int shard) {
    Rows sum;
    if constexpr (any_rows) {
      each(shard, [&](int way, int b, schedule::Run r) {
        if (!is_rows(b)) return;
        schedule::Bucket const& bucket = P::schedule.bucket[b];
        each_row(from.at(way).outbox() + r.begin + cut(b, r).head, cut(b, r).rows, bucket.row, [&](long) {
          ++sum.rows;
          sum.elements += bucket.row;
          sum.bytes += schedule::row_bytes(bucket, width);
        });
      });
    }
    return sum;
  }
  /// Called before a push to all shards: encodes what `from` pushes.
  template <class From> static void encode(From& from) {
    if constexpr (encoded) {
      for (int s = 0; s < S::shards; ++s) {
        each(s, [&](int way, int b, schedule::Run r) {
          if (is_rows(b)) return;
          auto& rank = from.at(way);
          std::byte* const to = encoding(rank, b, s);
          long const in_bucket = r.begin - P::schedule.bucket[b].offset;
          A* const left =
              P::format.encoding.feedback ? rank.template at<A>(rank.layout().left[b]) + in_bucket : nullptr;
          send::encode<typename P::codec>(r.count, rank.outbox() + r.begin, left, to);
          send::decode<typename P::codec>(r.count, to, rank.outbox() + r.begin);
        });
      }
    }
  }
  template <class From> static void write(From& from, int shard, Bytes& out) {
    out.clear();
    auto const append = [&](void const* p, long n) {
      auto const* const c = static_cast<unsigned char const*>(p);
      out.insert(out.end(), c, c + n);
    };
    if constexpr (plain) {
      append(from.pushed(S::way(shard), S::begin(shard), S::end(shard)), bytes(shard));
    } else {
      each(shard, [&](int way, int b, schedule::Run r) {
        A const* g = from.at(way).outbox() + r.begin;
        auto const as_it_is = [&](long n) {
          for (long i = 0; i < n; ++i) {
            Sent const v = static_cast<Sent>(*g++);
            append(&v, width);
          }
        };
        if (!is_rows(b)) {
          return encoded ? append(encoding(from.at(way), b, shard), P::format.encoding.bytes(r.count))
                         : as_it_is(r.count);
        }
        schedule::Cut const c = cut(b, r);
        long const row = P::schedule.bucket[b].row;
        as_it_is(c.head);
        if (c.rows > 0) {
          std::vector<std::uint32_t> index;
          each_row(g, c.rows, row, [&](long k) { index.push_back(static_cast<std::uint32_t>(k)); });
          long const count = static_cast<long>(index.size());
          A const* const first = g;
          append(&count, sizeof count);
          for (std::uint32_t k : index) {
            g = first + k * row;
            as_it_is(row);
          }
          append(index.data(), count * schedule::row_index);
          g = first + c.rows * row;
        }
        as_it_is(c.tail);
      });
    }
  }
  /// The decoded message, in place or in `room`; throws an error if it is invalid.
  static Sent* read(int shard, Bytes& message, std::vector<Sent>& room) {
    if constexpr (plain) {
      if (static_cast<long>(message.size()) != bytes(shard)) malformed(shard, message);
      return reinterpret_cast<Sent*>(message.data());
    } else {
      room.assign(static_cast<std::size_t>(S::end(shard) - S::begin(shard)), Sent{});
      std::vector<A> part;
      std::size_t at = 0;
      auto const take = [&](long n) {
        if (n < 0 || static_cast<std::size_t>(n) > message.size() - at) malformed(shard, message);
        at += static_cast<std::size_t>(n);
        return message.data() + at - n;
      };
      each(shard, [&](int way, int b, schedule::Run r) {
        Sent* to = room.data() + (S::waits ? way * P::schedule.weight_elements : -S::begin(shard)) + r.begin;
        if (encoded && !is_rows(b)) {
          if constexpr (encoded) {
            part.resize(static_cast<std::size_t>(r.count));
            send::decode<typename P::codec>(
                r.count, reinterpret_cast<std::byte const*>(take(P::format.encoding.bytes(r.count))), part.data());
            for (A const v : part) *to++ = static_cast<Sent>(v);
          }
          return;
        }
        schedule::Cut const c = is_rows(b) ? cut(b, r) : schedule::Cut{r.count, 0, 0};
        long const row = P::schedule.bucket[b].row;
        std::memcpy(to, take(c.head * width), static_cast<std::size_t>(c.head * width));
        to += c.head;
        if (c.rows > 0) {
          long count = 0;
          std::memcpy(&count, take(schedule::rows_header), sizeof count);
          if (count < 0 || count > c.rows) malformed(shard, message);
          unsigned char const* value = take(count * row * width);
          unsigned char const* index = take(count * schedule::row_index);
          for (long k = 0; k < count; ++k, value += row * width, index += schedule::row_index) {
            std::uint32_t which = 0;
            std::memcpy(&which, index, sizeof which);
            if (which >= c.rows) malformed(shard, message);
            std::memcpy(to + which * row, value, static_cast<std::size_t>(row * width));
          }
          to += c.rows * row;
        }
        std::memcpy(to, take(c.tail * width), static_cast<std::size_t>(c.tail * width));
      });
      if (at != message.size()) malformed(shard, message);
      return room.data();
    }
  }
  [[noreturn]] static void malformed(int shard, Bytes const& message) {
    throw backend::tcp::Refusal("a push of " + std::to_string(message.size()) + " bytes that is none to shard " +
                                std::to_string(shard) + ", of " + std::to_string(bytes(shard)) +
                                (any_rows ? " bytes and more by rows" : " bytes"));
  }
  /// Clears the residuals of a replica that comes back.
  template <class Of> static void forget(Of& of) {
    if constexpr (encoded && P::format.encoding.feedback) {
      for (int way = 0; way < P::ways; ++way) {
        for (int b = 0; b < P::schedule.buckets; ++b) {
          if (is_rows(b)) continue;
          std::fill_n(of.at(way).template at<A>(of.at(way).layout().left[b]), P::schedule.bucket[b].count, A{0});
        }
      }
    }
  }

 private:
  /// visit(row) for the nonzero rows of g (rows, row).
  template <class Visit> static void each_row(A const* g, long rows, long row, Visit visit) {
    for (long k = 0; k < rows; ++k, g += row) {
      if (std::any_of(g, g + row, [](A v) { return v != 0; })) visit(k);
    }
  }
  template <class Rank> static std::byte* encoding(Rank& rank, int b, int shard) {
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
