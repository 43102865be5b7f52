/// "Run on GPU", on a GPU: the app runs the kernel of each shipped scene in the background,
/// checks it, and finds the run beside the model. Skips without a GPU; ATTNSCOPE_REQUIRE_GPU=1
/// turns that into a failure.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "app/app.h"

namespace attnscope::app {
namespace {

/// Updates the app, as frames do, until `done` or a minute has passed.
template <typename Done>
bool update_until(App& app, Done done) {
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::minutes(1)) return false;
    app.update(0.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(RunOnGpu, MeasuresTheTwinKernelOfEveryShippedSceneAndItIsRight) {
  for (const std::string name :
       {"default", "standard-64", "flash1-64", "flash2-causal", "flash2-1024"}) {
    Result<Scene> scene = load_scene(name);
    ASSERT_TRUE(scene.ok()) << name << ": " << scene.error().message;
    App app(std::move(scene).value(), {});
    ASSERT_TRUE(update_until(app, [&] {
      return app.settled() && app.gpu().status().state != GpuRunner::State::opening;
    })) << name;
    if (app.gpu().status().state == GpuRunner::State::unavailable) {
      const char* required = std::getenv("ATTNSCOPE_REQUIRE_GPU");
      ASSERT_FALSE(required != nullptr && std::string_view(required) == "1")
          << app.gpu().status().reason;
      GTEST_SKIP() << app.gpu().status().reason;
    }

    app.commands.push(RunOnGpu{});
    ASSERT_TRUE(update_until(app, [&] { return !app.measurements.measured.empty(); })) << name;
    const MeasuredRun& run = app.measurements.measured.back();
    ASSERT_FALSE(run.row.error) << name << ": " << run.row.error->message;
    EXPECT_EQ(run.provenance.kind, NumberKind::measured);
    EXPECT_GT(run.time_s().value_or(0.0), 0.0) << name;

    // The ledger shows this run, and its bytes are the model's
    const RunSpec& choice = app.view.choice;
    const RunInfo& modelled = *app.snapshot()->run;
    const MeasuredRun* shown = app.measurements.find(modelled.totals, modelled.gpu);
    ASSERT_NE(shown, nullptr) << name;
    EXPECT_EQ(shown->provenance.kind, NumberKind::measured) << name;
    if (choice.algorithm == "standard") continue;  // cuBLAS chooses its own tiles
    const std::optional<double> read = shown->counter(counter::kRequestedReadBytes);
    if (!read) continue;  // counters may not be permitted here; the row says why
    const Bytes& requested = app.snapshot()->run->totals.requested;
    EXPECT_NEAR(*read, static_cast<double>(requested.read_bytes),
                0.005 * static_cast<double>(requested.read_bytes))
        << name;
  }
}

}  // namespace
}  // namespace attnscope::app
