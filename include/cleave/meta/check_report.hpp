// meta/check_report.hpp - what check_layer, check_loss, check_optimizer, check_codec, check_metric and check_dataset have found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace cleave {

/// `ok` with the text "right", or the first mistake, with its numbers.
struct CheckReport {
  bool ok = true;
  std::string text;
  explicit operator bool() const { return ok; }
};

}  // namespace cleave
