/// The L2 box of the memory panel: what it says of the operation under the playhead.

#include "app/panels/memory/l2_box.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/panels/panels.h"
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
      const L2View view = view_l2(info).value();
      EXPECT_TRUE(view.rates);
      Index from_dram = 0;
      for (Index step = 0; step < info.step_count; ++step) {
        const Snapshot snapshot = run->at(step, 0, 0);
        const auto answer = answer_at(info, view.answers, step);
        ASSERT_EQ(answer.has_value(), snapshot.op.moves_bytes()) << step;
        if (!answer) continue;
        from_dram += answer->dram_bytes;
        const std::string words = answer_words(*answer, snapshot.op, info.gpu);
        const bool missed = words.find("from HBM") != std::string::npos;
        EXPECT_EQ(missed, answer->dram_bytes > 0) << words;
      }
      EXPECT_GT(from_dram, 0);
      EXPECT_FALSE(answer_at(info, view.answers, -1));
      EXPECT_FALSE(answer_at(info, view.answers, info.step_count));
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
  EXPECT_EQ(answer_words({}, load, gpu), "load Q: in a piece that a neighbouring tile moves");
}

TEST(L2Box, IsBetweenTheSmAndHbmWithItsAnswerAndBandwidths) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.01);
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
              30);
  }
}

}  // namespace
}  // namespace attnscope::app
