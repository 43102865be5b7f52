/// The cycles of tile steps, by the number of blocks on each SM.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/flash2/flash2_hopper_parameters.cuh"
#include "kernels/kernel_parameters.h"
#include "kernels/measure/calibrate/calibration_programs.h"
#include "kernels/measure/calibrate/calibration_run.h"
#include "kernels/measure/calibrate/tile_steps.h"
#include "kernels/measure/timing/statistics.h"

namespace attnscope::kernels {

namespace {

/// Heads of the tensors that all blocks read, and tiles along them.
constexpr Index kHeads = 4, kMostSteps = 96, kColumnTiles = 64;
/// Private row tiles of each block of flash1: in L2, and, per tensor, in DRAM. If tiles must be in
/// L2, those that are only read are shared by all blocks.
constexpr Index kOwnTiles = 4, kMostOwnTiles = 32;

/// Device memory for the tensors of all steps, filled with random values.
class StepTensors {
 public:
  StepTensors(CalibrationRun& run, DType dtype)
      : values_(kTensors * kTensorBytes),
        sums_(kTensors * kTensorBytes),
        statistics_(kTensorBytes) {
    const bool is_fp32 = dtype == DType::fp32;
    fill(run, values_, is_fp32 ? 0x807fffffU : 0x807f807fU, is_fp32 ? 0x3f000000U : 0x3f003f00U);
    fill(run, statistics_, 0x007fffffU, 0x3f000000U);
    sums_.fill_bytes(0);
  }

  static constexpr Index kTensors = 4, kTensorBytes = Index{128} << 20U;

  void* values(Index number) const {
    return static_cast<char*>(values_.data_dev()) + number * kTensorBytes;
  }
  void* sums() const { return sums_.data_dev(); }
  /// Row statistics between 0.5 and 1.
  float* statistics() const { return static_cast<float*>(statistics_.data_dev()); }

 private:
  static void fill(CalibrationRun& run, const DeviceBuffer& buffer, std::uint32_t kept,
                   std::uint32_t set) {
    const BlockProgram program = fill_words_program();
    const std::uint64_t words = buffer.bytes() / 4;
    run.kernels().start(program, ceil_div(static_cast<Index>(words), program.threads), run.stream(),
                        static_cast<std::uint32_t*>(buffer.data_dev()), words, kept, set);
  }

  DeviceBuffer values_, sums_, statistics_;
};

/// Starts blocks that each take this many steps.
class StepLauncher {
 public:
  StepLauncher(CalibrationRun& run, const StepTensors& tensors, const TileSteps& steps)
      : run_(run), tensors_(tensors), steps_(steps), problem_(steps.run.problem) {}

  /// Seconds that a launch of single steps takes, measured with events.
  double launch_s(const BlockProgram& block, Index blocks) {
    from_dram_ = false;
    BlockTime* const times_dev = run_.block_times_dev(blocks);
    return run_.event_time_s([&] { launch(block, blocks, {.count = 1}, times_dev); });
  }
  /// The block times of the last of this many launches.
  std::vector<BlockTime> times(const BlockProgram& block, Index blocks, const StepKind& kind,
                               int launches = 1, bool from_dram = false) {
    from_dram_ = from_dram;
    return run_.time_blocks(blocks, [&](BlockTime* times_dev) {
      for (int n = 0; n < launches; ++n) launch(block, blocks, kind, times_dev);
    });
  }

 private:
  void launch(const BlockProgram& block, Index blocks, const StepKind& kind, BlockTime* times_dev) {
    const bool flash1 = kernel_name() == "flash1";
    const bool hopper = block.instructions == kHopper;
    if (steps_.run.pass() == PassKind::forward) {
      if (flash1) return start(block, blocks, flash1_forward(blocks), kind, times_dev);
      hopper
          ? start(block, blocks, Flash2HopperForwardParameters{flash2_forward()}, kind, times_dev)
          : start(block, blocks, flash2_forward(), kind, times_dev);
    } else if (flash1) {
      hopper ? start(block, blocks, flash1_hopper(blocks, kind.count), kind, times_dev)
             : start(block, blocks, flash1_backward(blocks), kind, times_dev);
    } else {
      hopper ? start(block, blocks, flash2_hopper(kind.count), kind, times_dev)
             : start(block, blocks, flash2_backward(kind.count), kind, times_dev);
    }
  }
  std::string_view kernel_name() const { return steps_.run.asked.kernel; }
  Index Br() const { return steps_.run.tiling.Br; }
  Index Bc() const { return steps_.run.tiling.Bc; }

  template <typename Parameters>
  void start(const BlockProgram& block, Index blocks, const Parameters& parameters,
             const StepKind& kind, BlockTime* times_dev) {
    run_.kernels().start(block, blocks, run_.stream(), parameters, kind, times_dev);
  }

