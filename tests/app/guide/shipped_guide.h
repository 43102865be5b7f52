/// The user guide in assets/guide/, read once; a test fails if it has problems.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/guide/guide.h"

namespace attnscope::app {

inline const Guide& shipped_guide() {
  static const Guide guide = [] {
    std::vector<std::string> problems;
    Guide loaded = load_guide(problems);
    EXPECT_THAT(problems, testing::IsEmpty());
    return loaded;
  }();
  return guide;
}

}  // namespace attnscope::app
