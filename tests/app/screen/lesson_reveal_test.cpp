/// How an answer is revealed: what moves on the screen, and what the screen says at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "app/draw/axis.h"
#include "app/ui/drawn_texts.h"
#include "app/ui/theme.h"
#include "tests/app/lessons/measured_runs.h"
#include "tests/app/play/play_lesson.h"
#include "tests/app/screen/screen_session.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;
using testing::HasSubstr;
using Action = LessonPlayer::Action;

constexpr double kReveal_s = 0.9;

/// Opens the lesson at a step counted from 1.
void open(ScreenSession& session, const std::string& lesson, std::size_t step) {
  session.app().lesson_player.open(lesson, step - 1);
  session.settle();
  ASSERT_TRUE(session.app().lesson_player.is_open());
}

/// Performs the action, and draws frames until the answer is shown.
void reveal(ScreenSession& session, Action action) {
  LessonPlayer& player = session.app().lesson_player;
  player.act(action);
  ASSERT_TRUE(test::wait_until([&] {
    session.run(1e-3);
    return player.outcome() != nullptr;
  }));
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

TEST(LessonScreen, ItsButtonsKeepTheirPlaces) {
  ScreenSession session;
  open(session, "standard-writes-s-and-p", 1);
  std::map<std::string, float> places;
  const auto compare = [&] {
    for (const char* name : {"lesson.back", "lesson.next", "lesson.leave"}) {
      const auto rect = session.rects().find(name);
      if (!rect) continue;
      EXPECT_EQ(places.emplace(name, rect->min.x).first->second, rect->min.x) << name;
    }
  };
  compare();
  session.click("lesson.next");
  compare();
  session.click("lesson.show");
  compare();
  EXPECT_EQ(places.size(), 3U);
}

TEST(LessonScreen, GivesBackTheTabsThatItChanged) {
  ScreenSession session;
  ViewState& view = session.app().view;
  ASSERT_EQ(view.timeline_tab, TimelineTab::operations);
  ASSERT_EQ(view.ledger_scope, LedgerScope::so_far);
  view.explain_tab = ExplainTab::cuda_source;
  session.app().lesson_player.open(ATTNSCOPE_LESSON_FILE, 1);
  session.settle();
  EXPECT_EQ(view.timeline_tab, TimelineTab::sms);
  EXPECT_EQ(view.ledger_scope, LedgerScope::whole_pass);
  session.app().lesson_player.act(Action::show_me);
  session.settle();
  session.app().lesson_player.act(Action::leave);
  session.settle();
  EXPECT_FALSE(session.app().lesson_player.is_open());
  EXPECT_EQ(view.timeline_tab, TimelineTab::operations);
  EXPECT_EQ(view.ledger_scope, LedgerScope::so_far);
  EXPECT_EQ(view.explain_tab, ExplainTab::cuda_source);
}

TEST(LessonReveal, TheNumberCountsUp) {
  ScreenSession session;
  open(session, ATTNSCOPE_LESSON_FILE, 2);
  const LessonPlayer& player = session.app().lesson_player;
  reveal(session, Action::show_me);
  const lessons::Question& question = *player.current().ask;
  const double truth = std::get<double>(*player.outcome()->truth);
  const auto text = [&](const std::string& label, double number) {
    return label + lessons::answer_text(question, lessons::Answer(number)) + " (modelled)";
  };
  ASSERT_GT(truth, 100.0);
  EXPECT_EQ(words_of(session, "lesson.truth"), text("counting: ", 0.0));
  EXPECT_TRUE(session.busy());
  session.run(kReveal_s * 0.5);
  EXPECT_EQ(words_of(session, "lesson.truth"), text("counting: ", std::round(truth * 0.5)));
  EXPECT_TRUE(session.busy());
  session.run(kReveal_s * 0.5 + 0.01);
  EXPECT_EQ(words_of(session, "lesson.truth"), text("Answer: ", truth));
}

/// Whether a point of the computed curve is at this value of the n-th column of the plot.
bool has_point(const ScreenSession& session, std::size_t n, std::size_t count, double position) {
  const auto plot = session.rects().find("lesson.curve");
  if (!plot) return false;
  const float x =
      plot->min.x + plot->width() * (static_cast<float>(n) + 0.5f) / static_cast<float>(count);
  const float y = plot->max.y - plot->height() * static_cast<float>(position);
  return session.color_at({x, y}) == theme(ThemeName::dark).good;
}

TEST(LessonReveal, TheDrawnCurveMeetsTheComputedOne) {
  ScreenSession session;
  ASSERT_EQ(session.app().view.theme, ThemeName::dark);
  open(session, ATTNSCOPE_LESSON_FILE, 5);
  LessonPlayer& player = session.app().lesson_player;
  const CurveAxis scale = *player.prepared()->axis;
  const draw::Axis axis{"", scale.logarithmic, scale.low, scale.high};
  const std::vector<double> drawn(4, axis.value(0.9));
  test::enter(player, lessons::Answer(drawn));
  reveal(session, Action::check);
  const auto truth = std::get<std::vector<double>>(*player.outcome()->truth);
  ASSERT_EQ(truth.size(), 4U);
  const auto expect_share = [&](double share) {
    session.frame();
    for (std::size_t n = 0; n < truth.size(); ++n) {
      const double own = 0.9;
      const double right = axis.position(truth[n]);
      ASSERT_GT(own - right, 0.1);
      for (const double other : {0.0, 0.5, 1.0}) {
        EXPECT_EQ(has_point(session, n, truth.size(), own + (right - own) * other), other == share)
            << "point " << n << ", share " << share << ", at " << other;
      }
    }
  };
  expect_share(0.0);
  session.run(kReveal_s * 0.5);
  expect_share(0.5);
  EXPECT_FALSE(session.rects().find("lesson.curve.value.0"));
  session.run(kReveal_s * 0.5 + 0.01);
  expect_share(1.0);
  EXPECT_TRUE(session.rects().find("lesson.curve.value.0"));
}

/// The values of `place` while the clocks run: at every 20th of a second, for four seconds.
template <typename Place>
std::vector<Index> places_while(ScreenSession& session, Place place) {
  std::vector<Index> places{place()};
  for (int frame = 0; frame < 80; ++frame) {
    session.run(0.05);
    places.push_back(place());
  }
  return places;
}

/// Expects a move in more than one step, which takes some time, followed by rest.
void expect_glide(const std::vector<Index>& places, Index from, Index to) {
  ASSERT_GT(to, from + 1);
  EXPECT_EQ(places.front(), from);
  EXPECT_EQ(places.back(), to);
  EXPECT_TRUE(std::ranges::is_sorted(places));
  const auto arrived = std::ranges::find(places, to) - places.begin();
  EXPECT_GE(arrived, 8) << "before 0.4 s";
  EXPECT_LE(arrived, 62) << "after 3 s";
  const Index halfway = places[static_cast<std::size_t>(arrived / 2)];
  const auto middle = static_cast<double>(from + to) * 0.5;
  EXPECT_NEAR(static_cast<double>(halfway), middle, 0.15 * static_cast<double>(to - from) + 1.0);
}

TEST(LessonReveal, ThePlayheadGlidesToThePlaceOfTheStep) {
  ScreenSession session;
  open(session, ATTNSCOPE_LESSON_FILE, 2);
  const App& app = session.app();
  const Index from = app.view.step;
  reveal(session, Action::show_me);
  const auto places = places_while(session, [&] { return app.view.step; });
  expect_glide(places, from, *app.lesson_player.outcome()->step);
}

TEST(LessonReveal, TwoRunsOfTheSameOperationsGlideFromOneToTheNext) {
  ScreenSession session;
  open(session, "forgetting-alpha", 2);
  const App& app = session.app();
  ASSERT_TRUE(app.view.race);
  const Index from = app.view.step;
  reveal(session, Action::show_me);
  const Index to = *app.lesson_player.outcome()->step;
  expect_glide(places_while(session, [&] { return app.view.step; }), from, to);
  session.settle();
  EXPECT_EQ(app.snapshot()->step, to);
  EXPECT_EQ(app.rival_snapshot()->step, to);
}

TEST(LessonReveal, TwoOtherRunsGlideByTheirCommonClock) {
  const std::string file = testing::TempDir() + "attnscope-two-runs.json";
  std::ofstream(file) << R"json({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64, "head-dim": 16, "block-rows": 16,
                           "block-cols": 16}},
             "b": {"from": "a", "set": {"algorithm": "standard"}}},
    "steps": [{"say": "x", "show": {"run": "a", "beside": "b", "panels": ["scores"],
                                    "step": "visit(a, 12)"},
               "ask": {"number": "y", "answer": "a.schedule.Tr"}}]})json";
  ScreenSession session;
  open(session, file, 1);
  const App& app = session.app();
  ASSERT_TRUE(app.view.race && app.course());
  const Index from = app.view.race_tick;
  reveal(session, Action::show_me);
  const Index to = app.course()->tick_of(RaceCourse::chosen, *app.lesson_player.outcome()->step);
  expect_glide(places_while(session, [&] { return app.view.race_tick; }), from, to);
  session.settle();
  EXPECT_EQ(app.snapshot()->step, app.course()->step_of(RaceCourse::chosen, to));
  EXPECT_EQ(app.rival_snapshot()->step, app.course()->step_of(RaceCourse::rival, to));
}

