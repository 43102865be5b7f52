/// The button that runs the kernel, and the one that pins a configuration.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/scene/choice_rules.h"
#include "tests/app/screen/screen_session.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;
using testing::HasSubstr;

TEST(RunOnGpu, IsVisibleWithoutAGpuButCannotBePressed) {
  ScreenSession session;
  if (session.app().gpu().status().state == GpuRunner::State::idle) GTEST_SKIP() << "has a GPU";
  ASSERT_TRUE(session.rects().find("badge.run"));
  EXPECT_FALSE(session.app().measurements.live_unavailable.empty()) << "the tooltip's reason";
  session.click("badge.run");
  EXPECT_FALSE(session.app().notice);
  EXPECT_FALSE(session.app().measurements.running);
}

/// The left edges of the items beside the badge.
std::vector<float> places_beside_badge(const ScreenSession& session) {
  std::vector<float> edges;
  for (const char* const name :
       {"field.scene", "field.algorithm", "field.seq_len", "field.more", "help", "badge.run"}) {
    const auto rect = session.rects().find(name);
    EXPECT_TRUE(rect) << name;
    if (rect) edges.push_back(rect->min.x);
  }
  return edges;
}

TEST(TopBar, KeepsItsPlacesWhenTheTextOfTheBadgeChanges) {
  ScreenSession session;
  App& app = session.app();
  const std::vector<float> before = places_beside_badge(session);
  const RunSpec choice = app.view.choice;
  const auto widest = [&] { return session.rects().find("badge")->width(); };
  const float width = widest();
  for (const auto& [key, value] : {std::pair{"break", "drop:forward:rescale:O"},  // "broken"
                                   std::pair{"seq_len", "100"},                   // "model only"
                                   std::pair{"gpu", "t4"}}) {
    app.commands.push(Choose{change_field(choice, key, value).value()});
    session.settle();
    EXPECT_EQ(places_beside_badge(session), before) << key;
    EXPECT_EQ(widest(), width) << key;
  }
}

TEST(TopBar, FieldsMoveBehindTheButtonInTheirOrderAsTheWindowNarrows) {
  constexpr std::string_view kFields[] = {"scene", "algorithm", "pass", "seq_len", "head_dim",
                                          "Br",    "Bc",        "mask", "dtype",   "gpu"};
  constexpr std::string_view kLeastImportant[] = {"gpu", "dtype", "Bc", "Br", "mask", "head_dim"};
  ScreenSession session;
  std::size_t most_hidden = 0;
  for (float width = 2000.0f; width >= 800.0f; width -= 100.0f) {
    session.resize(width, 900.0f);
    session.settle();
    float end = 0.0f;
    for (const std::string_view key : kFields) {
      const auto box = session.rects().find(fmt::format("field.{}", key));
      if (!box) continue;
      EXPECT_GT(box->min.x, end) << key << " at " << width;
      end = box->max.x;
    }
    const auto more = session.rects().find("field.more");
    ASSERT_TRUE(more);
    EXPECT_GT(more->min.x, end) << width;
    EXPECT_LE(more->max.x, session.rects().find("help")->min.x) << width;
    const auto is_shown = [&](std::string_view key) {
      return session.rects().find(fmt::format("field.{}", key)).has_value();
    };
    const auto shown = std::ranges::find_if(kLeastImportant, is_shown);
    EXPECT_TRUE(std::all_of(shown, std::end(kLeastImportant), is_shown)) << width;
    most_hidden = std::max(most_hidden, static_cast<std::size_t>(shown - kLeastImportant));
    if (width == 2000.0f) {
      EXPECT_EQ(shown, kLeastImportant) << "all fields fit";
    }
  }
  EXPECT_GT(most_hidden, 2U);
}

TEST(TopBar, OffersTheOperationsThatCanBeDropped) {
  ScreenSession session;
  session.click("field.more");
  session.click("field.break.list");
  session.click("option.break.drop:forward:rescale:O");
  EXPECT_EQ(to_string(session.app().view.choice.variant.broken), "drop:forward:rescale:O");
}

TEST(TopBar, ShowsWhyATextBehindTheMoreButtonIsWrong) {
  ScreenSession session;
  session.click("field.more");
  session.click("field.break");
  session.type("alpha");
  session.key(Key::enter);
  ASSERT_TRUE(session.app().refused);
  const auto refusal = session.rects().find("refusal");
  ASSERT_TRUE(refusal);
  EXPECT_LE(refusal->max.y, 900.0f);
}

