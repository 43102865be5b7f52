/// The box of HBM: every tensor and its labels inside, all to one scale.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/panels/memory_panel.h"
#include "app/panels/snapshot_view.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::HeadlessImGui;
using test::kEverySlot;
using test::SampleRequest;
using test::Surroundings;

/// Sizes at which labels, or tensors, once left the box.
std::vector<SampleRequest> requests_of_large_tensors() {
  SampleRequest flash2 = test::huge_request();
  SampleRequest flash1 = test::huge_request();
  flash1.algorithm = "flash1";
  flash1.problem.d = 128;
  SampleRequest decoding = test::huge_request();
  decoding.algorithm = "split_kv";
  decoding.problem.N = 1;
  decoding.problem.N_kv = 131072;
  decoding.problem.heads = 32;
  decoding.problem.kv_heads = 8;
  decoding.problem.d = 128;
  decoding.tiling = {16, 128};
  SampleRequest middle = test::huge_request();
  middle.problem.N = middle.problem.N_kv = 1024;
  SampleRequest backward = middle;
  backward.pass = PassKind::backward;
  SampleRequest backward1 = backward;
  backward1.algorithm = "flash1";
  return {flash2, flash1, decoding, middle, backward, backward1};
}

void check_hbm(const Snapshot& snapshot, ImVec2 size) {
  const Scales scales = scales_for(size.x, size.y, 1.0f, false);
  const Rect place =
      layout_screen(size.x, size.y, scales, kEverySlot, false).panels.at(Slot::memory);
  HeadlessImGui imgui(size.x, size.y, scales.layout, scales.font);
  Surroundings around;
  MemoryPanel panel;
  draw_panel(imgui, panel, snapshot, place, scales, false, around);
  EXPECT_EQ(imgui.letters_outside(place), 0);
  EXPECT_EQ(imgui.letters_on_letters(), 0);

  const std::optional<Rect> hbm = around.rects.find("memory.hbm");
  ASSERT_TRUE(hbm);
  for (const HbmTensorState& tensor : snapshot.hbm) {
    const std::string name(display_name(tensor.tensor));
    SCOPED_TRACE(name);
    const std::optional<Rect> cell = around.rects.find("memory.cell." + name);
    const std::optional<Rect> box = around.rects.find("memory.tensor." + name);
    ASSERT_TRUE(cell && box);
    EXPECT_GE(cell->min.x, hbm->min.x);
    EXPECT_GE(cell->min.y, hbm->min.y);
    EXPECT_LE(cell->max.x, hbm->max.x);
    EXPECT_LE(cell->max.y, hbm->max.y);
    EXPECT_LE(imgui.fonts().small.measure(name).x, cell->width() + 1.0f);

    // The same size has the same box, and more columns a wider one
    for (const HbmTensorState& other : snapshot.hbm) {
      const auto other_box =
          around.rects.find(fmt::format("memory.tensor.{}", display_name(other.tensor)));
      ASSERT_TRUE(other_box);
      const Index cols = tensor.shape.cols;
      if (other.shape.cols == cols) {
        EXPECT_NEAR(other_box->width(), box->width(), 0.1f) << display_name(other.tensor);
      }
      if (other.shape.cols >= 16 * cols && other.shape.cols >= 1024) {
        EXPECT_GT(other_box->width(), 2.0f * box->width()) << display_name(other.tensor);
      }
    }
  }
}

TEST(MemoryPanel, KeepsTensorsOfEverySizeInTheBoxAndToOneScale) {
  for (const SampleRequest& request : requests_of_large_tensors()) {
    const auto run = test::sample_run(request);
    const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
    for (const ImVec2 size : {ImVec2{960, 540}, ImVec2{1280, 720}, ImVec2{1600, 900},
                              ImVec2{1920, 1080}, ImVec2{3840, 2160}}) {
      SCOPED_TRACE(fmt::format(
          "{}, {} x {}, {} at {}", request.algorithm, request.problem.N, request.problem.N_kv,
          request.pass == PassKind::backward ? "backward" : "forward", size.x));
      check_hbm(snapshot, size);
    }
  }
}

}  // namespace
}  // namespace attnscope::app
