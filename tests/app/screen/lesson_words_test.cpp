/// The text of a lesson's step beside its question: whole sentences, no method before it is
/// introduced, the peak of memory, and the values of a curve.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

/// Opens the step, counted from 1, and shows its answer.
void show_answer(ScreenSession& session, const std::string& lesson, std::size_t step) {
  session.app().lesson_player.open(lesson, step - 1);
  session.settle();
  session.app().lesson_player.act(app::LessonPlayer::Action::show_me);
  session.settle();
  ASSERT_NE(session.app().lesson_player.outcome(), nullptr);
}

TEST(LessonWords, SentencesOfTwoLinesEachAreBothShown) {
  ScreenSession session;
  session.resize(1280, 720);
  show_answer(session, "backward-pass", 5);
  EXPECT_TRUE(is_on_screen("What"));
  EXPECT_TRUE(is_on_screen("Why"));
}

TEST(LessonWords, TheNoteOfTheRowNamesNoMethodThatIsHidden) {
  ScreenSession session;
  show_answer(session, "softmax-overflow", 4);
  EXPECT_TRUE(is_on_screen("The largest score is"));
  EXPECT_FALSE(is_on_screen("sweeps"));
  show_answer(session, "softmax-overflow", 6);
  EXPECT_TRUE(is_on_screen("sweeps"));
}

/// Adjacent lines share one outline, because separate outlines would cross.
TEST(LessonWords, OutlinesAdjacentLinesOfTheLedgerTogether) {
  ScreenSession session;
  show_answer(session, "swap-the-loops", 5);
  const std::optional<app::Rect> mark = session.rects().find("lesson.mark.ledger.row.Q read");
  const std::optional<app::Rect> first = session.rects().find("ledger.row.Q read");
  const std::optional<app::Rect> last = session.rects().find("ledger.row.O read");
  ASSERT_TRUE(mark && first && last);
  EXPECT_LT(mark->min.y, first->min.y);
  EXPECT_GT(mark->max.y, last->max.y);
  EXPECT_FALSE(session.rects().find("lesson.mark.ledger.row.K read"));
  EXPECT_FALSE(session.rects().find("lesson.mark.ledger.row.O written"));
}

TEST(LessonWords, HighlightsATensorInMemoryAndNoEmptySlotForIt) {
  ScreenSession session;
  show_answer(session, "flash1-loops", 3);
  EXPECT_TRUE(session.rects().find("lesson.mark.memory.tensor.O"));
  EXPECT_TRUE(session.rects().find("memory.slot.O"));
  EXPECT_FALSE(session.rects().find("lesson.mark.memory.slot.O"));
  show_answer(session, "standard-writes-s-and-p", 6);
  EXPECT_TRUE(session.rects().find("lesson.mark.memory.slot.S"));
}

/// The runs of flash1-loops differ in d, those of swap-the-loops that a choice reaches do not.
TEST(LessonWords, TheLessonsOwnValueIsNamedUnlessItsRunsDiffer) {
  ScreenSession session;
  session.app().lesson_player.open("flash1-loops", 0);
  session.settle();
  EXPECT_TRUE(is_on_screen("as in the lesson"));
  session.app().lesson_player.open("swap-the-loops", 2);
  session.settle();
  EXPECT_TRUE(is_on_screen("16384 (lesson)"));
}

/// The first step of swap-the-loops shows a run that sets N and d itself.
TEST(LessonWords, OffersNoValueThatTheStepDoesNotUse) {
  ScreenSession session;
  session.app().lesson_player.open("swap-the-loops", 0);
  session.settle();
  EXPECT_FALSE(session.rects().find("lesson.set.seq-len.lesson"));
  EXPECT_FALSE(session.rects().find("lesson.set.head-dim.lesson"));
  EXPECT_TRUE(is_on_screen("GPU ="));
  session.app().lesson_player.open("when-is-the-gpu-full", 4);  // a run that sets N, but not d
  session.settle();
  EXPECT_FALSE(session.rects().find("lesson.set.seq-len.lesson"));
  EXPECT_TRUE(session.rects().find("lesson.set.head-dim.lesson"));
}

