/// A lesson on the whole screen: what is covered, and what the mouse and the keyboard do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/ui/drawn_texts.h"
#include "app/ui/separate_frames.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;
using Phase = LessonPlayer::Phase;

/// Opens the step of the lesson, counted from 1.
TEST(LessonScreen, ShowsTheRunAndThePanelsOfItsStep) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  EXPECT_EQ(session.app().view.choice.algorithm, "flash1");
  EXPECT_TRUE(session.rects().find("lesson.say"));
  EXPECT_TRUE(session.rects().find("panel.memory"));
  EXPECT_FALSE(session.rects().find("panel.scores"));
  EXPECT_FALSE(session.rects().find("panel.charts"));
}

TEST(LessonScreen, CoversTheNumbersUntilTheAnswer) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  EXPECT_TRUE(session.rects().find("lesson.cover.ledger"));
  EXPECT_FALSE(session.rects().find("panel.ledger"));
  EXPECT_FALSE(session.rects().find("lesson.truth"));
  session.key(Key::c);  // does not enlarge the charts
  EXPECT_FALSE(session.rects().find("panel.charts"));

  session.click("lesson.show");
  EXPECT_FALSE(session.rects().find("lesson.cover.ledger"));
  EXPECT_TRUE(session.rects().find("panel.ledger"));
  EXPECT_TRUE(session.rects().find("lesson.truth"));
  EXPECT_TRUE(session.rects().find("lesson.then"));
}

/// MEMORY shows what is stored: other tensors are ghosts; O, m and l of flash1 are in HBM.
TEST(LessonScreen, CoversMemoryWhereAChoiceIsAboutWhatIsStored) {
  const std::pair<const char*, std::size_t> steps[] = {{"standard-writes-s-and-p", 5},
                                                       {"flash1-loops", 2}};
  for (const auto& [lesson, step] : steps) {
    ScreenSession session;
    session.app().lesson_player.open(lesson, step);
    session.settle();
    EXPECT_TRUE(session.rects().find("lesson.cover.memory")) << lesson;
    EXPECT_FALSE(session.rects().find("panel.memory")) << lesson;
    session.click("lesson.show");
    EXPECT_FALSE(session.rects().find("lesson.cover.memory")) << lesson;
    EXPECT_TRUE(session.rects().find("panel.memory")) << lesson;
  }
}

TEST(LessonScreen, APanelKeepsItsSizesWhenTheAnswerAppears) {
  ScreenSession session;
  session.app().lesson_player.open("merging-tiles", 1);
  session.settle();
  ASSERT_TRUE(session.rects().find("lesson.cover.online_softmax"));
  const std::optional<Rect> before = session.rects().find("scores.grid");
  session.click("lesson.show");
  const std::optional<Rect> after = session.rects().find("scores.grid");
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->min.x, after->min.x);
  EXPECT_EQ(before->min.y, after->min.y);
  EXPECT_EQ(before->max.x, after->max.x);
  EXPECT_EQ(before->max.y, after->max.y);
}

TEST(LessonScreen, ThePlayheadGoesToThePlaceOfTheStep) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  EXPECT_EQ(session.app().view.step, 0);
  session.click("lesson.show");
  EXPECT_EQ(session.app().view.step, *session.app().lesson_player.outcome()->step);
  EXPECT_GT(session.app().view.step, 0);
}

TEST(LessonScreen, ANumberIsTypedAndEnterChecksIt) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  session.click("lesson.number");
  session.type("many");
  session.key(Key::enter);
  EXPECT_TRUE(session.rects().find("lesson.error"));
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::asking);
  session.click("lesson.number");
  session.type("3 kB");
  session.key(Key::enter);
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::revealed);
  EXPECT_TRUE(session.rects().find("lesson.verdict"));
}

