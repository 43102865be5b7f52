/// Rates of instructions on one SM, and the clock at which they run.
#include <algorithm>
#include <chrono>
#include <thread>

#include "kernels/measure/calibrate/calibration_run.h"
#include "kernels/measure/calibrate/operation_benchmarks.h"

namespace attnscope::kernels {

namespace {

/// The times of an operation's blocks, one per SM.
std::vector<BlockTime> operation_times(CalibrationRun& run, const BlockProgram& block,
                                       int iterations) {
  return run.time_blocks(run.sm_count(), [&](BlockTime* times_dev) {
    run.kernels().start(block, run.sm_count(), run.stream(), times_dev, iterations);
  });
}

/// The SM clock after the tensor cores of every SM have been busy for about 0.1 s.
double matrix_clock_hz(CalibrationRun& run, const OperationBenchmark& benchmark) {
  constexpr double kLaunchCycles = 8e6;
  constexpr int kLaunches = 20, kPilotIterations = 256;
  const auto pilot = operation_times(run, benchmark.block, kPilotIterations);
  const double cycles = median_cycles(pilot) / kPilotIterations;
  const int iterations = static_cast<int>(kLaunchCycles / cycles);
  double hz = 0;
  for (int n = 0; n < kLaunches; ++n) {
    hz = clock_hz(operation_times(run, benchmark.block, iterations));
  }
  return hz;
}

}  // namespace

double light_clock_hz(CalibrationRun& run) {
  constexpr int kIterations = 1000;  // of 256 instructions
  BlockProgram block = operation_benchmark("ffma_per_cycle_per_sm", run.target()).block;
  block.threads = 32;
  return clock_hz(operation_times(run, block, kIterations));
}

void measure_clocks(CalibrationRun& run) {
  const ProgramTarget& target = run.target();
  run.measure({"sm_clock_hz", "Hz",
               "clock64 by globaltimer in a kernel of about 2 ms with fma.rn.ftz.f32 by 16 warps "
               "on each SM"},
              [&] {
                constexpr int kIterations = 4000;  // of 256 instructions of 16 warps
                const BlockProgram block =
                    operation_benchmark("ffma_per_cycle_per_sm", target).block;
                return clock_hz(operation_times(run, block, kIterations));
              });
  run.measure({"sm_clock_idle_start_hz", "Hz",
               "the same for a kernel of about 0.2 ms, one warp on each SM, after 0.1 s without "
               "work"},
              [&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                return light_clock_hz(run);
              });
  auto matrix = operation_benchmark("wgmma_n256_a_shared_8_warps_flops_per_cycle_per_sm", target);
  if (!matrix.unavailable.empty()) {
    matrix = operation_benchmark("mma_bf16_16_warps_flops_per_cycle_per_sm", target);
  }
  run.measure(
      {"sm_clock_matrix_hz", "Hz",
       fmt::format("the same in the last of 20 kernels of about 5 ms each: {}", matrix.how)},
      [&] { return matrix_clock_hz(run, matrix); });
}

void measure_operations(CalibrationRun& run) {
  constexpr double kTargetCycles = 300'000;
  constexpr int kPilotIterations = 16, kMostIterations = 1'000'000;
  for (const OperationBenchmark& benchmark : operation_benchmarks(run.target())) {
    const QuantityKind kind{benchmark.name, benchmark.unit, benchmark.how};
    if (!benchmark.unavailable.empty()) {
      run.add_unavailable(kind, benchmark.unavailable);
      continue;
    }
    const auto cycles_of = [&](int iterations) {
      return median_cycles(operation_times(run, benchmark.block, iterations));
    };
    const double pilot = cycles_of(kPilotIterations);
    const int iterations =
        static_cast<int>(std::clamp(kPilotIterations * kTargetCycles / pilot,
                                    double{kPilotIterations}, double{kMostIterations}));
    run.measure(kind, [&] {
      const double operations = static_cast<double>(iterations) * benchmark.operations;
      const double cycles = cycles_of(iterations);
      if (benchmark.work_per_operation == 0) return cycles / operations;
      return operations * benchmark.block.threads * benchmark.work_per_operation / cycles;
    });
  }
}

}  // namespace attnscope::kernels