TEST(LessonReveal, TheMistakeBehindTheAnswerIsExplained) {
  ScreenSession session;
  open(session, ATTNSCOPE_LESSON_FILE, 4);
  LessonPlayer& player = session.app().lesson_player;
  EXPECT_FALSE(session.rects().find("lesson.why"));
  test::enter(player, lessons::Answer(lessons::TilePlace{1, 0}));
  session.click("lesson.check");
  EXPECT_THAT(words_of(session, "lesson.verdict"), HasSubstr("common mistake"));
  EXPECT_EQ(words_of(session, "lesson.why"), "That is the order of FlashAttention-1.");
}

TEST(LessonReveal, TheWhyOfAChosenOptionIsThatOfTheOption) {
  ScreenSession session;
  open(session, ATTNSCOPE_LESSON_FILE, 3);
  session.click("lesson.option.a");
  EXPECT_THAT(words_of(session, "lesson.why"), HasSubstr("Its outer loop is over"));
}

TEST(LessonReveal, AWrongAnswerWithoutAKnownMistakeHasNoWhy) {
  ScreenSession session;
  open(session, ATTNSCOPE_LESSON_FILE, 4);
  test::enter(session.app().lesson_player, lessons::Answer(lessons::TilePlace{3, 3}));
  session.click("lesson.check");
  EXPECT_EQ(words_of(session, "lesson.verdict"), "Wrong.");
  EXPECT_FALSE(session.rects().find("lesson.why"));
}

TEST(LessonReveal, TheAnswerSaysWhetherItWasRecorded) {
  ScreenSession session;
  open(session, "where-did-the-rest-go", 3);
  ASSERT_TRUE(session.app().lesson_player.current().ask);
  session.click("lesson.show");
  EXPECT_THAT(words_of(session, "lesson.truth"), HasSubstr("MB (recorded)"));
}

TEST(LessonReveal, TheAnswerSaysWhetherTheGpuAtHandMeasuredIt) {
  ScreenSession session;
  open(session, "where-did-the-rest-go", 3);
  LessonPlayer& player = session.app().lesson_player;
  Recording run = lessons::measured_run(player.prepared()->run, 0.25);
  run.rows[0].measurement->counters[std::string(counter::kDramReadBytes)] = 345e6;
  player.add_measured(std::move(run));
  session.click("lesson.show");
  EXPECT_EQ(words_of(session, "lesson.truth"), "Answer: 345 MB (measured)");
}

}  // namespace
}  // namespace attnscope::app