  ForwardShape shape(Index heads, Index N, Index N_kv) const {
    AttentionProblem problem = problem_;
    problem.heads = problem.kv_heads = heads;
    problem.N = N;
    problem.N_kv = N_kv;
    return forward_shape(problem);
  }
  TensorView view(void* data_dev, Index rows) const {
    return contiguous_view(data_dev, kHeads, rows, problem_.d);
  }
  /// Row tiles of each block of flash1; from DRAM, as many as fit in memory.
  Index own_tiles(Index blocks) const {
    constexpr Index kMostElementBytes = 4;
    const Index bytes = blocks * Br() * problem_.d * kMostElementBytes;
    return from_dram_ ? std::clamp(StepTensors::kTensorBytes / bytes, kOwnTiles, kMostOwnTiles)
                      : kOwnTiles;
  }
  TensorView own_view(void* data_dev, Index tiles) const { return view(data_dev, tiles * Br()); }
  /// Rows that blocks only read.
  TensorView read_view(void* data_dev, Index tiles) const {
    TensorView rows = own_view(data_dev, tiles);
    if (!from_dram_) rows.stride_head = rows.stride_batch = 0;
    return rows;
  }

  ForwardParameters flash2_forward() const {
    const Index N_kv = kMostSteps * Bc();
    return {.shape = shape(kHeads, Br(), N_kv),
            .Q = view(tensors_.values(0), Br()),
            .K = view(tensors_.values(1), N_kv),
            .V = view(tensors_.values(2), N_kv)};
  }
  Flash1Parameters flash1_forward(Index blocks) const {
    const Index tiles = own_tiles(blocks), N = tiles * Br();
    Flash1Parameters parameters{.shape = shape(blocks, N, Bc()),
                                .Q = read_view(tensors_.values(0), tiles),
                                .K = view(tensors_.values(1), Bc()),
                                .V = view(tensors_.values(2), Bc()),
                                .O = own_view(tensors_.sums(), tiles)};
    parameters.m = tensors_.statistics();
    parameters.l = tensors_.statistics() + blocks * N;
    return parameters;
  }
  BackwardParameters flash2_backward(int count) const {
    const Index N = count * Br(), N_kv = kColumnTiles * Bc();
    BackwardParameters parameters{.shape = shape(kHeads, N, N_kv),
                                  .Q = view(tensors_.values(0), N),
                                  .K = view(tensors_.values(1), N_kv),
                                  .V = view(tensors_.values(2), N_kv),
                                  .dO = view(tensors_.values(3), N)};
    parameters.LSE = tensors_.statistics();
    parameters.D = tensors_.statistics() + kHeads * N;
    parameters.dQ_accum = static_cast<float*>(tensors_.sums());
    return parameters;
  }
  Flash2HopperParameters flash2_hopper(int count) const {
    Flash2HopperParameters parameters{};
    static_cast<BackwardParameters&>(parameters) = flash2_backward(count);
    parameters.Q.stride_head = 0;  // one row of tiles for all blocks
    return parameters;
  }
  Flash1BackwardParameters flash1_backward(Index blocks) const {
    const Index tiles = own_tiles(blocks), N = tiles * Br();
    Flash1BackwardParameters parameters{.shared = {.shape = shape(blocks, N, Bc()),
                                                   .Q = read_view(tensors_.values(0), tiles),
                                                   .K = view(tensors_.values(1), Bc()),
                                                   .V = view(tensors_.values(2), Bc()),
                                                   .O = read_view(tensors_.values(2), tiles),
                                                   .dO = read_view(tensors_.values(3), tiles),
                                                   .dQ = own_view(tensors_.sums(), tiles)}};
    parameters.m = tensors_.statistics();
    parameters.l = tensors_.statistics() + blocks * N;
    return parameters;
  }
  /// A visit's row tiles are consecutive, and each block has m and l for all its steps.
  Flash1HopperParameters flash1_hopper(Index blocks, int count) const {
    constexpr Index kTensorsOfVisit = 4;
    Flash1HopperParameters parameters{};
    static_cast<Flash1BackwardParameters&>(parameters) = flash1_backward(blocks);
    parameters.shared.shape = shape(blocks, count * Br(), Bc());
    parameters.shared.Q.stride_head =
        from_dram_ ? kTensorsOfVisit * kMostOwnTiles * Br() * problem_.d : 0;
    return parameters;
  }

