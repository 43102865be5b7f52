/// Lays out every scene with every tab of its panels, every panel alone and every chart at three
/// sizes, in three themes, and the quiz at two sizes: no text is cut off, shortened, covered,
/// crossed by a line, or overlaps another.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>

#include "app/scene/choice_rules.h"
#include "tests/app/screen/frame_reader.h"
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

/// Checks the screen in every theme. If only colours change with the theme, the text keeps its
/// place and is checked once.
void check_themes(ScreenSession& session, const std::string& where, float least) {
  std::optional<std::uint64_t> checked;
  for (const ThemeName theme : kThemes) {
    session.app().view.theme = theme;
    if (checked) {
      session.frame();
    } else {
      session.settle();
    }
    const std::uint64_t signature = frame_signature();
    if (checked == signature) continue;
    check_texts(session, fmt::format("{} {}", where, to_string(theme)), {least});
    checked = signature;
  }
}

template <typename Enum>
Enum nth(std::size_t n) {
  return static_cast<Enum>(n % enum_names(Enum{}).size());
}

/// Selects a tab in every slot. Five rounds show each tab of each slot; slots do not depend on each
/// other.
void show_tabs(ViewState& view, std::size_t round) {
  view.memory_tab = nth<app::MemoryTab>(round);
  view.softmax_tab = nth<app::SoftmaxTab>(round);
  view.scores_tab = nth<app::ScoresTab>(round);
  view.timeline_tab = nth<app::TimelineTab>(round);
  view.explain_tab = nth<app::ExplainTab>(round);
  view.ledger_scope = nth<app::LedgerScope>(round);
  constexpr app::ChartAxis kSwept[] = {app::ChartAxis::seq_len, app::ChartAxis::heads,
                                       app::ChartAxis::head_dim, app::ChartAxis::block_size,
                                       app::ChartAxis::density};
  view.chart = app::ChartQuantity::bytes;
  view.chart_over = kSwept[round % std::size(kSwept)];
  view.enlarged.reset();
}

/// Checks a scene at every size, in every theme, with small and large text.
class SizesLayout : public testing::Test {
 protected:
  explicit SizesLayout(const std::string& scene = "default") : session_(scene) {}

  void check_sizes(const std::string& where, bool also_large_text) {
    for (const auto& [width, height] : kSizes) {
      session_.resize(width, height);
      for (const bool presenter : {false, true}) {
        if (presenter && !also_large_text) continue;
        session_.app().view.presenter = presenter;
        check_themes(session_,
                     fmt::format("{} {}x{}{}", where, width, height, presenter ? " presenter" : ""),
                     presenter ? 18.0f : 8.0f);
      }
    }
    session_.app().view.presenter = false;
  }

  ScreenSession session_;
};

class TextLayout : public SizesLayout, public testing::WithParamInterface<std::string> {
 protected:
  TextLayout() : SizesLayout(GetParam()) {}
};

TEST_P(TextLayout, NoTextIsCutOrOverlapsAnother) {
  app::App& app = session_.app();
  const Index last =
      app.course() != nullptr ? app.course()->last_tick() : app.snapshot()->run->step_count - 1;
  constexpr double kShares[] = {0.0, 0.02, 0.2, 0.37, 0.81, 1.0};
  for (std::size_t round = 0; round < std::size(kShares); ++round) {
    const auto at = static_cast<Index>(kShares[round] * static_cast<double>(last));
    app.commands.push(app.course() != nullptr ? app::Command(app::SeekTick{at})
                                              : app::Command(app::SeekTo{at}));
    if (round > 0) show_tabs(app.view, round);  // the first round uses the scene's tabs
    check_sizes(fmt::format("{} step {} tabs {}", GetParam(), at, round), true);
  }
  if (app.course() != nullptr) return;  // a race cannot enlarge panels

  for (std::size_t slot = 0; slot < enum_names(app::Slot{}).size(); ++slot) {
    show_tabs(app.view, slot);
    app.view.enlarged = nth<app::Slot>(slot);
    check_sizes(fmt::format("{} {} alone", GetParam(), to_string(*app.view.enlarged)), false);
  }
}

class WideHeads : public SizesLayout {};

TEST_F(WideHeads, NoCaptionOverlapsAnother) {
  app::App& app = session_.app();
  for (const char* const pass : {"forward", "backward"}) {
    RunSpec choice = app::change_field(app.view.choice, "head_dim", "256").value();
    choice = app::change_field(choice, "pass", pass).value();
    app.commands.push(app::Choose{choice});
    session_.settle();
    ASSERT_EQ(app.snapshot()->run->problem().d, 256) << pass;
    app.commands.push(app::SeekTo{app.snapshot()->run->step_count / 3});
    check_sizes(fmt::format("d = 256 {}", pass), true);
  }
}

class ChartLayout : public SizesLayout, public testing::WithParamInterface<app::ChartAxis> {};

TEST_P(ChartLayout, NoTextIsCutOrOverlapsAnother) {
  ViewState& view = session_.app().view;
  view.chart_over = GetParam();
  for (const app::ChartQuantity quantity : app::quantities_over(GetParam())) {
    view.chart = quantity;
    for (const bool is_alone : {false, true}) {
      view.enlarged = is_alone ? std::optional(app::Slot::charts) : std::nullopt;
      check_sizes(name_of(shown_chart(view)) + (is_alone ? " alone" : ""), false);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Axes, ChartLayout, testing::ValuesIn(app::chart_axes()),
                         [](const testing::TestParamInfo<app::ChartAxis>& of) {
                           return std::string(to_string(of.param));
                         });

/// The parameter as part of the name of a test.
std::string test_name(const testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Scenes, TextLayout, testing::ValuesIn(scenes()), test_name);

TEST(QuizLayout, NoTextIsCutOrOverlapsAnother) {
  ScreenSession session;
  app::App& app = session.app();
  app.start_quiz(7);
  session.settle();
  ASSERT_NE(app.quiz.question(), nullptr);
  check_card_texts(session, "quiz asked");
  app.quiz.answer(std::nullopt);
  session.settle();
  check_card_texts(session, "quiz shown");
}

}  // namespace
}  // namespace attnscope::test
