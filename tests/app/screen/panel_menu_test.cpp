/// The menu of a panel: the right mouse button.
#include <gtest/gtest.h>

#include <string>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

ImVec2 center_of(const ScreenSession& session, const std::string& widget) {
  const auto rect = session.rects().find(widget);
  EXPECT_TRUE(rect) << widget;
  return rect ? rect->center() : ImVec2{};
}

/// Whether the menu that is open enlarges this panel.
bool menu_enlarges(ScreenSession& session, Slot slot) {
  if (!session.rects().find("panel_menu.enlarge")) return false;
  session.click("panel_menu.enlarge");
  return session.app().view.enlarged == slot;
}

TEST(PanelMenu, OpensInPlaceOfAnotherPanelsMenu) {
  ScreenSession session;
  session.right_click(center_of(session, "panel.memory"));
  ASSERT_TRUE(session.rects().find("panel_menu.png"));
  session.right_click(center_of(session, "panel.timeline"));
  EXPECT_TRUE(menu_enlarges(session, Slot::timeline));
}

TEST(PanelMenu, OfALineOfPseudoCodeDropsAnOperationOrEnlargesThePanel) {
  ScreenSession session;
  session.right_click(center_of(session, "explain.line.10"));  // O_i = alpha O_i + P V_j
  EXPECT_TRUE(session.rects().find("break.rescale:O"));
  EXPECT_TRUE(session.rects().find("panel_menu.enlarge"));

  // Escape closes it; elsewhere in the panel there is nothing to drop
  session.key(Key::escape);
  EXPECT_FALSE(session.rects().find("panel_menu.enlarge"));
  session.right_click(center_of(session, "explain.tab.pseudo-code"));
  EXPECT_FALSE(session.rects().find("break.rescale:O"));
  EXPECT_TRUE(session.rects().find("panel_menu.enlarge"));

  // Another line, while that menu is open
  session.right_click(center_of(session, "explain.line.10"));
  ASSERT_TRUE(session.rects().find("break.rescale:O"));
  session.click("break.rescale:O");
  EXPECT_EQ(to_string(session.app().view.choice.variant.broken), "drop:forward:rescale:O");
}

TEST(PanelMenu, DoesNotOpenThroughACardAboveThePanel) {
  ScreenSession session;
  session.click("compare.pin");
  const ImVec2 on_card = center_of(session, "compare.card");
  session.right_click(on_card);
  EXPECT_FALSE(session.rects().find("panel_menu.png"));
  session.click("compare.unpin");
  session.right_click(on_card);
  EXPECT_TRUE(session.rects().find("panel_menu.png"));
}

}  // namespace
}  // namespace attnscope::app
