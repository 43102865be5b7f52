/// What a refused request looks like from outside.
#pragma once

#include <gtest/gtest.h>

#include "tests/cli/cli_process.h"

namespace attnscope::test {

/// Exit status 2, one line on standard error that holds `part`, nothing on standard output.
inline void expect_refused(const CliOutcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("error: ", 0), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected: " << part << "\n"
                                                       << outcome.err;
  EXPECT_LT(outcome.err.size(), 600u) << outcome.err;
}

inline void expect_refused(const std::string& words, const std::string& part) {
  SCOPED_TRACE(words);
  expect_refused(run_cli(words), part);
}

}  // namespace attnscope::test
