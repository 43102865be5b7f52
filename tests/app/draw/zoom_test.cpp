/// The visible part of a picture that the wheel zooms and scrolls.
#include "app/draw/zoom.h"

#include <gtest/gtest.h>

#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app::draw {
namespace {

TEST(ZoomedAxis, KeepsWhatIsUnderTheMouseInPlace) {
  ZoomedAxis axis;
  for (const double position : {0.25, 0.5, 0.75}) {
    const double before = axis.share(position);
    axis.zoom(0.5, position, {1e-6});
    EXPECT_NEAR(axis.share(position), before, 1e-12);
  }
  EXPECT_NEAR(axis.size(), 0.125, 1e-12);
}

TEST(ZoomedAxis, StaysWithinTheWhole) {
  ZoomedAxis axis;
  axis.zoom(0.5, 1.0, {1e-6});
  EXPECT_DOUBLE_EQ(axis.begin, 0.5);
  axis.scroll(10.0);
  EXPECT_DOUBLE_EQ(axis.end, 1.0);
  axis.scroll(-10.0);
  EXPECT_DOUBLE_EQ(axis.begin, 0.0);
  axis.zoom(0.001, 0.5, {0.1});
  EXPECT_DOUBLE_EQ(axis.size(), 0.1);
  axis.zoom(1e9, 0.9, {0.1});
  EXPECT_TRUE(axis.is_whole());
  EXPECT_DOUBLE_EQ(axis.begin, 0.0);
  EXPECT_DOUBLE_EQ(axis.end, 1.0);
}

TEST(ZoomedAxis, StaysWhereItIsAtItsLimits) {
  ZoomedAxis axis{0.5, 0.6};
  for (int turn = 0; turn < 20; ++turn) axis.zoom(1.25, 0.9, {0.01, 0.1});
  EXPECT_NEAR(axis.begin, 0.5, 1e-9);
  EXPECT_NEAR(axis.end, 0.6, 1e-9);
  for (int turn = 0; turn < 20; ++turn) axis.zoom(0.8, 0.1, {0.1});
  EXPECT_NEAR(axis.begin, 0.5, 1e-9);
}

TEST(ZoomedAxis, ShowsAPlaceThatIsNotVisible) {
  ZoomedAxis axis{0.0, 0.25};
  axis.show(0.1, 0.2);
  EXPECT_DOUBLE_EQ(axis.begin, 0.0);
  axis.show(0.7, 0.72);
  EXPECT_NEAR(axis.share(0.5), 0.71, 1e-12);
  axis.show(0.99, 1.0);
  EXPECT_DOUBLE_EQ(axis.end, 1.0);
}

TEST(ZoomByWheel, ZoomsBothAxesAndScrollsOneWithShiftOrCtrl) {
  test::HeadlessImGui imgui(400, 400);
  const Rect rect{{0, 0}, {400, 400}};
  ZoomedAxis x, y;
  const auto turn = [&](float notches, bool shift, bool ctrl) {
    ImGuiIO& io = ImGui::GetIO();
    imgui.set_mouse({100, 200});
    io.KeyShift = shift;
    io.KeyCtrl = ctrl;
    imgui.frame(rect, [] {});  // so that ImGui detects the window under the mouse
    io.MouseWheel = notches;
    imgui.frame(rect, [&] { zoom_by_wheel(rect, &x, &y, {0.01}, {0.01}); });
  };
  turn(1.0f, false, false);
  EXPECT_NEAR(x.size(), 0.8, 1e-6);
  EXPECT_NEAR(y.size(), 0.8, 1e-6);
  EXPECT_NEAR(x.share(0.25), 0.25, 1e-6);
  const ZoomedAxis before_x = x;
  const ZoomedAxis before_y = y;
  turn(-1.0f, true, false);
  EXPECT_GT(x.begin, before_x.begin);
  EXPECT_EQ(y.begin, before_y.begin);
  const double scrolled = x.begin;
  turn(-1.0f, false, true);
  EXPECT_EQ(x.begin, scrolled);
  EXPECT_GT(y.begin, before_y.begin);
}

}  // namespace
}  // namespace attnscope::app::draw
