/// The L2 box of the memory panel: its text about the operation under the playhead, and the
/// bandwidths on both sides of L2.

#include "app/panels/memory/l2_box.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/draw/format.h"
#include "app/panels/memory/bandwidth.h"
#include "app/panels/panels.h"
#include "sim/device/calibration.h"
#include "sim/device/gpu_description.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::HeadlessImGui;
using test::kEverySlot;
using test::Surroundings;

TEST(L2Box, HasAnAnswerToEveryOperationThatMovesBytes) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      SCOPED_TRACE(std::string(algorithm) + " " + std::string(to_string(pass)));
      test::SampleRequest request(algorithm);
      request.pass = pass;
      const auto run = test::sample_run(request);
      const RunInfo& info = *run->info();
      const L2Answers answers = view_l2(info).answers.value();
      Index from_dram = 0;
      for (Index step = 0; step < info.step_count; ++step) {
        const Snapshot snapshot = run->at(step, 0, 0);
        const auto answer = answer_at(info, answers, step);
        ASSERT_EQ(answer.has_value(), snapshot.op.moves_bytes()) << step;
        if (!answer) continue;
        from_dram += answer->dram_bytes;
        const std::string words = answer_words(*answer, snapshot.op, info.gpu);
        const bool missed = words.find("from HBM") != std::string::npos;
        EXPECT_EQ(missed, answer->dram_bytes > 0) << words;
      }
      EXPECT_GT(from_dram, 0);
      EXPECT_FALSE(answer_at(info, answers, -1));
      EXPECT_FALSE(answer_at(info, answers, info.step_count));
    }
  }
}

TEST(L2Box, SaysWhichSharesHitAndMiss) {
  const auto run = test::sample_run({});
  Index step = 0;
  while (run->at(step, 0, 0).op.kind != OpKind::load) ++step;
  const TileOp load = run->at(step, 0, 0).op;
  const GpuDescription& gpu = run->info()->gpu;
  EXPECT_EQ(answer_words({.hit_bytes = 512}, load, gpu), "load Q: hit");
  EXPECT_EQ(answer_words({.dram_bytes = 512}, load, gpu), "load Q: miss, from HBM");
  EXPECT_EQ(answer_words({.hit_bytes = 128, .other_bytes = 384}, load, gpu),
            "load Q: hit 25 %, miss, in the other partition 75 %");
  EXPECT_EQ(answer_words({}, load, gpu), "load Q: counted with a neighbouring tile");
}

TEST(L2Box, IsBetweenTheSmAndHbmWithItsAnswer) {
  const auto run = test::sample_run({});
  Index step = 0;
  while (!run->at(step, 0, 0).op.moves_bytes()) ++step;
  const Snapshot snapshot = run->at(step, 0, 0);
  for (const auto& [width, height] : {std::pair{1600.0f, 900.0f}, {1280.0f, 720.0f}}) {
    const Scales scales = scales_for(width, height, 1.0f, false);
    const Rect place =
        layout_screen(width, height, scales, kEverySlot, false).panels.at(Slot::memory);
    HeadlessImGui imgui(width, height, scales.layout, scales.font);
    Surroundings around;
    const auto panel = make_memory_panel();
    draw_panel(imgui, panel, snapshot, place, scales, false, around);
    EXPECT_EQ(imgui.letters_outside(place), 0);
    const auto l2 = around.rects.find("memory.l2");
    ASSERT_TRUE(l2) << width;
    EXPECT_GT(l2->min.y, around.rects.find("memory.sram")->max.y);
    EXPECT_LT(l2->max.y, around.rects.find("memory.hbm")->min.y);
    const auto letters = imgui.letters();
    EXPECT_GT(std::ranges::count_if(
                  letters, [&](const Rect& letter) { return l2->contains(letter.center()); }),
              15);
  }
}

TEST(L2Box, IsBetweenTheSmAndHbmInPresenterModeToo) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  const Scales scales = scales_for(1280.0f, 720.0f, 1.0f, true);
  const Rect place =
      layout_screen(1280.0f, 720.0f, scales, kEverySlot, true).panels.at(Slot::memory);
  HeadlessImGui imgui(1280.0f, 720.0f, scales.layout, scales.font);
  Surroundings around;
  const auto panel = make_memory_panel();
  draw_panel(imgui, panel, snapshot, place, scales, true, around);
  const auto l2 = around.rects.find("memory.l2");
  ASSERT_TRUE(l2);
  EXPECT_GT(l2->min.y, around.rects.find("memory.sram")->max.y);
  EXPECT_LT(l2->max.y, around.rects.find("memory.hbm")->min.y);
}

TEST(Bandwidth, IsMeasuredOnACalibratedGpuAndSaysHow) {
  const auto calibration = load_calibration("h200").value();
  const Bandwidths both = bandwidths_of(load_gpu("h200").value());
  EXPECT_EQ(both.of_l2.bytes_per_s, calibration->find("l2_read_bytes_per_s")->value);
  EXPECT_EQ(both.of_dram.bytes_per_s, calibration->find("dram_read_bytes_per_s")->value);
  const std::string dram = draw::format_bandwidth(*both.of_dram.bytes_per_s);
  EXPECT_EQ(both.of_dram.wordings().front(), "HBM to L2 " + dram + ", measured");
  EXPECT_EQ(both.of_dram.wordings().back(), dram + ", measured");
  for (const char* part : {"reads of all SMs", "measured on NVIDIA H200, 20", "datasheet"}) {
    EXPECT_NE(both.of_dram.about().find(part), std::string::npos) << both.of_dram.about();
  }
}