  CalibrationRun& run_;
  const StepTensors& tensors_;
  const TileSteps& steps_;
  const AttentionProblem& problem_;
  bool from_dram_ = false;
};

/// The block, with so much shared memory that only `blocks` of them fit on an SM.
BlockProgram with_blocks_on_sm(BlockProgram block, Index blocks) {
  constexpr Index kReservedBytes = 1024, kGranule = 1024;  // of each block
  const Index of_sm = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const Index most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const Index share = of_sm / blocks / kGranule * kGranule - kReservedBytes;
  block.shared_bytes = std::max(block.shared_bytes, std::min(share, most));
  return block;
}

std::string_view words_of(StepCost cost) {
  switch (cost) {
    case StepCost::plain:
      return "";
    case StepCost::masked:
      return ", all of its scores masked";
    case StepCost::rescaled:
      return ", O rescaled";
    case StepCost::from_dram:
      return ", the block's own tiles in DRAM";
    case StepCost::one_consumer:
      return ", all consumers but one skip it";
  }
  return "";
}

/// The SM clock of steps that have kept the GPU busy for kWarmSeconds: work that draws a lot of
/// power lowers the clock.
constexpr double kWarmSeconds = 0.03;
double warm_clock_hz(StepLauncher& launcher, const BlockProgram& block, Index blocks, int count) {
  const StepKind kind{.count = count};
  const double launch_s = span_s(launcher.times(block, blocks, kind));
  const int launches = static_cast<int>(std::ceil(kWarmSeconds / launch_s));
  return clock_hz(launcher.times(block, blocks, kind, launches));
}

/// The cycles of one step, with only these blocks on the GPU. The time before the first step and
/// after the last one cancels: it is the same in the run with fewer steps.
void measure_step(CalibrationRun& run, const StepTensors& tensors, const TileSteps& steps) {
  const Index most = run.kernels().resident_blocks(steps.block);
  StepLauncher launcher(run, tensors, steps);
  const bool is_fp32 = steps.run.problem.dtype == DType::fp32;
  const int fewer = is_fp32 ? 8 : 32, more = is_fp32 ? 24 : kMostSteps;
  const auto measure = [&](Index blocks, StepCost cost) {
    const BlockProgram block =
        blocks == most ? steps.block : with_blocks_on_sm(steps.block, blocks);
    const auto cycles = [&](int count) {
      const StepKind kind{.count = count,
                          .masked = cost == StepCost::masked ? kBeyondAllKeys : 0,
                          .rescaled = cost == StepCost::rescaled ? 1 : 0,
                          .one_consumer = cost == StepCost::one_consumer ? 1 : 0};
      return median_cycles(
          launcher.times(block, blocks * run.sm_count(), kind, 1, cost == StepCost::from_dram));
    };
    run.measure(
        {step_cycles_name(steps.name, blocks, cost), "cycles",
         fmt::format("one step of a thread block, {} on each SM{}", blocks, words_of(cost))},
        [&] { return (cycles(more) - cycles(fewer)) / (more - fewer); });
  };
  for (Index blocks = 1; blocks <= most; ++blocks) {
    // Other numbers of blocks follow from their neighbours
    if (blocks <= 4 || blocks == most) measure(blocks, StepCost::plain);
  }
  const bool forward = steps.run.pass() == PassKind::forward;
  if (forward || steps.block.instructions != kHopper) measure(most, StepCost::masked);
  if (steps.rescales_if_moved()) measure(most, StepCost::rescaled);
  if (steps.has_own_tiles()) measure(most, StepCost::from_dram);
  if (steps.trims(run.target())) measure(most, StepCost::one_consumer);
  const auto measure_first = [&](const std::string& name, Index blocks) {
    run.measure({name, "s",
                 fmt::format("a launch of blocks with one step each, {} on each SM, after a sweep "
                             "of L2, timed by CUDA events, like passes",
                             blocks)},
                [&] {
                  run.session().conditioning().sweep_cache(run.session().stream());
                  return launcher.launch_s(steps.block, blocks * run.sm_count());
                });
  };
  measure_first(first_step_name(steps.name), most);
  if (most > 1) measure_first(lone_first_step_name(steps.name), 1);
  const Index all = most * run.sm_count();
  constexpr int kRepeats = 3;
  run.measure(
      {step_clock_name(steps.name), "Hz",
       fmt::format("SM clock after {:.0f} ms of these steps, {} block{} on each SM",
                   kWarmSeconds * 1e3, most, most == 1 ? "" : "s")},
      [&] { return warm_clock_hz(launcher, steps.block, all, more); }, kRepeats);
}

}  // namespace

void measure_steps(CalibrationRun& run) {
  const std::vector<TileSteps> all = calibrated_steps(run.target());
  for (const DType dtype : {DType::bf16, DType::fp16, DType::fp32}) {
    const StepTensors tensors(run, dtype);
    for (const TileSteps& steps : all) {
      if (steps.run.problem.dtype == dtype) measure_step(run, tensors, steps);
    }
  }
}

}  // namespace attnscope::kernels