TEST(LessonScreen, TheFirstValueToSetIsTheLessonsOwn) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  EXPECT_TRUE(session.rects().find("lesson.set.seq-len.lesson"));
  EXPECT_FALSE(session.rects().find("lesson.set.seq-len.64")) << "that is the lesson's";
  session.click("lesson.set.seq-len.128");
  EXPECT_EQ(session.app().view.choice.problem.N, 128);
  session.click("lesson.set.seq-len.lesson");
  EXPECT_EQ(session.app().view.choice.problem.N, 64);
}

TEST(LessonScreen, AnEmptyCurveSaysHowToDrawIt) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 5);
  ASSERT_TRUE(session.rects().find("lesson.curve"));
  EXPECT_TRUE(session.rects().find("lesson.curve.hint"));
  session.click("lesson.curve");
  EXPECT_FALSE(session.rects().find("lesson.curve.hint"));
}

TEST(LessonScreen, TextIsLargerWhereTheStepHasRoom) {
  const auto size_of_text = [](float width, float height, bool presenter) {
    ScreenSession session;
    session.app().view.presenter = presenter;
    session.resize(width, height);
    session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
    const TextRecorder recorder;
    session.frame();
    const auto said = std::ranges::find_if(recorder.texts(), [](const DrawnText& text) {
      return text.text.starts_with("Every pass over");
    });
    return said == recorder.texts().end() ? 0.0f : said->size.y;
  };
  const float scale = scales_for(1280, 720, 1.0f, false).font;
  EXPECT_EQ(size_of_text(1280, 720, false), std::round(18.0f * scale));
  EXPECT_EQ(size_of_text(1280, 330, false), std::round(15.0f * 0.88f)) << "no room";
  EXPECT_EQ(size_of_text(1280, 720, true),
            std::round(15.0f * scales_for(1280, 720, 1.0f, true).font));
}

TEST(LessonScreen, APictureLeavesTheAnswerThatIsTyped) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  session.click("lesson.number");
  session.type("12");
  ASSERT_TRUE(session.app().lesson_player.draft.typing);
  {
    const SeparateFrames frames;
    for (int frame = 0; frame < 2; ++frame) {
      ImGui::NewFrame();
      ImGui::Begin("screen");
      ImGui::TextUnformatted("a panel alone");
      ImGui::End();
      ImGui::Render();
    }
  }
  session.frame();
  EXPECT_TRUE(session.app().lesson_player.draft.typing);
  EXPECT_STREQ(session.app().lesson_player.draft.text.data(), "12");
  ImGui::GetIO().AddInputCharacter('3');
  session.frame();
  EXPECT_STREQ(session.app().lesson_player.draft.text.data(), "123");
}

TEST(LessonScreen, AnOptionIsAButton) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 3);
  session.click("lesson.option.b");
  EXPECT_EQ(session.app().lesson_player.outcome()->verdict, lessons::Verdict::Kind::right);
}

TEST(LessonScreen, AClickInScoresIsTheAnswerAndDoesNotMoveThePlayhead) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 4);
  EXPECT_FALSE(session.app().lesson_player.draft.tile);
  const Index step = session.app().view.step;
  session.click("scores.grid");  // its middle, a corner of (1, 1) and of (2, 2)
  const auto tile = session.app().lesson_player.draft.tile;
  ASSERT_TRUE(tile);
  EXPECT_TRUE(tile == (lessons::TilePlace{1, 1}) || tile == (lessons::TilePlace{2, 2}));
  session.app().commands.push(StepBy{});
  session.settle();
  EXPECT_EQ(session.app().view.step, step);
  session.key(Key::enter);
  EXPECT_EQ(session.app().lesson_player.outcome()->verdict, lessons::Verdict::Kind::wrong);
  EXPECT_NE(session.app().view.step, step);
  session.app().commands.push(SeekTo{3});
  session.settle();
  EXPECT_EQ(session.app().view.step, 3);
}

