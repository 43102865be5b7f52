/// The costs of launches and thread blocks.
#include "kernels/host/cuda_check.h"
#include "kernels/measure/calibrate/calibration_programs.h"
#include "kernels/measure/calibrate/calibration_run.h"

namespace attnscope::kernels {

namespace {

constexpr int kBlockThreads = 256;

/// Seconds that each of many additional launches adds.
double gap_s(CalibrationRun& run, const BlockProgram& block, Index blocks) {
  constexpr int kFurther = 16, kHeadStarts = 4;
  const auto time_s = [&](int launches) {
    return run.event_time_s(
        [&] {
          for (int n = 0; n < launches; ++n) {
            run.kernels().start(block, blocks, run.stream());
          }
        },
        kHeadStarts);
  };
  const double one_s = time_s(1);
  return (time_s(1 + kFurther) - one_s) / kFurther;
}

/// SM cycles that each additional empty thread block adds on each SM.
double block_launch_cycles(CalibrationRun& run, int threads) {
  constexpr Index kFewer = 1024, kMore = 3072;  // blocks per SM
  const auto time_s = [&](Index blocks_per_sm) {
    return run.event_time_s([&] {
      run.kernels().start(nothing_program(threads), blocks_per_sm * run.sm_count(), run.stream());
    });
  };
  const double fewer_s = time_s(kFewer);
  const double further_s = time_s(kMore) - fewer_s;
  return further_s / static_cast<double>(kMore - kFewer) * light_clock_hz(run);
}

}  // namespace

void measure_launches(CalibrationRun& run) {
  constexpr int kMoreRepeats = 5;  // these launches are short
  const int repeats = kMoreRepeats * run.repeats();
  const auto stream = run.stream();
  run.measure(
      {"launch_overhead_s", "s",
       "an empty kernel of one thread block, timed by CUDA events, like passes"},
      [&] { return run.event_time_s([&] { run.kernels().start(nothing_program(1), 1, stream); }); },
      repeats);
  run.measure(
      {"launch_gap_s", "s",
       "time that each additional empty kernel of one thread block adds on a stream, of 16"},
      [&] { return gap_s(run, nothing_program(1), 1); }, repeats);
  const int threads_of_sm = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  const Index full_grid = run.sm_count() * (threads_of_sm / kBlockThreads);
  run.measure(
      {"launch_gap_full_grid_s", "s",
       fmt::format("the same with {} thread blocks of {} threads", full_grid, kBlockThreads)},
      [&] { return gap_s(run, nothing_program(kBlockThreads), full_grid); }, repeats);

  const QuantityKind overlapping{
      "launch_gap_programmatic_s", "s",
      "the same with one thread block that may start before the previous launch has ended"};
  const std::string needs = needs_sm_90(run.target());
  if (needs.empty()) {
    const BlockProgram block = nothing_program(1, /*overlaps=*/true);
    run.measure(
        overlapping, [&] { return gap_s(run, block, 1); }, repeats);
  } else {
    run.add_unavailable(overlapping, needs);
  }
  for (const int threads : {128, 256, 512}) {
    run.measure({fmt::format("block_launch_{}_threads_cycles", threads), "cycles",
                 fmt::format("time per thread block and SM that 2,048 further empty blocks of {} "
                             "threads add on each SM, at the SM clock of light work",
                             threads)},
                [&] { return block_launch_cycles(run, threads); });
  }
}

}  // namespace attnscope::kernels
