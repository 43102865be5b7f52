/// Every launch has a name that readers understand.
#include "app/report/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/schedule/algorithm.h"

namespace attnscope {
namespace {

/// The launches of both passes under all options that add some.
std::set<std::string_view> launches_of(const Algorithm& algorithm) {
  std::set<std::string_view> names;
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2, Fusion::pairs, Fusion::rows}) {
    for (const bool other : {false, true}) {
      ScheduleOptions options;
      options.heads_per_kv_head = other ? 2 : 1;
      options.variant = {.carry = other ? Carry::fp32 : Carry::problem,
                         .fusion = fusion,
                         .checkpoint = other,
                         .d_once = other};
      options.masked = true;
      options.score_steps.dropout = true;
      for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
        if (pass == PassKind::backward && !algorithm.has_backward) continue;
        for (const Launch& launch : make_pass(algorithm, pass, options).launches) {
          names.insert(launch.name);
        }
      }
    }
  }
  return names;
}

TEST(LaunchWords, NameEveryLaunchOfEveryAlgorithmAndVariant) {
  std::set<std::string_view> all{"initialise", "lse"};  // launches that only kernels have
  for (const Algorithm& algorithm : algorithms()) all.merge(launches_of(algorithm));
  EXPECT_THAT(all, testing::IsSupersetOf({"sum_heads", "row_dots", "preprocess", "convert",
                                          "recompute_scores", "scale_mask", "combine"}));
  for (const std::string_view name : all) {
    const std::string_view words = launch_words(name);
    EXPECT_NE(words, name);
    EXPECT_EQ(words.find('_'), std::string_view::npos) << words;
    EXPECT_LE(words.size(), 24U) << words;  // the transport bar has room for names of this length
  }
}

TEST(LaunchWords, LeaveUnknownNamesUnchanged) {
  EXPECT_EQ(launch_words("another_kernel"), "another_kernel");
}

}  // namespace
}  // namespace attnscope
