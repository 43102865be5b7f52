#include "app/platform/frame_contents.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app {
namespace {

constexpr int kFrameWidth = 320, kFrameHeight = 240;

/// A frame with one box and one word.
struct Drawn {
  ImVec2 box{20.0f, 30.0f};
  ImU32 color = IM_COL32(200, 90, 10, 255);
  const char* word = "word";
  ImU32 surface = IM_COL32(1, 2, 3, 255);
  ImU32 background = IM_COL32(0, 0, 0, 255);
  int width = kFrameWidth;
};

class FrameContentsTest : public testing::Test {
 protected:
  bool differs(const Drawn& drawn) {
    imgui_.frame({{0.0f, 0.0f}, {kFrameWidth, kFrameHeight}}, [&] {
      ImDrawList& list = *ImGui::GetWindowDrawList();
      list.AddRectFilled(drawn.box, {200.0f, 160.0f}, drawn.color);
      list.AddText({30.0f, 40.0f}, IM_COL32_WHITE, drawn.word);
    });
    const std::vector<Surface> surfaces{{{{0.0f, 0.0f}, {9.0f, 9.0f}}, drawn.surface}};
    return contents_.replace(*ImGui::GetDrawData(), surfaces, drawn.background, drawn.width,
                             kFrameHeight);
  }

  test::HeadlessImGui imgui_{kFrameWidth, kFrameHeight};
  FrameContents contents_;
};

TEST_F(FrameContentsTest, OfEqualFramesDoNotDiffer) {
  EXPECT_TRUE(differs({})) << "from no frame";
  EXPECT_FALSE(differs({}));
  contents_.clear();
  EXPECT_TRUE(differs({})) << "from a forgotten frame";
  EXPECT_FALSE(differs({}));
}

TEST_F(FrameContentsTest, DifferIfShapesTextColoursOrSizeChange) {
  for (const Drawn& changed :
       {Drawn{.box = {20.0f, 30.5f}}, Drawn{.color = IM_COL32(200, 90, 11, 255)},
        Drawn{.word = "ward"}, Drawn{.word = "words"}, Drawn{.surface = IM_COL32(1, 2, 4, 255)},
        Drawn{.background = IM_COL32(0, 1, 0, 255)}, Drawn{.width = kFrameWidth + 1}}) {
    differs({});
    EXPECT_TRUE(differs(changed));
    EXPECT_FALSE(differs(changed));
    EXPECT_TRUE(differs({}));
  }
}

}  // namespace
}  // namespace attnscope::app
