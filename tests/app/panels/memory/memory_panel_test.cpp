/// The memory panel: HBM's box, which contains all tensors at one scale and their labels; the
/// contents of SRAM; arrows that no label covers.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/panels/panels.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/ui/drawn_texts.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::draw_on_projector;
using test::HeadlessImGui;
using test::kEverySlot;
using test::SampleRequest;
using test::Surroundings;

/// Problems so large that labels or tensors could extend beyond the box.
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
  decoding.set_tiling({16, 128});
  decoding.separate_heads = true;
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
  const auto panel = make_memory_panel();
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

    // Tensors of the same size have the same box; one with more columns has a wider box
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

TEST(MemoryPanel, OnAProjectorSaysWhatIsNeverStoredAndHowManyBlocksAddToEachTile) {
  SampleRequest request;
  request.pass = PassKind::backward;
  const auto run = test::sample_run(request);
  for (const ImVec2 size : {ImVec2{1280, 720}, ImVec2{1600, 900}, ImVec2{1920, 1080}}) {
    const Scales scales = scales_for(size.x, size.y, 1.0f, true);
    HeadlessImGui imgui(size.x, size.y, scales.layout, scales.font);
    Surroundings around;
    draw_on_projector(imgui, size, "memory", test::sample_snapshot(*run, 0.5), {}, around);
    for (const char* rect : {"memory.ghost.S", "memory.ghost.P", "memory.adds.0", "memory.adds.1",
                             "memory.adds.2", "memory.adds.3"}) {
      EXPECT_TRUE(around.rects.find(rect)) << rect << " at " << size.x;
    }
  }
}

TEST(MemoryPanel, SaysTheSizeOfEveryTensorAndSlotOnASmallScreen) {
  SampleRequest request;
  request.algorithm = "flash1";
  const auto run = test::sample_run(request);
  const Scales scales = scales_for(1280.0f, 720.0f, 1.0f, false);
  const Rect place =
      layout_screen(1280.0f, 720.0f, scales, kEverySlot, false).panels.at(Slot::memory);
  HeadlessImGui imgui(1280.0f, 720.0f, scales.layout, scales.font);
  Surroundings around;
  const auto panel = make_memory_panel();
  const Snapshot snapshot = test::sample_snapshot(*run, 0.25);
  draw_panel(imgui, panel, snapshot, place, scales, false, around);
  TextRecorder recorder;
  draw_frame(imgui, panel, snapshot, place, scales, false, around);
  const auto counts = [&](std::string_view text) {
    return std::ranges::count_if(recorder.texts(), [&](const DrawnText& drawn) {
      return drawn.text.find(text) != std::string::npos;
    });
  };
  EXPECT_EQ(counts("Q, K, V, O: 64 × 16 · l, m: 64 × 1"), 1);
  EXPECT_EQ(std::ranges::count_if(recorder.texts(),
                                  [](const DrawnText& drawn) {
                                    return drawn.text == "16 × 1" || drawn.text == "each 16 × 1";
                                  }),
            2)
      << "of l and m, and of m~, l~, alpha and beta: neighbours of one size";
  EXPECT_EQ(counts("not loaded yet"), 0) << "false for slots that have been used";
  EXPECT_EQ(counts("dotted: no valid tile"), 1);
  EXPECT_EQ(imgui.letters_on_letters(), 0);
}

TEST(MemoryPanel, OperandsThatAStepUsesLastKeepTheirColour) {
  const Scales scales = scales_for(1280, 720, 1.0f, false);
  const Layout layout = layout_screen(1280, 720, scales, kEverySlot, false);
  HeadlessImGui imgui(1280, 720, scales.layout, scales.font);
  for (const char* algorithm : {"standard", "flash1", "flash2", "split_kv"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    const auto run = test::sample_run(request);
    const auto steps = static_cast<double>(run->info()->step_count);
    int marked = 0;
    const auto panel = make_memory_panel();
    for (int step = -1; step < 60; ++step) {
      const Snapshot snapshot = test::sample_snapshot(*run, (step + 1) / steps);
      Surroundings around;
      test::draw_frame(imgui, panel, snapshot, layout.panels.at(Slot::memory), scales, false,
                       around);
      std::set<std::string> expected;
      for (const Tile& source : snapshot.op.sources()) {
        if (step >= 0 && source.last_use && source.on_chip()) {
          expected.insert(fmt::format("memory.last_used.{}", to_string(source.tensor)));
        }
      }
      std::set<std::string> found;
      for (const auto& [name, rect] : around.rects.all()) {
        if (name.starts_with("memory.last_used.")) found.insert(name);
      }
      EXPECT_EQ(found, expected) << algorithm << ", step " << step;
      marked += static_cast<int>(found.size());
    }
    EXPECT_GT(marked, 5) << algorithm;
  }
}

/// The number of labels in these rectangles that cover an arrow; arcs across the whole row have
/// their labels in the middle.
int covered_arrows(const NamedRects& rects) {
  const float row = rects.find("memory.sram")->width();
  const std::pair<const char*, const char*> pairs[] = {
      {"memory.label.last", "memory.arrow.last"}, {"memory.label.last", "memory.arrow.next"},
      {"memory.label.next", "memory.arrow.last"}, {"memory.label.next", "memory.arrow.next"},
      {"memory.label.next", "memory.label.last"}, {"memory.label.operation", "memory.arcs"}};
  int covered = 0;
  for (const auto& [label, arrow] : pairs) {
    const auto a = rects.find(label);
    const auto b = rects.find(arrow);
    if (!a || !b || b->width() > 0.65f * row) continue;
    if (a->min.x < b->max.x && b->min.x < a->max.x) ++covered;
  }
  return covered;
}

TEST(MemoryPanel, OnAProjectorCoversNoArrowByALabel) {
  const Scales scales = scales_for(1280, 720, 1.0f, true);
  const Layout layout = layout_screen(1280, 720, scales, kEverySlot, true);
  HeadlessImGui imgui(1280, 720, scales.layout, scales.font);
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      SampleRequest request;
      request.algorithm = algorithm;
      request.pass = pass;
      const auto run = test::sample_run(request);
      const Index steps = run->info()->step_count;
      const auto panel = make_memory_panel();
      for (Index step = -1; step < std::min<Index>(steps, 120); ++step) {
        Surroundings around;
        const double fraction = static_cast<double>(step + 1) / static_cast<double>(steps);
        test::draw_frame(imgui, panel, test::sample_snapshot(*run, fraction),
                         layout.panels.at(Slot::memory), scales, true, around);
        EXPECT_EQ(covered_arrows(around.rects), 0)
            << algorithm << " " << to_string(pass) << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::app
