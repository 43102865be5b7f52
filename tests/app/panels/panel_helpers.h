/// Panels drawn without a window, and pointed at with the mouse.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/chart.h"
#include "app/panels/panels.h"
#include "app/panels/parts/panel.h"
#include "app/screen/layout.h"
#include "tests/app/panels/headless_imgui.h"
#include "tests/app/panels/sample_snapshot.h"
#include "tests/support/wait_until.h"

namespace attnscope::test {

/// The first series whose name contains `part`, or null.
inline const app::draw::Series* find_series(const app::draw::Chart& chart, std::string_view part) {
  const auto found = std::ranges::find_if(chart.series, [&](const app::draw::Series& series) {
    return series.name.find(part) != std::string::npos;
  });
  return found == chart.series.end() ? nullptr : &*found;
}

/// A screen on which panels are drawn.
struct ScreenSize {
  const char* name;
  float width, height;
  bool presenter;
};

inline constexpr ScreenSize kScreens[] = {{"1600x900", 1600, 900, false},
                                          {"1280x720", 1280, 720, false},
                                          {"3840x2160", 3840, 2160, false},
                                          {"presenter at 1280x720", 1280, 720, true}};

inline const std::set<app::Slot> kEverySlot{
    app::Slot::memory, app::Slot::scores,   app::Slot::online_softmax, app::Slot::explain,
    app::Slot::ledger, app::Slot::timeline, app::Slot::charts};

/// The data that a panel reads and writes, besides the snapshot.
struct Surroundings {
  app::ViewState view;
  app::CommandSink commands;
  app::Measurements measurements;
  app::NamedRects rects;
};

/// Draws one frame of a panel.
inline void draw_frame(HeadlessImGui& imgui, const app::Panel& panel, const Snapshot& snapshot,
                       const app::Rect& rect, const app::Scales& scales, bool presenter,
                       Surroundings& around) {
  imgui.frame(rect, [&] {
    const app::PanelContext context{
        {ImGui::GetWindowDrawList(), app::theme(around.view.theme), imgui.fonts(), scales.layout},
        rect,
        around.commands,
        around.measurements,
        around.rects,
        0.0f,
        presenter};
    panel.draw(snapshot, around.view, context);
  });
}

/// Draws a few frames of a panel, then more until its own background work is done.
inline void draw_panel(HeadlessImGui& imgui, const app::Panel& panel, const Snapshot& snapshot,
                       const app::Rect& rect, const app::Scales& scales, bool presenter,
                       Surroundings& around) {
  int frames = 0;
  ASSERT_TRUE(wait_until([&] {
    draw_frame(imgui, panel, snapshot, rect, scales, presenter, around);
    return ++frames >= 2 && !panel.busy();
  })) << panel.name
      << " never gets ready";
}

/// Draws the panel of this name in presenter mode, in `rect` or, without one, in its own place; its
/// text must stay inside and must not overlap.
inline void draw_on_projector(HeadlessImGui& imgui, ImVec2 size, std::string_view name,
                              const Snapshot& snapshot, std::optional<app::Rect> rect,
                              Surroundings& around) {
  const app::Scales scales = app::scales_for(size.x, size.y, 1.0f, true);
  const app::Layout layout = app::layout_screen(size.x, size.y, scales, kEverySlot, true);
  for (const auto& panel : app::make_panels()) {
    if (panel.name != name) continue;
    const app::Rect place = rect.value_or(layout.panels.at(panel.slot));
    draw_panel(imgui, panel, snapshot, place, scales, true, around);
    EXPECT_EQ(imgui.letters_outside(place), 0);
    EXPECT_EQ(imgui.letters_on_letters(), 0);
  }
}

/// Points at `at`, presses and releases; `draw` draws the frame after each.
inline void click(HeadlessImGui& imgui, ImVec2 at, const std::function<void()>& draw) {
  for (const bool pressed : {false, true, false}) {
    imgui.set_mouse(at, pressed);
    draw();
  }
}

/// The state of the view and the commands after a click.
struct Pointed {
  Surroundings around;
  std::vector<app::Command> commands;
  bool with_shift = false;  ///< Shift is held down during the click
};

/// Draws one panel at 1600 x 900 and clicks `share` of the way across the named rectangle.
inline void point_at(std::string_view name, const Snapshot& snapshot, const std::string& rect_name,
                     ImVec2 share, Pointed& result) {
  const app::Scales scales = app::scales_for(1600, 900, 1.0f, false);
  const app::Layout layout = app::layout_screen(1600, 900, scales, kEverySlot, false);
  HeadlessImGui imgui(1600, 900);
  ImGui::GetIO().KeyShift = result.with_shift;
  for (const auto& panel : app::make_panels()) {
    if (panel.name != name) continue;
    const app::Rect rect = layout.panels.at(panel.slot);
    draw_panel(imgui, panel, snapshot, rect, scales, false, result.around);
    const auto target = result.around.rects.find(rect_name);
    ASSERT_TRUE(target) << rect_name;
    const ImVec2 at{target->min.x + share.x * target->width(),
                    target->min.y + share.y * target->height()};
    click(imgui, at,
          [&] { draw_panel(imgui, panel, snapshot, rect, scales, false, result.around); });
  }
  result.commands = result.around.commands.take();
}

}  // namespace attnscope::test