TEST(LessonScreen, TheMouseDrawsACurve) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 5);
  session.click("lesson.curve");
  const auto& drawn = session.app().lesson_player.draft.curve;
  ASSERT_EQ(drawn.size(), 4U);
  EXPECT_FALSE(drawn[0]);
  EXPECT_TRUE(drawn[1] || drawn[2]);
  session.click("lesson.check");
  EXPECT_TRUE(session.rects().find("lesson.error"));
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::asking);
}

TEST(LessonScreen, PageKeysMoveBetweenStepsAndEscapeLeaves) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 1);
  session.key(Key::page_down);
  session.key(Key::page_down);
  EXPECT_EQ(session.app().lesson_player.step(), 2U);
  session.key(Key::page_up);
  EXPECT_EQ(session.app().lesson_player.step(), 1U);
  session.key(Key::escape);
  EXPECT_FALSE(session.app().lesson_player.is_open());
  EXPECT_TRUE(session.rects().find("panel.charts"));
}

TEST(LessonScreen, InPresenterModePageDownRevealsThenAdvances) {
  ScreenSession session;
  session.app().view.presenter = true;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  EXPECT_FALSE(session.rects().find("lesson.number"));
  session.key(Key::page_down);
  EXPECT_EQ(session.app().lesson_player.step(), 1U);
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::revealed);
  session.key(Key::page_down);
  EXPECT_EQ(session.app().lesson_player.step(), 2U);
}

TEST(LessonScreen, ShowsABrokenRunBesideTheCorrectOne) {
  ScreenSession session;
  App& app = session.app();
  app.lesson_player.open("forgetting-alpha", 1);
  session.settle();
  ASSERT_TRUE(app.rival_snapshot());
  EXPECT_EQ(to_string(app.view.choice.variant.broken), "alpha=1");
  EXPECT_FALSE(app.view.race->rival.variant.broken.any());
  EXPECT_FALSE(session.rects().find("panel.online_softmax"));

  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("panel.online_softmax"));
  EXPECT_EQ(app.snapshot()->step, *app.lesson_player.outcome()->step);
  EXPECT_EQ(app.rival_snapshot()->step, app.snapshot()->step);
  // The user moves by whole tiles, which the two runs have in common
  const auto& tiles = app.snapshot()->run->tile_steps;
  const auto next_tile = std::ranges::upper_bound(tiles, *app.lesson_player.outcome()->step);
  app.commands.push(StepBy{});
  session.settle();
  EXPECT_EQ(app.snapshot()->step, *std::next(next_tile) - 1);
  app.lesson_player.act(LessonPlayer::Action::leave);
  session.settle();
  EXPECT_FALSE(app.view.race);
  EXPECT_FALSE(app.rival_snapshot());
}

TEST(LessonScreen, AnotherRivalLeavesTheLessonAndStays) {
  ScreenSession session;
  App& app = session.app();
  app.lesson_player.open("forgetting-alpha", 1);
  session.settle();
  ASSERT_TRUE(app.view.race);
  Race other = *app.view.race;
  other.rival.algorithm = "flash1";
  app.commands.push(ChooseRace{other});
  session.settle();
  EXPECT_FALSE(app.lesson_player.is_open());
  ASSERT_TRUE(app.view.race);
  EXPECT_EQ(app.view.race->rival.algorithm, "flash1");
  EXPECT_TRUE(app.rival_snapshot());
  ASSERT_TRUE(app.notice);
  EXPECT_NE(app.notice->text.find("lesson"), std::string::npos) << app.notice->text;
}

TEST(LessonScreen, ARaceInAStepWithOneRunLeavesTheLesson) {
  ScreenSession session;
  App& app = session.app();
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  RunSpec rival = app.view.choice;
  rival.algorithm = "standard";
  app.commands.push(ChooseRace{Race{rival, RaceClock::tiles}});
  session.settle();
  EXPECT_FALSE(app.lesson_player.is_open());
  EXPECT_TRUE(app.view.race);
}

