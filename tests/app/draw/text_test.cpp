#include "app/draw/canvas.h"

#include <gtest/gtest.h>

#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app::draw {
namespace {

class Text : public testing::Test {
 protected:
  test::HeadlessImGui imgui_{400, 300};
  const FontRef& font_ = imgui_.fonts().ui;
};

TEST_F(Text, ThatFitsStaysAsItIs) {
  EXPECT_EQ(fitted(font_, "shared memory", 1000.0f), "shared memory");
}

TEST_F(Text, ThatDoesNotFitEndsInAnEllipsisAndFits) {
  const float width = font_.measure("shared me").x;
  const std::string cut = fitted(font_, "shared memory", width);
  EXPECT_TRUE(cut.ends_with("…")) << cut;
  EXPECT_LE(font_.measure(cut).x, width);
  EXPECT_EQ(fitted(font_, "shared memory", 1.0f), "");
}

TEST_F(Text, IsCutBetweenWholeCharacters) {
  for (float width = 1.0f; width < 120.0f; width += 1.0f) {
    const std::string cut = fitted(font_, "S₂₁ × Kᵀ → αβγ", width);
    // A lone continuation byte would be drawn as "?"
    for (std::size_t k = 0; k < cut.size();) {
      const auto lead = static_cast<unsigned char>(cut[k]);
      const std::size_t length = lead < 0x80 ? 1 : (lead < 0xE0 ? 2 : 3);
      ASSERT_LE(k + length, cut.size()) << width;
      k += length;
    }
  }
}

TEST_F(Text, ThatIsNeverCutGivesWayToAShorterWording) {
  const std::string wordings[] = {"query rows, N = 64", "N = 64", "N"};
  EXPECT_EQ(widest_that_fits(font_, wordings, 1000.0f), wordings[0]);
  EXPECT_EQ(widest_that_fits(font_, wordings, font_.measure(wordings[0]).x - 1.0f), wordings[1]);
  EXPECT_EQ(widest_that_fits(font_, wordings, 1.0f), "");
}

TEST_F(Text, WrapsAtSpacesAndLosesNoWord) {
  const std::string text = "O was summed against the old row maximum";
  const auto lines = wrapped(font_, text, 120.0f);
  EXPECT_GT(lines.size(), 1U);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(font_.measure(line).x, 120.0f);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
}

TEST_F(Text, ReadsUpwardsAroundItsCentre) {
  const Rect rect{{0, 0}, {400, 300}};
  imgui_.frame(rect, [&] {
    const Canvas canvas{ImGui::GetWindowDrawList(), theme(ThemeName::dark), imgui_.fonts(), 1.0f};
    vertical_text(canvas, font_, {20.0f, 150.0f}, 0xFFFFFFFF, "i: query rows");
  });
  const auto letters = imgui_.letters();
  ASSERT_EQ(letters.size(), 11U);
  for (const Rect& letter : letters) EXPECT_NEAR(letter.center().x, 20.0f, font_.size);
  EXPECT_GT(letters.front().center().y, letters.back().center().y);
}

}  // namespace
}  // namespace attnscope::app::draw
