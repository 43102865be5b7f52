/// Lays out every scene at three sizes, in three themes: no text is cut, covered, crossed by a line
/// or overlaps another.
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

INSTANTIATE_TEST_SUITE_P(Scenes, TextLayout, testing::ValuesIn(scenes()), [](const auto& scene) {
  std::string name = scene.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace attnscope::test