TEST(Bandwidth, FollowsTheSlidersOfAWhatIf) {
  const GpuDescription own = load_gpu("h200").value();
  const Bandwidths before = bandwidths_of(own);
  const Bandwidths twice =
      bandwidths_of(with_what_if(own, {.dram_rate = 2.0, .l2_rate = 0.5}, "given"));
  EXPECT_DOUBLE_EQ(*twice.of_dram.bytes_per_s, 2.0 * *before.of_dram.bytes_per_s);
  EXPECT_DOUBLE_EQ(*twice.of_l2.bytes_per_s, 0.5 * *before.of_l2.bytes_per_s);
  EXPECT_EQ(twice.of_dram.kind, "what if");
  EXPECT_EQ(twice.of_l2.kind, "what if");
  EXPECT_TRUE(twice.of_l2.basis.starts_with("what if: 0.5 times")) << twice.of_l2.basis;

  // Another slider does not change the measured bandwidths
  const Bandwidths fewer = bandwidths_of(with_what_if(own, {.sm_count = 66}, "given"));
  EXPECT_EQ(fewer.of_dram.kind, "measured");
  EXPECT_EQ(fewer.of_l2.kind, "measured");
}

TEST(Bandwidth, IsTheDatasheetsOfAGpuWithoutACalibration) {
  const GpuDescription t4 = load_gpu("t4").value();
  const Bandwidths both = bandwidths_of(t4);
  EXPECT_EQ(both.of_dram.bytes_per_s, t4.dram_bytes_per_s);
  EXPECT_EQ(both.of_dram.wordings().front(), "GDDR6 to L2 0.32 TB/s, datasheet");
  EXPECT_NE(both.of_dram.about().find("NVIDIA T4 datasheet"), std::string::npos);
  EXPECT_FALSE(both.of_l2.bytes_per_s);
  EXPECT_EQ(both.of_l2.wordings().back(), "not measured");
  EXPECT_EQ(bandwidths_of(with_what_if(t4, {.dram_rate = 2.0}, "given")).of_dram.kind, "what if");
}

/// Draws every third step of a pass: the bandwidths must be in the gaps above and below L2, beside
/// arrows and labels.
void expect_beside_arrows(PassKind pass) {
  constexpr float kWidth = 1600.0f, kHeight = 900.0f;
  const Scales scales = scales_for(kWidth, kHeight, 1.0f, false);
  const Rect place =
      layout_screen(kWidth, kHeight, scales, kEverySlot, false).panels.at(Slot::memory);
  test::SampleRequest request;
  request.pass = pass;
  const auto run = test::sample_run(request);
  HeadlessImGui imgui(kWidth, kHeight, scales.layout, scales.font);
  Surroundings around;
  const auto panel = make_memory_panel();
  int beside = 0;
  for (Index step = 0; step < run->info()->step_count; step += 3) {
    around.rects.clear();
    const Snapshot snapshot = run->at(step, 0, 0);
    draw_panel(imgui, panel, snapshot, place, scales, false, around);
    EXPECT_EQ(imgui.letters_on_letters(), 0) << step;
    const Rect l2 = around.rects.find("memory.l2").value();
    const auto of_l2 = around.rects.find("memory.bandwidth.l2");
    const auto of_dram = around.rects.find("memory.bandwidth.dram");
    ASSERT_TRUE(of_dram) << step;
    EXPECT_GE(of_dram->min.y, l2.max.y);
    EXPECT_LE(of_dram->max.y, around.rects.find("memory.hbm")->min.y);
    if (!of_l2) continue;  // the two labels left no room
    EXPECT_GE(of_l2->min.y, around.rects.find("memory.sram")->max.y);
    EXPECT_LE(of_l2->max.y, l2.min.y);
    for (const char* name :
         {"memory.arrow.last", "memory.arrow.next", "memory.label.last", "memory.label.next"}) {
      const auto taken = around.rects.find(name);
      if (!taken) continue;
      ++beside;
      EXPECT_TRUE(taken->max.x <= of_l2->min.x || taken->min.x >= of_l2->max.x) << name << step;
    }
  }
  EXPECT_GT(beside, 10);
}

TEST(Bandwidth, IsAtTheArrowsAndLeavesThemTheirPlace) {
  expect_beside_arrows(PassKind::forward);
  expect_beside_arrows(PassKind::backward);
}

TEST(Bandwidth, SaysInItsTooltipWhereItIsFrom) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.9);
  const Scales scales = scales_for(1600.0f, 900.0f, 1.0f, false);
  const Rect place =
      layout_screen(1600.0f, 900.0f, scales, kEverySlot, false).panels.at(Slot::memory);
  HeadlessImGui imgui(1600.0f, 900.0f, scales.layout, scales.font);
  Surroundings around;
  const auto panel = make_memory_panel();
  draw_panel(imgui, panel, snapshot, place, scales, false, around);
  const int alone = imgui.vertex_count();
  for (const char* name : {"memory.bandwidth.l2", "memory.bandwidth.dram"}) {
    imgui.set_mouse(around.rects.find(name).value().center());
    draw_panel(imgui, panel, snapshot, place, scales, false, around);
    draw_panel(imgui, panel, snapshot, place, scales, false, around);
    EXPECT_GT(imgui.vertex_count(), alone + 4 * 60) << name;
  }
}

}  // namespace
}  // namespace attnscope::app
