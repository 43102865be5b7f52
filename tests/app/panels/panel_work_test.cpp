/// Panels with background work: what they show while it runs, and how it is cancelled.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "app/panels/ledger/ledger_panel.h"
#include "app/panels/panels.h"
#include "app/panels/parts/headings.h"
#include "tests/app/panels/panel_helpers.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using test::click;
using test::draw_frame;
using test::draw_panel;
using test::HeadlessImGui;
using test::kEverySlot;
using test::Surroundings;

/// The text that a button copies; empty when the button is not drawn.
template <typename DrawOnce>
std::string copied_text(HeadlessImGui& imgui, std::string_view button, Surroundings& around,
                        const DrawOnce& draw_once) {
  const auto rect = around.rects.find(button);
  if (!rect) return {};
  click(imgui, rect->center(), draw_once);
  const std::vector<Command> commands = around.commands.take();
  return commands.empty() ? "" : std::get<CopyText>(commands.back()).text;
}

/// The text that "copy CSV" copies, after one frame or when the panel is ready.
std::string copied_ledger(HeadlessImGui& imgui, const Panel& panel, const Snapshot& snapshot,
                          Surroundings& around) {
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Rect rect = layout_screen(1600, 900, scales, kEverySlot, false).panels.at(panel.slot);
  const auto draw_once = [&] { draw_frame(imgui, panel, snapshot, rect, scales, false, around); };
  draw_once();
  return copied_text(imgui, "ledger.copy", around, draw_once);
}

TEST(LedgerPanel, ComparesInTheBackgroundAndKeepsTheLastLedgerMeanwhile) {
  const auto first = test::sample_run({});
  const auto second = test::sample_run({"flash1"});
  const Snapshot before = test::sample_snapshot(*first, 1.0);
  const Snapshot after = test::sample_snapshot(*second, 1.0);

  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> on_this_thread{0};
  const auto caller = std::this_thread::get_id();
  const auto panel = make_ledger_panel(
      [&](const RunInfo& run, std::optional<MeasuredRun> seen, const std::atomic<bool>* cancel) {
        if (std::this_thread::get_id() == caller) ++on_this_thread;
        if (run.algorithm->name == "flash1") released.wait();
        return make_ledger_basis(run, std::move(seen), cancel);
      });
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  const Rect rect{{0, 0}, {600, 300}};
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  draw_panel(imgui, panel, before, rect, scales, false, around);
  const std::string old = copied_ledger(imgui, panel, before, around);
  EXPECT_NE(old.find("LSE written"), std::string::npos) << old;

  EXPECT_EQ(copied_ledger(imgui, panel, after, around), old);
  EXPECT_TRUE(panel.busy());
  release.set_value();
  draw_panel(imgui, panel, after, rect, scales, false, around);
  EXPECT_NE(copied_ledger(imgui, panel, after, around).find("l, m written"), std::string::npos);
  EXPECT_EQ(on_this_thread, 0);
}

TEST(LedgerPanel, RestsAsACounterThatNeedsNoComparison) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  const auto panel = make_ledger_panel(
      [&](const RunInfo& of, std::optional<MeasuredRun> seen, const std::atomic<bool>* cancel) {
        released.wait();
        return make_ledger_basis(of, std::move(seen), cancel);
      });
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  const Scales scales = scales_for(1600, 900, 1.0f, true);
  draw_frame(imgui, panel, snapshot, {{0, 0}, {600, 300}}, scales, true, around);
  EXPECT_TRUE(panel.busy());
  release.set_value();
  EXPECT_TRUE(test::wait_until([&] {
    draw_frame(imgui, panel, snapshot, {{0, 0}, {600, 30}}, scales, true, around);
    return !panel.busy();
  }));
}