TEST(LessonWords, FormulasOfTheOnlineSoftmaxAppearAfterAllOfThemWereAskedFor) {
  ScreenSession session;
  const auto has_line_of_alpha = [&] {
    const auto panel = session.rects().find("panel.online_softmax");
    return std::ranges::any_of(texts_on_screen(), [&](const ScreenText& text) {
      return text.words == "alpha" && panel && panel->contains(text.rect.center());
    });
  };
  show_answer(session, "merging-tiles", 3);
  EXPECT_FALSE(is_on_screen("exp(m_prev - m)"));
  EXPECT_FALSE(is_on_screen("rowsum P"));
  EXPECT_FALSE(has_line_of_alpha());
  show_answer(session, "merging-tiles", 4);
  EXPECT_FALSE(is_on_screen("rowsum P"));
  EXPECT_TRUE(has_line_of_alpha());
  show_answer(session, "merging-tiles", 6);
  EXPECT_TRUE(is_on_screen("rowsum P"));
}

TEST(LessonWords, ABrokenOperationHasItsOwnReason) {
  ScreenSession session;
  session.app().lesson_player.open("forgetting-alpha", 0);
  session.settle();
  EXPECT_TRUE(is_on_screen("In this run, alpha is always 1"));
}

TEST(LessonWords, TheLegendNamesTheFrameOfATileThatIsNotOnChip) {
  ScreenSession session;
  session.app().lesson_player.open("flash1-loops", 1);
  session.settle();
  EXPECT_TRUE(is_on_screen("at the playhead"));
  session.click("lesson.show");  // the playhead moves to a tile on chip
  EXPECT_FALSE(is_on_screen("at the playhead"));
}

/// The notice of a break whose effect is hidden leaves room for the sentence "Why".
TEST(LessonWords, SaysWhyBesideABrokenRunAt1280x720) {
  ScreenSession session;
  session.resize(1280, 720);
  session.app().lesson_player.open("forgetting-alpha", 1);
  session.settle();
  EXPECT_TRUE(is_on_screen("Its effect is shown after the answer."));
  const auto texts = test::texts_on_screen();
  EXPECT_EQ(std::ranges::count(texts, "Why", &test::ScreenText::words), 2);
}

TEST(LessonWords, KeepsANumberAndItsUnitOnOneLine) {
  ScreenSession session;
  session.resize(1280, 720);
  show_answer(session, "swap-the-loops", 5);
  EXPECT_TRUE(is_on_screen("1.076 GB."));
}

TEST(LessonWords, ThePeakOfMemoryIsALineOfTheLedger) {
  ScreenSession session;
  session.app().lesson_player.open("double-n", 2);
  session.settle();
  EXPECT_FALSE(session.rects().find("ledger.row.peak memory"));
  session.click("lesson.show");
  const std::optional<app::Rect> peak = session.rects().find("ledger.row.peak memory");
  const std::optional<app::Rect> ledger = session.rects().find("panel.ledger");
  ASSERT_TRUE(peak && ledger);
  EXPECT_GT(peak->width(), 20.0f);
  EXPECT_TRUE(ledger->contains(peak->center()));
  EXPECT_GT(peak->min.y, session.rects().find("ledger.row.LSE written")->max.y);
}

TEST(LessonWords, ACurveHasItsValuesAtItsPoints) {
  ScreenSession session;
  show_answer(session, "double-the-sram", 5);
  const auto& rects = session.rects();
  const std::optional<app::Rect> plot = rects.find("lesson.curve");
  ASSERT_TRUE(plot);
  for (const char* value : {"52.95 MB", "26.74 MB", "13.63 MB", "7.078 MB"}) {
    const auto texts = texts_on_screen();
    EXPECT_TRUE(std::ranges::any_of(texts, [&](const ScreenText& text) {
      return text.words == value && plot->contains(text.rect.center());
    })) << value;
  }
}

}  // namespace
}  // namespace attnscope::test
