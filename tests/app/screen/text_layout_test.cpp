/// Lays out every scene at three sizes, in three themes, and every step of every lesson at two
/// sizes: no text is cut off, covered, crossed by a line, or overlaps another.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

using app::ThemeName;
using app::ViewState;

constexpr std::pair<float, float> kSizes[] = {{1280, 720}, {1600, 900}, {2560, 1440}};
constexpr ThemeName kThemes[] = {ThemeName::dark, ThemeName::light, ThemeName::contrast};

/// The names of the shipped scenes.
std::vector<std::string> scenes() {
  std::vector<std::string> names;
  for (const app::ShippedScene& scene : app::list_shipped_scenes()) names.push_back(scene.name);
  return names;
}

/// Fails for every text of the last frame with a defect, and for one smaller than `least` pixels.
void check_texts(const std::string& where, float least) {
  const std::vector<ScreenText> texts = texts_on_screen();
  EXPECT_GT(texts.size(), 20U) << where;
  for (const ScreenText& text : texts) {
    for (const std::string& wrong : text.wrong) {
      ADD_FAILURE() << where
                    << fmt::format(" at ({:.0f}, {:.0f}): \"{}\" is {}", text.rect.min.x,
                                   text.rect.min.y, text.words, wrong);
    }
    EXPECT_GE(text.size, least - 0.01f) << where << ": " << text.words;
  }
}

class TextLayout : public testing::TestWithParam<std::string> {};

TEST_P(TextLayout, NoTextIsCutOrOverlapsAnother) {
  ScreenSession session(GetParam());
  app::App& app = session.app();
  const Index last =
      app.course() != nullptr ? app.course()->last_tick() : app.snapshot()->run->step_count - 1;
  for (const double share : {0.0, 0.02, 0.37, 0.81, 1.0}) {
    const auto at = static_cast<Index>(share * static_cast<double>(last));
    app.commands.push(app.course() != nullptr ? app::Command(app::SeekTick{at})
                                              : app::Command(app::SeekTo{at}));
    session.settle();
    for (const auto& [width, height] : kSizes) {
      session.resize(width, height);
      for (const bool presenter : {false, true}) {
        app.view.presenter = presenter;
        for (const ThemeName theme : kThemes) {
          app.view.theme = theme;
          session.settle();
          check_texts(fmt::format("{} step {} {}x{} {}{}", GetParam(), at, width, height,
                                  to_string(theme), presenter ? " presenter" : ""),
                      presenter ? 18.0f : 8.0f);
        }
      }
    }
  }
}

/// The parameter as part of the name of a test.
std::string test_name(const testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Scenes, TextLayout, testing::ValuesIn(scenes()), test_name);

/// The names of the shipped lessons.
std::vector<std::string> shipped_lessons() {
  std::vector<std::string> names;
  for (const auto& lesson : lessons::list_shipped_lessons()) names.push_back(lesson.name);
  return names;
}

/// Checks a card beside panels in its current state, at both sizes, with small and large text.
class CardLayout : public testing::Test {
 protected:
  void check_sizes(const std::string& where) {
    for (const auto& [width, height] : {kSizes[0], kSizes[1]}) {
      session_.resize(width, height);
      for (const bool presenter : {false, true}) {
        session_.app().view.presenter = presenter;
        session_.settle();
        check_texts(fmt::format("{} {}x{}{}", where, width, height, presenter ? " presenter" : ""),
                    presenter ? 18.0f : 8.0f);
      }
    }
  }

  ScreenSession session_;
};

class LessonLayout : public CardLayout, public testing::WithParamInterface<std::string> {};

TEST_P(LessonLayout, NoTextIsCutOrOverlapsAnother) {
  app::LessonPlayer& player = session_.app().lesson_player;
  using Action = app::LessonPlayer::Action;
  player.open(GetParam(), 0);
  session_.settle();
  for (bool is_last = false; !is_last;) {
    ASSERT_TRUE(player.is_open());
    const std::string where = fmt::format("{} step {}", GetParam(), player.step() + 1);
    if (player.hides_answer()) {
      check_sizes(where + " asked");
      player.act(Action::show_me);
      session_.settle();
    }
    check_sizes(where + " shown");
    is_last = player.step() + 1 == player.lesson().steps.size();
    player.act(Action::next);
    session_.settle();
  }
}

TEST_F(CardLayout, NoTextOfTheQuizIsCut) {
  app::App& app = session_.app();
  app.start_quiz(7);
  session_.settle();
  ASSERT_NE(app.quiz.question(), nullptr);
  check_sizes("quiz asked");
  app.quiz.answer(std::nullopt);
  session_.settle();
  check_sizes("quiz shown");
}

INSTANTIATE_TEST_SUITE_P(Lessons, LessonLayout, testing::ValuesIn(shipped_lessons()), test_name);

}  // namespace
}  // namespace attnscope::test