/// Draws the ledger on this GPU at every screen size, then calls `check`. Presenter mode shows a
/// counter instead.
void draw_ledgers(const char* algorithm, const GpuDescription& gpu,
                  const std::function<void(const HeadlessImGui&, const Surroundings&)>& check) {
  test::SampleRequest request;
  request.algorithm = algorithm;
  request.pass = PassKind::backward;
  const auto run = test::sample_run(request);
  Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  auto info = std::make_shared<RunInfo>(*snapshot.run);
  info->gpu = gpu;
  snapshot.run = info;
  for (const test::ScreenSize& screen : test::kScreens) {
    if (screen.presenter) continue;
    SCOPED_TRACE(screen.name);
    const Scales scales = scales_for(screen.width, screen.height, 1.0f, false);
    const Layout layout = layout_screen(screen.width, screen.height, scales, kEverySlot, false);
    const auto place = layout.panels.find(Slot::ledger);
    HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
    Surroundings around;
    around.view.ledger_scope = LedgerScope::whole_pass;
    const auto panel = make_ledger_panel();
    draw_panel(imgui, panel, snapshot, place->second, scales, false, around);
    EXPECT_EQ(imgui.letters_outside(place->second), 0);
    EXPECT_LE(imgui.letters_on_letters(), 0);
    check(imgui, around);
  }
}

TEST(LedgerPanel, DrawsThePartsOfThePredictedTimeToScale) {
  int drawn = 0;
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    SCOPED_TRACE(algorithm);
    test::SampleRequest request;
    request.algorithm = algorithm;
    request.pass = PassKind::backward;
    const auto run = test::sample_run(request);
    const TimePrediction time = make_ledger_basis(*run->info(), {}).time.prediction.value();
    const PartSeconds parts = time.parts();
    draw_ledgers(algorithm, load_gpu("h200").value(), [&](const auto&, const Surroundings& around) {
      float bar = 0.0f;
      std::optional<float> end;
      for (std::size_t n = 0; n < kTimeParts; ++n) {
        const auto name = fmt::format("ledger.time.{}", to_string(static_cast<TimePart>(n)));
        const auto rect = around.rects.find(name);
        EXPECT_EQ(rect.has_value(), parts[n] > 0) << name;
        if (!rect) continue;
        EXPECT_NEAR(rect->min.x, end.value_or(rect->min.x), 0.01f) << name;
        end = rect->max.x;
        bar += rect->width();
      }
      const auto overhead = around.rects.find("ledger.time.overhead");
      ASSERT_TRUE(overhead);
      EXPECT_NEAR(overhead->width() / bar, parts[0] / time.seconds, 1e-3);
      ++drawn;
    });
  }
  EXPECT_EQ(drawn, 9);
}

TEST(LedgerPanel, IsACounterOfBytesWithABarOnAProjector) {
  const auto run = test::sample_run({});
  const Scales scales = scales_for(1280, 720, 1.0f, true);
  const ImU32 done = theme(ThemeName::dark).accent;
  const ImU32 left = theme(ThemeName::dark).track;
  for (const auto& [fraction, at_start, at_end] :
       {std::tuple{0.0, left, left}, {0.6, done, left}, {1.0, done, done}}) {
    HeadlessImGui imgui(1280, 720, scales.layout, scales.font);
    Surroundings around;
    test::draw_on_projector(imgui, {1280, 720}, "ledger", test::sample_snapshot(*run, fraction), {},
                            around);
    const auto bar = around.rects.find("ledger.counter");
    ASSERT_TRUE(bar);
    const float y = bar->center().y;
    EXPECT_EQ(imgui.color_at({bar->min.x + 0.2f * bar->width(), y}), at_start) << fraction;
    EXPECT_EQ(imgui.color_at({bar->max.x - 0.1f * bar->width(), y}), at_end) << fraction;
  }
}

TEST(LedgerPanel, DrawsNoBarForAGpuWithoutACalibration) {
  draw_ledgers("flash2", load_gpu("a100-80gb").value(),
               [](const HeadlessImGui& imgui, const Surroundings& around) {
                 EXPECT_GT(imgui.letters().size(), 100U);
                 EXPECT_FALSE(around.rects.find("ledger.time.overhead"));
               });
}

