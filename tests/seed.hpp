// seed.hpp - emulated devices take their orders from a seed that is new in each run of a test, and told when it fails.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace cleave::testing {

struct Seed : doctest::IReporter {
  explicit Seed(doctest::ContextOptions const&) {}
  void test_run_start() override { setenv("CLEAVE_EMULATE_SEED", std::to_string(std::random_device{}()).c_str(), 0); }
  void test_run_end(doctest::TestRunStats const& s) override {
    if (s.numTestCasesFailed > 0) tell();
  }
  void test_case_exception(doctest::TestCaseException const& e) override {
    if (e.is_crash) tell();
  }
  void report_query(doctest::QueryData const&) override {}
  void test_case_start(doctest::TestCaseData const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}

 private:
  static void tell() {
    std::fprintf(stderr, "emulated devices: CLEAVE_EMULATE_SEED=%s gives this run's orders again\n",
                 std::getenv("CLEAVE_EMULATE_SEED"));
  }
};
REGISTER_LISTENER("seed", 1, Seed);

}  // namespace cleave::testing
