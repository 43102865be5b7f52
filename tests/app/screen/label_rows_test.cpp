/// Labels in one line: evenly spaced below the transport bar's slider, separate under the slots of
/// SRAM.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

using app::Rect;

/// The labels of this form within the rectangle, from left to right.
std::vector<ScreenText> texts_like(const std::regex& form, const Rect& within) {
  std::vector<ScreenText> found;
  for (const ScreenText& text : texts_on_screen()) {
    if (within.contains(text.rect.center()) && std::regex_match(text.words, form)) {
      found.push_back(text);
    }
  }
  std::ranges::sort(found, {}, [](const ScreenText& text) { return text.rect.min.x; });
  return found;
}

TEST(LabelRows, OuterLoopsAreLabelledAtEqualDistances) {
  ScreenSession session;
  session.app().lesson_player.open("where-did-the-rest-go", 0);
  for (const auto& [width, height] : {std::pair{1280.0f, 720.0f}, {1600.0f, 900.0f}}) {
    session.resize(width, height);
    session.settle();
    const auto labels =
        texts_like(std::regex(R"(i = \d+)"), *session.rects().find("transport.scrub"));
    ASSERT_GT(labels.size(), 3U);
    const auto loop_of = [](const ScreenText& text) { return std::stoi(text.words.substr(4)); };
    for (std::size_t n = 0; n < labels.size(); ++n) {
      EXPECT_EQ(loop_of(labels[n]), static_cast<int>(n) * loop_of(labels[1])) << width;
    }
  }
}

TEST(LabelRows, SizesOfNarrowSlotsDoNotTouch) {
  ScreenSession session("flash2-warp-groups");
  session.app().commands.push(app::SeekTo{5});
  for (const auto& [width, height] : {std::pair{1280.0f, 720.0f}, {1600.0f, 900.0f}}) {
    session.resize(width, height);
    session.settle();
    Rect sram = *session.rects().find("panel.memory");
    sram.max.y = session.rects().find("memory.hbm")->min.y;
    // "each 16 × 16" is the size of neighbours that have no room for separate labels
    const auto sizes = texts_like(std::regex(R"((each )?\d+ × \d+)"), sram);
    ASSERT_GT(sizes.size(), 1U);
    for (std::size_t n = 1; n < sizes.size(); ++n) {
      EXPECT_GE(sizes[n].rect.min.x - sizes[n - 1].rect.max.x, 4.0f)
          << width << ": " << sizes[n - 1].words << " and " << sizes[n].words;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
