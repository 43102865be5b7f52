/// The panels of a race's second run.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "app/app.h"
#include "app/screen/screen.h"
#include "tests/app/panels/headless_imgui.h"

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
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      app.update(1e-9);
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    } while (!app.settled());
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
