// train/snapshot.hpp - weights and running statistics of a trainer, kept in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "description.hpp"

namespace cleave::session {

/// Weights and running statistics of a trainer, as they were.
template <class Trained> class Snapshot {
 public:
  void take(Trained& trainer) {
    schedule::Program const& p = description_of(trainer).program;
    values_.resize(static_cast<std::size_t>((p.weight_elements + p.state_elements) * p.mesh.ways()));
    auto* at = values_.data();
    each(p, [&](int way, backend::host::Region region, long count) {
      trainer.read(way, region, 0, count, at);
      at += count;
    });
  }
  void give_back(Trained& trainer) const {
    auto const* at = values_.data();
    each(description_of(trainer).program, [&](int way, backend::host::Region region, long count) {
      trainer.write(way, region, 0, count, at);
      at += count;
    });
    trainer.refresh_copies();
  }
  bool empty() const { return values_.empty(); }

 private:
  template <class Visit> static void each(schedule::Program const& p, Visit visit) {
    for (int way = 0; way < p.mesh.ways(); ++way) {
      visit(way, backend::host::Region::Weights, p.weight_elements);
      visit(way, backend::host::Region::States, p.state_elements);
    }
  }
  std::vector<typename Trained::A> values_;
};

}  // namespace cleave::session
