/// The cost of drawing an SM's lane depends on its pixels, not on how many blocks it has.
#include "app/panels/timeline/sm_lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app {
namespace {

const Rect kBar{{10.0f, 20.0f}, {810.0f, 52.0f}};
constexpr int kWidth = 800;
constexpr Index kSlots = 2;
constexpr Index kBlockPs = 1000;

/// A run with `count` blocks in each slot of SM 0, one after another, with waiting at both ends;
/// in the second slot, every second block is left out.
SmRun run_of_blocks(Index count) {
  SmRun run{.end_ps = count * kBlockPs, .slots = kSlots};
  for (Index block = 0; block < count; ++block) {
    for (Index slot = 0; slot < kSlots; ++slot) {
      if (slot == 1 && block % 2 == 1) continue;
      const Index begin = block * kBlockPs;
      run.blocks.push_back({.sm = 0,
                            .slot = slot,
                            .head = slot,
                            .block = block,
                            .begin_ps = begin,
                            .end_ps = begin + kBlockPs,
                            .first_step_ps = begin + kBlockPs / 4,
                            .last_step_end_ps = begin + kBlockPs * 7 / 8});
    }
  }
  run.sort();
  return run;
}

class SmLaneTest : public testing::Test {
 protected:
  /// Draws the lane; returns how often each pixel of each row of the bar is filled.
  std::vector<std::vector<int>> fills(const SmRun& run, const SmHighlight& highlight,
                                      const draw::ZoomedAxis& shown = {}) {
    std::vector<std::vector<int>> filled(32, std::vector<int>(kWidth, 0));
    imgui_.frame({{0.0f, 0.0f}, {900.0f, 100.0f}}, [&] {
      ImDrawList* list = ImGui::GetWindowDrawList();
      const int first = list->VtxBuffer.Size;
      draw_sm_lane({list, theme(ThemeName::dark), imgui_.fonts()}, {kBar, run.end_ps, shown}, run,
                   0, kBar, highlight);
      rectangles_ = (list->VtxBuffer.Size - first) / 4;
      for (int k = first; k + 3 < list->VtxBuffer.Size; k += 4) {
        const ImVec2 low = list->VtxBuffer[k].pos;
        const ImVec2 high = list->VtxBuffer[k + 2].pos;
        EXPECT_EQ(low.x, std::round(low.x));
        EXPECT_EQ(low.y, std::round(low.y));
        EXPECT_GE(low.x, kBar.min.x);
        EXPECT_LE(high.x, kBar.max.x);
        for (auto y = static_cast<int>(low.y); y < static_cast<int>(high.y); ++y) {
          for (auto x = static_cast<int>(low.x); x < static_cast<int>(high.x); ++x) {
            ++filled.at(static_cast<std::size_t>(y - 20)).at(static_cast<std::size_t>(x - 10));
          }
        }
      }
    });
    return filled;
  }

  ImU32 color_at(float x, float y) const { return imgui_.color_at({x, y}); }

  test::HeadlessImGui imgui_{900.0f, 100.0f};
  int rectangles_ = 0;
};

TEST_F(SmLaneTest, FillsEveryPixelAtMostOnceAndLeavesOnlyGaps) {
  constexpr Index kBlocks = 8;  // each is 100 pixels wide
  const SmRun run = run_of_blocks(kBlocks);
  const auto filled = fills(run, {});
  int gaps = 0;
  for (const auto& row : filled) {
    for (const int count : row) {
      EXPECT_LE(count, 1);
      gaps += count == 0 ? 1 : 0;
    }
  }
  // One column of pixels after each block, and one row of pixels below the first slot
  EXPECT_EQ(gaps, kWidth + 8 * 15 + 4 * 16);

  // Waiting, steps, waiting; in the second slot, the block and then nothing
  EXPECT_NE(color_at(20.0f, 25.0f), color_at(60.0f, 25.0f));
  EXPECT_EQ(color_at(20.0f, 25.0f), color_at(104.0f, 25.0f));
  EXPECT_EQ(color_at(60.0f, 25.0f), color_at(60.0f, 45.0f));
  EXPECT_NE(color_at(160.0f, 25.0f), color_at(160.0f, 45.0f));
}

TEST_F(SmLaneTest, TakesNoMoreRectanglesForManyBlocksThanForThoseThatCanBeTold) {
  for (const Index blocks : {2048, 100'000}) {
    const SmRun run = run_of_blocks(blocks);
    for (const auto& row : fills(run, {})) {
      EXPECT_LE(std::ranges::max(row), 1) << blocks;
    }
    // The first slot is one rectangle, the second at most one for each pixel
    EXPECT_LE(rectangles_, 1 + kWidth) << blocks;
    EXPECT_GE(rectangles_, 2) << blocks;
  }
}

TEST_F(SmLaneTest, DrawsOnlyTheVisibleTime) {
  const SmRun run = run_of_blocks(2048);
  const double of_block = 1.0 / 2048.0;
  fills(run, {}, {of_block, 2.0 * of_block});  // shows the second block alone
  EXPECT_LE(rectangles_, 2 * 4);
  EXPECT_NE(color_at(20.0f, 25.0f), color_at(400.0f, 25.0f));
}

TEST_F(SmLaneTest, OutlinesTheHighlightedBlockAndDimsTheOthers) {
  const SmRun run = run_of_blocks(8);
  fills(run, {});
  const ImU32 plain = color_at(260.0f, 25.0f);
  imgui_.frame({{0.0f, 0.0f}, {900.0f, 100.0f}}, [&] {
    draw_sm_lane({ImGui::GetWindowDrawList(), theme(ThemeName::dark), imgui_.fonts()},
                 {kBar, run.end_ps}, run, 0, kBar, {BlockId{0, 0, 2}});
  });
  EXPECT_EQ(color_at(260.0f, 25.0f), plain);
  EXPECT_NE(color_at(460.0f, 25.0f), plain);
  EXPECT_NE(color_at(460.0f, 25.0f), 0u);
}

/// Steps, waiting and idle SMs are told apart by their brightness in every theme.
TEST(SmColors, DifferInBrightness) {
  constexpr double kLeast = 1.7;
  for (const ThemeName name : {ThemeName::dark, ThemeName::light, ThemeName::contrast}) {
    for (const bool dimmed : {false, true}) {
      const SmColors colors = sm_colors(theme(name), dimmed);
      EXPECT_GT(contrast_ratio(colors.steps, colors.waiting), kLeast) << to_string(name);
      EXPECT_GT(contrast_ratio(colors.waiting, colors.idle), kLeast) << to_string(name);
    }
  }
}

TEST_F(SmLaneTest, DrawsTheStepsOfARecordedBlockInTheirTensorsColours) {
  SmRun run{.end_ps = 800};
  run.blocks.push_back({.end_ps = 800,
                        .steps = {{"load K_j", Tensor::K, false, 0, 0, 0, 200},
                                  {"wait", Tensor::O, true, 0, 0, 200, 400},
                                  {"S = Q_i K_j^T", Tensor::S, false, 0, 1, 400, 800}}});
  run.sort();
  fills(run, {});
  const ImU32 load = color_at(110.0f, 30.0f);
  const ImU32 scores = color_at(610.0f, 30.0f);
  const ImU32 waiting = color_at(310.0f, 30.0f);
  EXPECT_NE(load, scores);
  EXPECT_NE(waiting, load);
  EXPECT_NE(waiting, scores);
  EXPECT_EQ(rectangles_, 3);
}

}  // namespace
}  // namespace attnscope::app