TEST(LessonScreen, HidesWhatABreakChangesUntilTheAnswer) {
  ScreenSession session;
  App& app = session.app();
  app.lesson_player.open("forgetting-alpha", 4);
  session.settle();
  ASSERT_TRUE(session.rects().find("panel.explain"));
  EXPECT_TRUE(app.view.hides_effect);
  session.click("lesson.show");
  EXPECT_FALSE(app.view.hides_effect);
  app.lesson_player.act(LessonPlayer::Action::previous);
  session.settle();
  EXPECT_TRUE(app.view.hides_effect);
  session.key(Key::escape);
  EXPECT_FALSE(app.view.hides_effect);
}

TEST(LessonScreen, AnotherRunComesWithTheAnswer) {
  ScreenSession session;
  App& app = session.app();
  app.lesson_player.open("double-the-sram", 1);
  session.settle();
  const Tiling before = *app.view.choice.tiling();
  session.click("lesson.show");
  EXPECT_TRUE(app.lesson_player.is_open());
  EXPECT_EQ(app.view.choice.tiling()->Bc, 2 * before.Bc);
  EXPECT_EQ(app.snapshot()->run->tiling().Bc, 2 * before.Bc);

  // The change remains when the step is shown again
  session.key(Key::page_up);
  session.key(Key::page_down);
  EXPECT_EQ(app.lesson_player.phase(), Phase::revealed);
  EXPECT_EQ(app.view.choice.tiling()->Bc, 2 * before.Bc);
}

TEST(LessonScreen, ARaceFromASceneSurvivesLeavingTheLesson) {
  ScreenSession session;
  session.app().lesson_player.open("forgetting-alpha", 0);
  session.settle();
  session.app().commands.push(OpenScene{"race-standard"});
  session.settle();
  EXPECT_FALSE(session.app().lesson_player.is_open());
  EXPECT_TRUE(session.app().view.race);
}

TEST(LessonScreen, AnotherSceneLeavesTheLesson) {
  ScreenSession session;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  session.app().commands.push(OpenScene{"flash1-64"});
  session.settle();
  EXPECT_FALSE(session.app().lesson_player.is_open());
  EXPECT_EQ(session.app().scene.name, "flash1-64");
}

TEST(LessonScreen, AnotherRunLeavesTheLesson) {
  ScreenSession session;
  App& app = session.app();
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 4);
  RunSpec choice = app.view.choice;
  choice.problem.N = choice.problem.N_kv = 32;
  app.commands.push(Choose{choice});
  session.settle();
  EXPECT_FALSE(app.lesson_player.is_open());
  EXPECT_EQ(app.view.choice, choice);
  ASSERT_TRUE(app.notice);
  EXPECT_NE(app.notice->text.find("lesson"), std::string::npos) << app.notice->text;
}

TEST(LessonScreen, UndoToAnotherRunLeavesTheLesson) {
  ScreenSession session;
  App& app = session.app();
  const RunSpec before = app.view.choice;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 2);
  ASSERT_NE(app.view.choice, before);
  session.key(Key::z, false, true);
  EXPECT_EQ(app.view.choice, before);
  EXPECT_FALSE(app.lesson_player.is_open());
}

TEST(LessonScreen, ItsOwnStepsAndFieldsChangeTheRun) {
  ScreenSession session;
  App& app = session.app();
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 1);
  const RunSpec first = app.view.choice;
  app.lesson_player.change(*app.lesson_player.lesson().vary.front().field, "128");
  session.settle();
  EXPECT_NE(app.view.choice, first);
  for (int step = 1; step < 5; ++step) session.key(Key::page_down);
  EXPECT_TRUE(app.lesson_player.is_open());
  EXPECT_EQ(app.lesson_player.step(), 4U);
}

TEST(LessonScreen, TheListOfScenesLeadsToTheLessons) {
  ScreenSession session;
  session.click("field.scene");
  session.click("option.scene.lessons");
  EXPECT_FALSE(session.app().lesson_player.list_requested);
  EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
}

}  // namespace
}  // namespace attnscope::app
