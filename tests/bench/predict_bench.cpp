/// Counts the predictions per second while a slider of the tab GPU moves: for the problem of every
/// shipped scene, each number of the GPU takes a few values, and DRAM bytes and the time are
/// predicted again. Prints one line per scene, with its target; the exit status is 1 if one is
/// missed. Seconds are the thread's own processor time, so that other programs on the machine do
/// not count.

#include <fmt/core.h>

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/scene/scene.h"
#include "reference/run_fields.h"
#include "sim/resolve.h"

namespace attnscope {
namespace {

/// Processor time of this thread, in seconds.
double now_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The GPU at each position of its sliders.
std::vector<WhatIf> slider_places(const GpuDescription& own) {
  std::vector<WhatIf> places;
  for (const double multiple : {0.53, 0.87, 1.31, 1.93}) {
    const auto share = [multiple](Index number) {
      return static_cast<Index>(multiple * static_cast<double>(number));
    };
    places.push_back({.l2_bytes = share(own.l2_bytes)});
    places.push_back({.sm_count = share(own.sm_count)});
    for (std::optional<double> WhatIf::*rate :
         {&WhatIf::sm_clock, &WhatIf::dram_rate, &WhatIf::l2_rate, &WhatIf::matrix_rate,
          &WhatIf::exp_rate}) {
      WhatIf& place = places.emplace_back();
      place.*rate = multiple;
    }
  }
  return places;
}

/// Seconds that the model takes from a changed number to the predicted time.
Result<double> seconds_of(const RunSpec& spec, const GpuDescription& gpu) {
  const double start = now_s();
  ATTNSCOPE_TRY(auto report, resolve_and_simulate(spec, gpu));
  predict_kernel_dram(report, gpu);
  predict_kernel_time(report, gpu);
  if (!report.time) return unavailable("no predicted time");
  return now_s() - start;
}

bool bench_scene(const std::string& name) {
  const auto scene = app::load_scene(name);
  if (!scene) return false;
  RunSpec spec = scene.value().view.choice;
  const auto own = load_gpu(spec.gpu);
  if (!own) return false;
  std::vector<double> seconds;
  for (const WhatIf& place : slider_places(own.value())) {
    spec.what_if = place;
    const auto one = seconds_of(spec, with_what_if(own.value(), place, "given"));
    if (one) seconds.push_back(one.value());
  }
  if (seconds.empty()) {
    fmt::print("{:<32} no prediction\n", name);
    return true;
  }
  constexpr double kFrame = 1.0 / 30.0;
  std::ranges::sort(seconds);
  const double median = seconds[seconds.size() / 2], slowest = seconds.back();
  const bool met = slowest <= kFrame;
  fmt::print(
      "{:<32} prediction: median {:7.2f} ms, slowest of {} {:7.2f} ms  bar <= {:.1f} ms  {}\n",
      name, 1e3 * median, seconds.size(), 1e3 * slowest, 1e3 * kFrame, met ? "met" : "MISSED");
  return met;
}

}  // namespace
}  // namespace attnscope

int main() {
  // Earlier predictions would be read from disk
  namespace fs = std::filesystem;
  const fs::path cache = fs::temp_directory_path() / fmt::format("attnscope-bench-{}", getpid());
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  bool met = true;
  for (const auto& scene : attnscope::app::list_shipped_scenes()) {
    fs::remove_all(cache);  // two scenes may have one run
    met = attnscope::bench_scene(scene.name) && met;
  }
  fs::remove_all(cache);
  return met ? 0 : 1;
}
