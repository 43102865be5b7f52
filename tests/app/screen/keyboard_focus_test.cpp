/// Tab and Enter among the widgets of the bars and of their popups.
#include <gtest/gtest.h>

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
  session.key(Key::tab);  // its list
  EXPECT_FALSE(ImGui::GetIO().WantTextInput);
  EXPECT_EQ(session.app().view.choice.problem.batch, 3);
  EXPECT_TRUE(session.rects().find("field.heads"));
  session.key(Key::tab);  // the next box
  session.type("2");
  session.key(Key::tab);
  EXPECT_EQ(session.app().view.choice.problem.heads, 2);
  EXPECT_TRUE(session.rects().find("field.heads"));
}

}  // namespace
}  // namespace attnscope::app
