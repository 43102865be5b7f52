/// How an answer is revealed: what moves on the screen, and what it says in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ui/drawn_texts.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;
using testing::HasSubstr;

/// Opens the lesson at a step counted from 1.
void open(ScreenSession& session, const std::string& lesson, std::size_t step) {
  session.app().lesson_player.open(lesson, step - 1);
  session.settle();
  ASSERT_TRUE(session.app().lesson_player.is_open());
}

/// The text of a widget in the next frame, in which no time passes.
std::string words_of(ScreenSession& session, std::string_view widget) {
  const TextRecorder recorder;
  session.frame();
  const auto rect = session.rects().find(widget);
  std::string words;
  if (!rect) return words;
  for (const DrawnText& text : recorder.texts()) {
    const ImVec2 middle{text.at.x + text.size.x * 0.5f, text.at.y + text.size.y * 0.5f};
    if (rect->contains(middle)) words += (words.empty() ? "" : " ") + text.text;
  }
  return words;
}

TEST(LessonReveal, TheAnswerSaysWhetherItWasRecorded) {
  ScreenSession session;
  open(session, "where-did-the-rest-go", 3);
  ASSERT_TRUE(session.app().lesson_player.current().ask);
  session.click("lesson.show");
  EXPECT_THAT(words_of(session, "lesson.truth"), HasSubstr("MB (recorded)"));
}

}  // namespace
}  // namespace attnscope::app
