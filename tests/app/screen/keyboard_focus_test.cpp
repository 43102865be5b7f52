/// Tab and Enter among the widgets of the bars and of their popups.
#include <gtest/gtest.h>

#include "app/scene/choice_rules.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

TEST(KeyboardFocus, TabOutOfABoxOfTheBarTakesItsText) {
  ScreenSession session;
  session.click("field.seq_len");
  session.type("128");
  session.key(Key::tab);
  EXPECT_EQ(session.app().view.choice.problem.N, 128);
}

TEST(KeyboardFocus, TabOutOfABoxBehindTheBarTakesItsTextAndKeepsThePopupOpen) {
  ScreenSession session;
  session.click("field.more");
  session.click("field.batch");
  session.type("3");
  session.key(Key::tab);  // to its list
  EXPECT_FALSE(ImGui::GetIO().WantTextInput);
  EXPECT_EQ(session.app().view.choice.problem.batch, 3);
  EXPECT_TRUE(session.rects().find("field.heads"));
  session.key(Key::tab);  // to the next box
  session.type("2");
  session.key(Key::tab);
  EXPECT_EQ(session.app().view.choice.problem.heads, 2);
  EXPECT_TRUE(session.rects().find("field.heads"));
}

TEST(KeyboardFocus, ReachesTheTabsOfThePanels) {
  ScreenSession session;
  session.key(Key::tab);
  EXPECT_TRUE(session.focused("field.scene"));
  for (int k = 0; k < 60 && !session.focused("timeline.tab.SMs"); ++k) session.key(Key::tab);
  ASSERT_TRUE(session.focused("timeline.tab.SMs"));
  session.key(Key::enter);
  EXPECT_EQ(session.app().view.timeline_tab, TimelineTab::sms);
  session.key(Key::tab, /*with_shift=*/true);
  EXPECT_TRUE(session.focused("timeline.tab.operations"));
  session.key(Key::enter);
  EXPECT_EQ(session.app().view.timeline_tab, TimelineTab::operations);
}

TEST(KeyboardFocus, GoesAroundInARaceWithTheSamePanelsTwice) {
  ScreenSession session;
  session.app().commands.push(ChooseRace{Race{rival_of(session.app().view.choice, "standard")}});
  session.settle();
  session.key(Key::tab);
  ASSERT_TRUE(session.focused("field.scene"));
  session.key(Key::tab);
  constexpr int kMost = 200;
  int stops = 1;
  for (; stops < kMost && !session.focused("field.scene"); ++stops) session.key(Key::tab);
  EXPECT_LT(stops, kMost);
}

TEST(KeyboardFocus, GoesThroughTheDialogOfScenes) {
  ScreenSession session;
  session.app().view.scene_dialog = false;  // the dialog that opens a scene
  session.settle();
  session.type("no such scene");
  session.key(Key::tab);
  EXPECT_TRUE(session.focused("dialog.confirm"));
  session.key(Key::enter);
  EXPECT_TRUE(session.rects().find("dialog.error"));
  for (int k = 0; k < 60 && !session.focused("dialog.scene.flash1-64"); ++k) {
    session.key(Key::tab);
  }
  ASSERT_TRUE(session.focused("dialog.scene.flash1-64"));
  session.key(Key::enter);
  EXPECT_EQ(session.app().scene.name, "flash1-64");
  EXPECT_FALSE(session.rects().find("dialog.path"));
}

}  // namespace
}  // namespace attnscope::app
