/// Latencies of shared memory, L1, L2 and DRAM, in SM cycles.
#include <algorithm>

#include "kernels/measure/calibrate/calibration_programs.h"
#include "kernels/measure/calibrate/calibration_run.h"
#include "kernels/measure/timing/statistics.h"

namespace attnscope::kernels {

namespace {

constexpr const char* kUnit = "cycles";

/// A chain of 2^log_lines lines in device memory.
class Chain {
 public:
  Chain(CalibrationRun& run, int log_lines) : lines_((std::size_t{1} << log_lines) * kLineBytes) {
    const BlockProgram link = link_program(log_lines);
    run.kernels().start(link, (Index{1} << log_lines) / link.threads, run.stream(), first());
    run.session().stream().wait();
  }
  char* first() const { return static_cast<char*>(lines_.data_dev()); }

 private:
  DeviceBuffer lines_;
};

/// Cycles of each of `links` loads along the chain, after `warm_up` others.
double chain_cycles(CalibrationRun& run, const Chain& chain, bool past_l1, int warm_up, int links) {
  const auto times = run.time_blocks(1, [&](BlockTime* times_dev) {
    run.kernels().start(follow_program(past_l1), 1, run.stream(), chain.first(), warm_up, links,
                        times_dev);
  });
  return median_cycles(times) / links;
}

void measure_l2_latency(CalibrationRun& run) {
  const DeviceBuffer lines(std::size_t{kTimedLines} * kTimedLineStride);
  const DeviceBuffer cycles_dev(kTimedLines * sizeof(float));
  auto* const data = static_cast<char*>(lines.data_dev());
  const auto stream = run.stream();
  run.kernels().start(link_to_themselves_program(), 1, stream, data);
  run.measure({{"l2_latency_near_cycles", kUnit,
                "the fastest of 256 lines in L2, mean of 32 loads that bypass L1, by one thread"},
               {"l2_latency_cycles", kUnit, "the same, median of the lines"},
               {"l2_latency_far_cycles", kUnit, "the same, the slowest of the lines"}},
              [&] {
                run.time_blocks(1, [&](BlockTime* times_dev) {
                  run.kernels().start(time_lines_program(run.target()), 1, stream, data,
                                      std::uint32_t{kTimedLines},
                                      static_cast<float*>(cycles_dev.data_dev()), times_dev);
                });
                std::vector<float> cycles(kTimedLines);
                cycles_dev.copy_to_host(cycles.data());
                const TimeStatistics of_lines = statistics_of({cycles.begin(), cycles.end()});
                return std::vector{of_lines.min_s, of_lines.median_s, of_lines.max_s};
              });
}

}  // namespace

void measure_latencies(CalibrationRun& run) {
  constexpr int kLinks = 8192, kWarmUp = 256;
  run.measure({"shared_latency_cycles", kUnit,
               "ld.shared.u32 by one thread, the address of each from the previous one"},
              [&] {
                const auto times = run.time_blocks(1, [&](BlockTime* times_dev) {
                  run.kernels().start(follow_shared_program(), 1, run.stream(), kLinks, times_dev);
                });
                return median_cycles(times) / kLinks;
              });
  {
    const Chain chain(run, kLogLinesInL1);
    run.measure(
        {"l1_latency_cycles", kUnit, "ld.global.ca.u64 by one thread along a chain of 8 KiB in L1"},
        [&] { return chain_cycles(run, chain, /*past_l1=*/false, kWarmUp, kLinks); });
  }
  measure_l2_latency(run);
  const Chain chain(run, kLogLinesInDram);
  run.measure({"dram_latency_cycles", kUnit,
               "ld.global.cg.u64 by one thread along a chain in 64 MiB of which nothing is in L2"},
              [&] {
                constexpr int kColdLinks = 1024;
                run.session().conditioning().sweep_cache(run.session().stream());
                return chain_cycles(run, chain, /*past_l1=*/true, kWarmUp, kColdLinks);
              });
}

}  // namespace attnscope::kernels
