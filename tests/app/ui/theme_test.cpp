#include "app/ui/theme.h"

#include <gtest/gtest.h>

#include <set>

namespace attnscope::app {
namespace {

constexpr ThemeName kThemes[] = {ThemeName::dark, ThemeName::light, ThemeName::contrast};

TEST(Theme, TextCanBeReadOnEverySurface) {
  for (const ThemeName name : kThemes) {
    const Theme& t = theme(name);
    for (const ImU32 surface : {t.background, t.bar, t.card, t.inset, t.field, t.button}) {
      EXPECT_GE(contrast_ratio(t.text, surface), 7.0) << to_string(name);
      EXPECT_GE(contrast_ratio(t.text_dim, surface), 4.5) << to_string(name);
    }
    for (const ImU32 surface : {t.bar, t.card, t.inset}) {
      EXPECT_GE(contrast_ratio(t.text_faint, surface), 4.5) << to_string(name);
      EXPECT_GE(contrast_ratio(t.error, surface), 4.5) << to_string(name);
      EXPECT_GE(contrast_ratio(t.good, surface), 4.5) << to_string(name);
    }
    EXPECT_GE(contrast_ratio(t.text, t.error_surface), 4.5) << to_string(name);
    EXPECT_GE(contrast_ratio(t.text, t.primary), 4.5) << to_string(name);
  }
}

TEST(Theme, ATensorHasOneColourInEveryTheme) {
  for (const char* tensor : {"Q", "K", "V", "S", "O", "m", "l", "alpha"}) {
    EXPECT_EQ(tensor_color(theme(ThemeName::dark), tensor),
              tensor_color(theme(ThemeName::light), tensor));
  }
}

TEST(Theme, TensorsShownSideBySideDiffer) {
  std::set<ImU32> colors;
  for (const char* tensor : {"Q", "K", "V", "S", "P", "O", "m", "l", "alpha", "dS", "dP"}) {
    colors.insert(tensor_color(theme(ThemeName::dark), tensor));
  }
  EXPECT_EQ(colors.size(), 11u);
}

TEST(Theme, LettersInATensorsColourCanBeReadOnACard) {
  for (const ThemeName name : kThemes) {
    for (const char* tensor : {"Q", "K", "V", "S", "P", "O", "m", "l", "LSE", "alpha"}) {
      EXPECT_GE(contrast_ratio(tensor_text_color(theme(name), tensor), theme(name).card), 4.5)
          << to_string(name) << " " << tensor;
      EXPECT_GE(contrast_ratio(theme(name).text_on_tensor, tensor_color(theme(name), tensor)), 4.5)
          << to_string(name) << " " << tensor;
    }
  }
}

TEST(Theme, NamesAreReadBack) {
  for (const ThemeName name : kThemes) EXPECT_EQ(parse_name<ThemeName>(to_string(name)), name);
  EXPECT_FALSE(parse_name<ThemeName>("pink"));
}

}  // namespace
}  // namespace attnscope::app
