/// Presenter mode on a projector of 1280 x 720 pixels: the whole pseudo-code of every launch of
/// every scene, and popups beside the picture that they explain.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <optional>
#include <string_view>
#include <vector>

#include "tests/app/screen/screen_session.h"

namespace attnscope::test {
namespace {

using app::Rect;

TEST(Presenter, ShowsTheWholePseudoCodeOfEveryLaunch) {
  ScreenSession session;
  session.resize(1280, 720);
  app::App& app = session.app();
  for (const app::ShippedScene& scene : app::list_shipped_scenes()) {
    app.commands.push(app::OpenScene{scene.name});
    session.settle();
    app.view.presenter = true;
    app.view.explain_tab = app::ExplainTab::pseudo_code;
    session.settle();
    const auto run = app.snapshot()->run;
    if (app.course() != nullptr) continue;  // a race shows no pseudo-code to an audience
    app.view.enlarged.reset();
    for (const StepSpan& launch : run->launches) {
      app.commands.push(app::SeekTo{launch.begin});
      session.settle();
      const std::string where = fmt::format("{} step {}", scene.name, launch.begin);
      EXPECT_TRUE(session.rects().find("explain.line.0")) << where;
      EXPECT_FALSE(session.rects().find("explain.more.above")) << where;
      EXPECT_FALSE(session.rects().find("explain.more.below")) << where;
    }
  }
}

bool cover(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

/// The rectangle of the tooltip in the last frame; nothing if there is none.
std::optional<Rect> tooltip_place() {
  const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
  if (window == nullptr || window->LastFrameActive != ImGui::GetFrameCount()) return std::nullopt;
  const ImVec2 end{window->Pos.x + window->Size.x, window->Pos.y + window->Size.y};
  return Rect{window->Pos, end};
}

TEST(Presenter, EscapeLeavesItAfterTheEnlargedPanel) {
  ScreenSession session;
  session.key(app::Key::f);
  session.key(app::Key::c);
  session.key(app::Key::escape);
  EXPECT_FALSE(session.app().view.enlarged);
  EXPECT_TRUE(session.app().view.presenter);
  session.key(app::Key::escape);
  EXPECT_FALSE(session.app().view.presenter);
}

TEST(Presenter, EscapeClosesAListFirst) {
  ScreenSession session;
  session.key(app::Key::f);
  for (const char* field : {"field.algorithm", "field.scene"}) {
    session.click(field);
    ASSERT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) << field;
    session.key(app::Key::escape);
    EXPECT_FALSE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) << field;
    EXPECT_TRUE(session.app().view.presenter) << field;
  }
  session.key(app::Key::escape);
  EXPECT_FALSE(session.app().view.presenter);
}

TEST(Presenter, PopupsAreBesideThePanelThatTheyExplain) {
  ScreenSession session;
  session.resize(1280, 720);
  app::App& app = session.app();
  app.view.presenter = true;
  app.commands.push(app::SeekTo{60});
  session.settle();
  int popups = 0;
  for (const std::string_view name : {"memory", "scores", "explain"}) {
    const Rect panel = session.rects().find(fmt::format("panel.{}", name)).value();
    std::vector<Rect> places;
    for (const auto& [place, rect] : session.rects().all()) {
      const bool is_within = std::string_view(place).starts_with(name) && cover(rect, panel);
      if (is_within) places.push_back(rect);
    }
    for (const Rect& place : places) {
      session.point_at(place.center());
      const auto popup = tooltip_place();
      if (!popup) continue;
      ++popups;
      EXPECT_FALSE(cover(*popup, panel))
          << name << " at " << place.center().x << ", " << place.center().y;
    }
  }
  EXPECT_GT(popups, 10);
}

}  // namespace
}  // namespace attnscope::test
