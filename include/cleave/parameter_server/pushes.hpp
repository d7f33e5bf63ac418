// parameter_server/pushes.hpp - encodes what a replica pushes to a shard: plain elements, compressed elements, or nonzero rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/tcp/greeting.hpp"
#include "push_sizes.hpp"
#include "server.hpp"

namespace cleave::session {

/// The messages themselves.
template <class F> class Pushes : public PushSizes {
 public:
  using Sent = typename F::Sent;
  using A = typename F::A;
  using Bytes = std::vector<unsigned char>;
  using Rows = backend::host::Member::Sparse;
  static constexpr long width = sizeof(Sent);

  explicit Pushes(Service<F> const& of) : PushSizes(of), service_(of) {}

  /// The part of a push that depends on the data.
  Rows rows(Replica<F>& from, int shard) const {
    Rows sum;
    if (!any_rows()) return sum;
    each(shard, [&](int way, int b, schedule::Run r) {
      if (!is_rows(b)) return;
      schedule::Bucket const& bucket = of_.program().bucket[b];
      each_row(from.at(way).outbox() + r.begin + cut(b, r).head, cut(b, r).rows, bucket.row, [&](long) {
        ++sum.rows;
        sum.elements += bucket.row;
        sum.bytes += schedule::row_bytes(bucket, width);
      });
    });
    return sum;
  }
  /// Called before a push to all shards: encodes what `from` pushes.
  void encode(Replica<F>& from) const {
    if (encoded()) {
      for (int s = 0; s < of_.shards(); ++s) {
        each(s, [&](int way, int b, schedule::Run r) {
          if (is_rows(b)) return;
          auto& rank = from.at(way);
          std::byte* const to = encoding(rank, b, s);
          long const in_bucket = r.begin - of_.program().bucket[b].offset;
          A* const left =
              of_.program().format.encoding.feedback ? rank.template at<A>(rank.layout().left[b]) + in_bucket : nullptr;
          service_.encode(r.count, rank.outbox() + r.begin, left, to);
          service_.decode(r.count, to, rank.outbox() + r.begin);
        });
      }
    }
  }
  void write(Replica<F>& from, int shard, Bytes& out) const {
    out.clear();
    auto const append = [&](void const* p, long n) {
      auto const* const c = static_cast<unsigned char const*>(p);
      out.insert(out.end(), c, c + n);
    };
    if (plain()) {
      append(from.pushed(of_.way(shard), of_.begin(shard), of_.end(shard)), bytes(shard));
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
          return encoded() ? append(encoding(from.at(way), b, shard), of_.program().format.encoding.bytes(r.count))
                           : as_it_is(r.count);
        }
        schedule::Cut const c = cut(b, r);
        long const row = of_.program().bucket[b].row;
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
  Sent* read(int shard, Bytes& message, std::vector<Sent>& room) const {
    if (plain()) {
      if (static_cast<long>(message.size()) != bytes(shard)) malformed(shard, message);
      return reinterpret_cast<Sent*>(message.data());
    }
    room.assign(static_cast<std::size_t>(of_.count(shard)), Sent{});
    std::vector<A> part;
    std::size_t at = 0;
    auto const take = [&](long n) {
      if (n < 0 || static_cast<std::size_t>(n) > message.size() - at) malformed(shard, message);
      at += static_cast<std::size_t>(n);
      return message.data() + at - n;
    };
    each(shard, [&](int way, int b, schedule::Run r) {
      Sent* to = room.data() + (of_.whole() ? way * of_.elements() : -of_.begin(shard)) + r.begin;
      if (encoded() && !is_rows(b)) {
        part.resize(static_cast<std::size_t>(r.count));
        service_.decode(r.count, reinterpret_cast<std::byte const*>(take(of_.program().format.encoding.bytes(r.count))),
                        part.data());
        for (A const v : part) *to++ = static_cast<Sent>(v);
        return;
      }
      schedule::Cut const c = is_rows(b) ? cut(b, r) : schedule::Cut{r.count, 0, 0};
      long const row = of_.program().bucket[b].row;
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
  [[noreturn]] void malformed(int shard, Bytes const& message) const {
    throw backend::tcp::Refusal("a push of " + std::to_string(message.size()) + " bytes that is none to shard " +
                                std::to_string(shard) + ", of " + std::to_string(bytes(shard)) +
                                (any_rows() ? " bytes and more by rows" : " bytes"));
  }
  /// Clears the residuals of a replica that comes back.
  void forget(Replica<F>& of) const {
    if (encoded() && of_.program().format.encoding.feedback) {
      for (int way = 0; way < of_.ways(); ++way) {
        for (int b = 0; b < of_.program().buckets; ++b) {
          if (is_rows(b)) continue;
          std::fill_n(of.at(way).template at<A>(of.at(way).layout().left[b]), of_.program().bucket[b].count, A{0});
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
  std::byte* encoding(backend::host::Arena<typename F::T>& rank, int b, int shard) const {
    int const n = of_.shards_of_way;
    long at = rank.layout().encoded[b];
    for (int s = 0; s < shard % n; ++s) {
      at +=
          of_.program().format.encoding.bytes(schedule::in_shard(of_.program().bucket[b], s, n, of_.elements()).count);
    }
    return rank.template at<std::byte>(at);
  }

  Service<F> const& service_;
};

}  // namespace cleave::session
