// parameter_server/account.hpp - bookkeeping for replicas of a server: steps drawn, losses reported, what became of every gradient.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ledger.hpp"
#include "push_sizes.hpp"

namespace cleave::session {

/// Owned by Served, under its lock, and by Simulated.
class Account {
 public:
  using Rows = backend::host::Member::Sparse;
  /// What asynchronous replicas draw: steps or, if gradients can have different numbers of samples, micro-batches.
  long const draws;

  Account(Serving const& of, int replicas)
      : draws(!of.waits() && of.portions().groups > 0 ? of.micro_batches() : 1),
        ledger(replicas),
        rate(of.rate),
        of_(of),
        sizes_(of),
        rows_(static_cast<std::size_t>(replicas)),
        replicas_(replicas) {
    ledger.versions.resize(static_cast<std::size_t>(of.shards()));
  }

  /// Begins the steps [first, first + count).
  void open(long first, int count, double rate_scale) {
    losses.assign(static_cast<std::size_t>(count), 0);
    first_ = first;
    limit_ = first + count;
    drawn_ = std::max(drawn_, first * draws);
    rate_scale_ = rate_scale;
  }
  void close() { limit_ = 0; }
  void begin_at(long step) { drawn_ = step * draws; }
  long limit() const { return limit_; }
  double rate_of(long step) const { return static_cast<double>(rate.at(step)) * rate_scale_; }

  bool all_drawn() const { return drawn_ >= limit_ * draws; }
  /// The next draw for a replica of `micro_batches` micro-batches.
  long draw(int micro_batches) { return std::exchange(drawn_, drawn_ + (draws > 1 ? micro_batches : 1)); }

  /// A replica has computed a gradient of `part` of a batch. With waiting replicas, losses are recorded when gradients
  /// are taken.
  void made(long step, double loss, double part) {
    if (!of_.waits())
      tell(step, loss * part);
    else if (of_.pace().push > 1)
      tell(step, loss / replicas_);
  }
  void pushed(int shard, int replica, Rows const& nonzero) {
    std::size_t const r = static_cast<std::size_t>(replica);
    ledger.sent[r] += sizes_.elements(shard) + nonzero.elements;
    ledger.sent_bytes[r] += sizes_.bytes(shard) + nonzero.bytes;
    ledger.sent_rows[r] += nonzero.rows;
    rows_[r].rows += nonzero.rows;
    rows_[r].elements += nonzero.elements;
    rows_[r].bytes += nonzero.bytes;
    if (shard == 0) ++ledger.pushed[r];
  }
  /// Of the nonzero rows of sparse gradients that a replica has pushed, what each of its ways has.
  Rows share_of_rows(int replica, int ways) const {
    Rows const& all = rows_[static_cast<std::size_t>(replica)];
    return {all.rows / ways, all.elements / ways, all.bytes / ways};
  }
  /// `loss` and `part` of the batch belong to the gradient of event `e`.
  void decided(int shard, agree::Event const& e, agree::Action const& a, double loss, double part) {
    std::size_t const r = static_cast<std::size_t>(a.worker);
    if (a.what == agree::Done::Update) {
      for (int s = 0; s < of_.shards(); ++s) {
        if (of_.decided_by(s) == shard) ledger.versions[static_cast<std::size_t>(s)] = a.version;
      }
    }
    if (shard != 0) return;
    if (a.what == agree::Done::Drop) ++ledger.dropped[r];
    if (a.what != agree::Done::Take) return;
    ++ledger.taken[r];
    ++ledger.ages[static_cast<std::size_t>(std::min(a.age, Ledger::oldest))];
    if (of_.waits() && of_.pace().push == 1) tell(e.version, loss * part);
  }

  Ledger ledger;
  std::vector<double> losses;  // of the steps begun
  Rate rate;                   // does not change while replicas compute

 private:
  void tell(long step, double loss) {
    if (step >= first_ && step < limit_) losses[static_cast<std::size_t>(step - first_)] += loss;
  }

  Serving const& of_;
  PushSizes sizes_;
  std::vector<Rows> rows_;  // by replica
  int replicas_;
  long first_ = 0, limit_ = 0, drawn_ = 0;
  double rate_scale_ = 1;
};

}  // namespace cleave::session
