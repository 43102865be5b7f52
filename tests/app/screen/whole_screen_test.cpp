/// What the whole screen says and does in special cases: problems that are too large for all
/// values, the wheel over the SMs, the smallest window, and what Ctrl+Z does not undo.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/platform/window.h"
#include "app/scene/choice_rules.h"
#include "sim/studies/break_effect.h"
#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

using app::Rect;

/// The pieces of text in the rectangle, in drawing order.
std::vector<std::string> texts_in(const Rect& rect) {
  std::vector<std::string> texts;
  for (const ScreenText& text : texts_on_screen()) {
    if (rect.contains(text.rect.center())) texts.push_back(text.words);
  }
  return texts;
}

bool any_contains(const std::vector<std::string>& texts, std::string_view words) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

TEST(LargeProblem, SaysWhyKeyGradientsHaveNoValues) {
  ScreenSession session;
  app::App& app = session.app();
  const auto sram_texts = [&](const char* seq_len) {
    RunSpec choice = app::change_field(app.view.choice, "pass", "backward").value();
    choice = app::change_field(choice, "seq_len", seq_len).value();
    app.commands.push(app::Choose{choice});
    session.settle();
    app.commands.push(app::SeekTo{app.snapshot()->run->step_count / 2});
    app.view.enlarged = app::Slot::memory;
    session.settle();
    return texts_in(session.rects().find("memory.sram").value());
  };
  EXPECT_FALSE(any_contains(sram_texts("1024"), "need all earlier row tiles"));
  EXPECT_TRUE(any_contains(sram_texts("4096"), "dK, dV: need all earlier row tiles"));
  for (const char* const tensor : {"dK", "dV"}) {
    const auto slot = session.rects().find(fmt::format("memory.slot.{}", tensor));
    ASSERT_TRUE(slot) << tensor;
    session.point_at(slot->center());
    const std::vector<std::string> all = texts_in({{0.0f, 0.0f}, {1600.0f, 900.0f}});
    EXPECT_TRUE(any_contains(all, "needs all earlier row tiles")) << tensor;
  }
}

TEST(SmTimeline, IsZoomedByTheWheel) {
  ScreenSession session("flash2-1024");
  session.app().view.timeline_tab = app::TimelineTab::sms;
  session.settle();
  std::optional<Rect> lane;
  for (const auto& [name, rect] : session.rects().all()) {
    const bool is_lane = name.starts_with("timeline.sm.") && name.ends_with(".predicted");
    if (is_lane && !lane) lane = rect;
  }
  ASSERT_TRUE(lane);
  const Rect panel = session.rects().find("panel.timeline").value();
  session.move_mouse(lane->center());
  const auto turn = [&](float notches) {
    ImGui::GetIO().MouseWheel = notches;
    session.frame();
    session.settle();
    return texts_in(panel);
  };
  const std::vector<std::string> whole = turn(0.0f);
  EXPECT_NE(turn(6.0f), whole) << "the ticks of the axis";
  EXPECT_EQ(turn(-6.0f), whole);
}

TEST(Keys, AreListedAndHiddenByAQuestionMark) {
  ScreenSession session;
  ImGui::GetIO().AddInputCharacter('?');
  session.frame();
  EXPECT_TRUE(session.app().view.show_keys);
  ImGui::GetIO().AddInputCharacter('?');
  session.frame();
  EXPECT_FALSE(session.app().view.show_keys);
}

TEST(SmallestWindow, ShowsEveryPanelAndBothBars) {
  ScreenSession session;
  session.resize(app::kLeastWidth, app::kLeastHeight);
  session.settle();
  for (const std::string_view name :
       {"panel.memory", "panel.scores", "panel.explain", "panel.online_softmax", "panel.ledger",
        "panel.timeline", "panel.charts", "field.scene", "field.more", "badge.run",
        "transport.play", "transport.scrub"}) {
    const auto rect = session.rects().find(name);
    ASSERT_TRUE(rect) << name;
    EXPECT_GE(rect->min.x, 0.0f) << name;
    EXPECT_LE(rect->max.x, static_cast<float>(app::kLeastWidth)) << name;
    EXPECT_LE(rect->max.y, static_cast<float>(app::kLeastHeight)) << name;
  }
}

TEST(BrokenRun, HasOneButtonIfTheFirstWrongOperationIsAStore) {
  ScreenSession session;
  const RunSpec choice = session.app().view.choice;
  for (const char* broken : {"drop:forward:rescale:O", "drop:forward:store:O"}) {
    session.app().commands.push(app::Choose{app::change_field(choice, "break", broken).value()});
    session.settle();
    const BreakEffect& effect = *session.app().snapshot()->effect;
    const bool two = effect.first_difference->step != effect.first_wrong_store->step;
    EXPECT_TRUE(session.rects().find("broken.operation")) << broken;
    EXPECT_EQ(session.rects().find("broken.store").has_value(), two) << broken;
  }
}

TEST(Zoom, IsResetByItsButtonAndByAnotherScene) {
  ScreenSession session;
  const auto zoom = [&](const char* place) {
    session.move_mouse(session.rects().find(place)->center());
    session.frame();
    ImGui::GetIO().MouseWheel = 3.0f;
    session.frame();
    ImGui::GetIO().MouseWheel = 0.0f;
    session.settle();
  };
  for (const auto& [place, button] :
       {std::pair{"scores.grid", "scores.fit"}, std::pair{"timeline.lane.0", "timeline.fit"}}) {
    EXPECT_FALSE(session.rects().find(button));
    zoom(place);
    EXPECT_TRUE(session.rects().find(button));
    session.click(button);
    EXPECT_FALSE(session.rects().find(button));
    zoom(place);
  }
  session.app().commands.push(app::OpenScene{"flash1-64"});
  session.settle();
  EXPECT_FALSE(session.rects().find("scores.fit"));
  EXPECT_FALSE(session.rects().find("timeline.fit"));
}

TEST(Undo, LeavesWhatOnlyChangesTheView) {
  ScreenSession session;
  app::ViewState& view = session.app().view;
  const RunSpec before = view.choice;
  session.app().commands.push(app::Choose{app::change_field(before, "seq_len", "128").value()});
  session.settle();
  session.click("compare.pin");
  view.chart = app::ChartQuantity::memory;
  view.timeline_tab = app::TimelineTab::sms;
  session.settle();
  session.key(app::Key::z, false, true);
  EXPECT_EQ(view.choice, before);
  ASSERT_TRUE(view.pinned);
  EXPECT_EQ(view.pinned->problem.N, 128);
  EXPECT_EQ(view.chart, app::ChartQuantity::memory);
  EXPECT_EQ(view.timeline_tab, app::TimelineTab::sms);
}

}  // namespace
}  // namespace attnscope::test
