/// The panels of a race's second run.
#include <gtest/gtest.h>

#include "app/app.h"
#include "app/screen/screen.h"
#include "tests/app/panels/headless_imgui.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

/// A panel that draws nothing and reports that it is busy, or that it is not.
Panel panel_that_is(bool busy) {
  return {.name = "memory",
          .title = "MEMORY",
          .slot = Slot::memory,
          .draw_run = [](const Snapshot&, ViewState&, const PanelContext&) {},
          .busy = [busy] { return busy; }};
}

TEST(RivalPanels, AreNotWaitedForAfterTheRace) {
  test::HeadlessImGui imgui(1600, 900);
  App app(load_scene("default").value(), [] {});
  Screen screen({panel_that_is(false)}, {panel_that_is(true)});
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const auto settle = [&] {
    ASSERT_TRUE(test::update_until_settled(app));
    imgui.resize(1600, 900, scales.layout, scales.font);
    ImGui::NewFrame();
    screen.draw(app, imgui.fonts(), scales, 0.0);
    ImGui::Render();
  };
  settle();
  EXPECT_FALSE(screen.busy());

  app.commands.push(ChooseRace{Race{app.view.choice, RaceClock::tiles}});
  settle();
  EXPECT_TRUE(screen.busy());

  app.commands.push(ChooseRace{});
  settle();
  EXPECT_FALSE(screen.busy());
}

}  // namespace
}  // namespace attnscope::app