TEST(RunComparison, APinnedRunIsComparedWithTheChoiceAndBroughtBack) {
  ScreenSession session;
  const RunSpec a = session.app().view.choice;
  EXPECT_FALSE(session.rects().find("compare.card"));
  session.click("compare.pin");
  ASSERT_TRUE(session.app().view.pinned);
  EXPECT_EQ(*session.app().view.pinned, a);
  EXPECT_TRUE(session.rects().find("compare.card"));
  session.app().commands.push(Choose{change_field(a, "seq_len", "128").value()});
  session.settle();
  EXPECT_EQ(session.app().view.choice.problem.N, 128);
  session.click("compare.back");
  EXPECT_EQ(session.app().view.choice, a);
  session.click("compare.pin");
  EXPECT_FALSE(session.rects().find("compare.card"));
  session.click("compare.pin");
  session.click("compare.unpin");
  EXPECT_FALSE(session.app().view.pinned);
}

/// Draws frames until the screen rests; returns whether it does.
bool comes_to_rest(ScreenSession& session) {
  return test::wait_until([&] {
    session.frame();
    return !session.busy();
  });
}

TEST(RunComparison, TheScreenRestsAfterItIsClosedWhileItCounts) {
  ScreenSession session;
  session.click("compare.pin");
  session.app().view.pinned = change_field(session.app().view.choice, "seq_len", "1024").value();
  session.frame();
  ASSERT_TRUE(session.busy()) << "nothing is counted";
  session.app().view.pinned.reset();
  EXPECT_TRUE(comes_to_rest(session));
}

TEST(RaceBar, TheScreenRestsAfterTheRaceEndsWhileAListIsComputed) {
  ScreenSession session;
  session.app().commands.push(ChooseRace{Race{rival_of(session.app().view.choice, "flash1")}});
  session.settle();
  session.click("field.rival.more");
  session.press("field.rival.tiling_rule");
  ASSERT_TRUE(session.busy()) << "no list is computed";
  session.app().commands.push(ChooseRace{std::nullopt});
  EXPECT_TRUE(comes_to_rest(session));
}

TEST(RaceBar, EditsEveryFieldOfTheRival) {
  ScreenSession session;
  const RunSpec chosen = session.app().view.choice;
  session.app().commands.push(ChooseRace{Race{rival_of(chosen, "flash1")}});
  session.settle();
  ASSERT_TRUE(session.rects().find("race.verdict"));
  session.click("field.rival.seq_len");
  session.type("128");
  session.key(Key::enter);
  ASSERT_TRUE(session.app().view.race);
  EXPECT_EQ(session.app().view.race->rival.problem.N, 128);
  EXPECT_EQ(session.app().view.choice, chosen) << "the choice keeps its own length";
  EXPECT_EQ(session.app().rival_snapshot()->run->problem().N, 128);

  // Pass, GPU and mask may differ as well
  RunSpec rival = session.app().view.race->rival;
  for (const auto& [key, value] : {std::pair{"pass", "backward"}, std::pair{"gpu", "t4"},
                                   std::pair{"mask", "causal"}, std::pair{"Br", "32"}}) {
    rival = change_field(rival, key, value).value();
  }
  session.app().commands.push(ChooseRace{Race{rival}});
  session.settle();
  ASSERT_TRUE(session.app().view.race);
  EXPECT_EQ(session.app().rival_snapshot()->run->pass_kind(), PassKind::backward);
  EXPECT_TRUE(session.app().course());
}

TEST(RaceBar, ARivalThatCannotRunLeavesTheLastOne) {
  ScreenSession session;
  session.app().commands.push(ChooseRace{Race{rival_of(session.app().view.choice, "flash1")}});
  session.settle();
  const RunSpec before = session.app().view.race->rival;
  RunSpec wrong = before;
  wrong.gpu = "no-such-gpu";
  session.app().commands.push(ChooseRace{Race{wrong}});
  session.settle();
  ASSERT_TRUE(session.app().view.race);
  EXPECT_EQ(session.app().view.race->rival, before);
  ASSERT_TRUE(session.app().notice);
  EXPECT_THAT(session.app().notice->text, HasSubstr("cannot race"));
}

}  // namespace
}  // namespace attnscope::app