TEST(Timeline, HasALaneForEverySmAndAButtonForTallerOnes) {
  const auto sample = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*sample, 0.5);
  HeadlessImGui imgui(1600, 900);
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Rect rect{{400, 60}, {1580, 860}};
  Surroundings around;
  around.view.timeline_tab = TimelineTab::sms;
  const auto lanes = [&] {
    int count = 0;
    for (int sm = 0; sm < 132; ++sm) {
      count += around.rects.find(fmt::format("timeline.sm.{}.predicted", sm)) ? 1 : 0;
    }
    return count;
  };
  for (const Panel& panel : make_panels()) {
    if (panel.name != "timeline") continue;
    const auto draw = [&] {
      around.rects.clear();
      draw_panel(imgui, panel, snapshot, rect, scales, false, around);
    };
    draw();
    EXPECT_EQ(lanes(), 132) << "idle SMs as well";
    EXPECT_EQ(imgui.letters_outside(rect), 0);
    EXPECT_EQ(imgui.letters_on_letters(), 0);
    const auto button = around.rects.find("timeline.all_sms");
    ASSERT_TRUE(button);
    test::click(imgui, button->center(), draw);
    draw();
    EXPECT_GT(lanes(), 10);
    EXPECT_LT(lanes(), 60);
  }
}

TEST(HiddenPanels, KeepNoRunAlive) {
  HeadlessImGui imgui(1600, 900);
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Layout layout = layout_screen(1600, 900, scales, kEverySlot, false);
  for (const TimelineTab timeline : {TimelineTab::operations, TimelineTab::sms}) {
    Surroundings around;
    around.view.timeline_tab = timeline;
    const Panels panels = make_panels();
    for (const Panel& panel : panels) {
      std::weak_ptr<const RunInfo> seen;
      {
        const auto sample = test::sample_run({});
        const Snapshot snapshot = test::sample_snapshot(*sample, 0.5);
        seen = snapshot.run;
        draw_panel(imgui, panel, snapshot, layout.panels.at(panel.slot), scales, false, around);
      }
      EXPECT_TRUE(seen.expired()) << panel.name << ", timeline: " << to_string(timeline);
    }
  }
}

TEST(ChartsPanel, ModelsAgainWhenACapacityOfTheGpuChanges) {
  const auto sample = test::sample_run({});
  Snapshot snapshot = test::sample_snapshot(*sample, 0.5);
  auto changed = std::make_shared<RunInfo>(*snapshot.run);
  changed->gpu = with_what_if(changed->gpu, {.l2_bytes = 65'536}, "given");
  HeadlessImGui imgui(1600, 900);
  const Rect rect{{0, 0}, {700, 300}};
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const auto panel = make_charts_panel();
  Surroundings around;
  around.view.chart = ChartQuantity::bytes;
  const auto copied = [&](const std::shared_ptr<const RunInfo>& run) {
    snapshot.run = run;
    draw_panel(imgui, panel, snapshot, rect, scales, false, around);
    const auto draw_once = [&] { draw_frame(imgui, panel, snapshot, rect, scales, false, around); };
    draw_once();
    return copied_text(imgui, "charts.copy", around, draw_once);
  };
  const std::string before = copied(sample->info());
  EXPECT_FALSE(before.empty());
  const std::string after = copied(changed);
  EXPECT_FALSE(after.empty());
  EXPECT_NE(after, before);
}

TEST(ChartsPanel, LongWorkShowsHowFarItIsAndIsGivenUp) {
  const auto sample = test::sample_run({});
  Snapshot snapshot = test::sample_snapshot(*sample, 0.5);
  auto large = std::make_shared<RunInfo>(*snapshot.run);
  large->totals.run.problem.N = large->totals.run.problem.N_kv = Index{1} << 24;
  large->totals.run.problem.mask = Mask::causal();  // every row tile has a different length
  snapshot.run = large;
  const auto panel = make_charts_panel();
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  around.view.chart_over = ChartAxis::fusion;
  const Rect rect{{0, 0}, {700, 300}};
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const auto draw_once = [&] {
    around.rects.clear();
    draw_frame(imgui, panel, snapshot, rect, scales, false, around);
  };
  const auto press = [&] { click(imgui, around.rects.find("charts.cancel")->center(), draw_once); };
  do {
    draw_once();
    ASSERT_TRUE(panel.busy()) << "the work was done before it could be given up";
  } while (!around.rects.find("charts.cancel"));
  press();
  while (panel.busy()) draw_once();
  for (int frame = 0; frame < 3; ++frame) draw_once();
  EXPECT_FALSE(panel.busy());
  ASSERT_TRUE(around.rects.find("charts.cancel"));  // its label is now "model again"
  press();
  draw_once();
  EXPECT_TRUE(panel.busy());
}

}  // namespace
}  // namespace attnscope::app
