#include "kernels/default_tilings.h"

#include <algorithm>
#include <iterator>

#include "kernels/compile/block_program.h"
#include "kernels/kernel_parameters.h"
#include "reference/block_mask.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// The head dimensions that the line applies to: all that are padded to the width, or only the
/// width itself, whose rows are copied without checking their columns.
enum class Takes : std::uint8_t { padded, exactly };

/// The problems that the line applies to: those with score features, those without, or both.
enum class Scores : std::uint8_t { any, plain, scored };

constexpr Tiling kNone{0, 0};

/// One line of the table. Later lines apply to problems that no earlier line matches, and to GPUs
/// with less shared memory.
struct DefaultTilings {
  std::string_view kernel;
  PassKind pass;
  Index width;  ///< padded_head_dim()
  Tiling tiling;
  Tiling smaller = kNone;  ///< for GPUs with less shared memory
  Scores scores = Scores::any;
  Takes takes = Takes::padded;

  bool is_for(const AttentionProblem& problem) const {
    const bool scored = score_features(problem).any();
    return padded_head_dim(problem.d) == width && (takes == Takes::padded || problem.d == width) &&
           (scores == Scores::any || scored == (scores == Scores::scored));
  }
};

constexpr PassKind kForward = PassKind::forward, kBackward = PassKind::backward;
constexpr Scores kAny = Scores::any, kPlain = Scores::plain, kScored = Scores::scored;
constexpr Takes kExactly = Takes::exactly;

// clang-format off
// 16-bit precision. Hopper uses these, too, unless kHopperTilings below has another.
constexpr DefaultTilings kDefaults[] = {
    {"flash1", kForward, 16, {128, 128}},
    {"flash1", kForward, 32, {128, 128}},
    {"flash1", kForward, 64, {128, 256}, kNone, kAny, kExactly},
    {"flash1", kForward, 64, {128, 128}},
    {"flash1", kForward, 96, {128, 128}, {64, 64}},
    {"flash1", kForward, 128, {128, 256}, kNone, kPlain, kExactly},
    {"flash1", kForward, 128, {128, 64}, {64, 64}, kPlain},
    {"flash1", kForward, 128, {128, 128}, {64, 64}, kScored},
    {"flash1", kForward, 192, {128, 64}, {64, 32}},
    {"flash1", kForward, 256, {64, 32}, {32, 32}},
    {"flash1", kBackward, 16, {128, 128}, kNone, kPlain},
    {"flash1", kBackward, 16, {64, 128}},
    {"flash1", kBackward, 32, {64, 128}},
    {"flash1", kBackward, 64, {64, 128}, kNone, kAny, kExactly},
    {"flash1", kBackward, 64, {64, 128}, kNone, kPlain},
    {"flash1", kBackward, 64, {64, 64}},
    {"flash1", kBackward, 96, {64, 64}, {32, 64}},
    {"flash1", kBackward, 128, {64, 128}, kNone, kAny, kExactly},
    {"flash1", kBackward, 128, {64, 64}, {32, 32}},
    {"flash1", kBackward, 192, {32, 64}, {16, 32}},
    {"flash1", kBackward, 256, {32, 64}, {16, 32}},
    {"flash2", kForward, 16, {128, 64}},
    {"flash2", kForward, 32, {128, 64}},
    {"flash2", kForward, 64, {128, 128}},
    {"flash2", kForward, 96, {128, 64}},
    {"flash2", kForward, 128, {128, 64}},
    {"flash2", kForward, 192, {128, 64}, {128, 32}},
    {"flash2", kForward, 256, {128, 64}, {64, 32}},
    {"flash2", kBackward, 16, {128, 128}},
    {"flash2", kBackward, 32, {128, 128}, kNone, kAny, kExactly},
    {"flash2", kBackward, 32, {64, 128}},
    {"flash2", kBackward, 64, {128, 128}, kNone, kAny, kExactly},
    {"flash2", kBackward, 64, {64, 128}},
    {"flash2", kBackward, 64, {64, 64}, kNone, kScored},
    {"flash2", kBackward, 96, {64, 128}, {64, 64}},
    {"flash2", kBackward, 128, {64, 128}, {32, 64}},
    {"flash2", kBackward, 192, {64, 64}, {32, 32}},
    {"flash2", kBackward, 256, {32, 64}, {16, 32}},
    {"block_sparse2", kForward, 16, {16, 16}},
    {"block_sparse2", kForward, 32, {128, 128}},
    {"block_sparse2", kForward, 64, {128, 128}},
    {"block_sparse2", kForward, 96, {64, 128}, {64, 64}},
    {"block_sparse2", kForward, 128, {128, 64}, kNone, kAny, kExactly},
    {"block_sparse2", kForward, 128, {64, 64}},
    {"block_sparse2", kForward, 192, {128, 64}, {64, 32}},
    {"block_sparse2", kForward, 256, {128, 64}, kNone, kPlain},
    {"block_sparse2", kForward, 256, {32, 64}, {32, 32}},
    {"block_sparse2", kBackward, 16, {16, 16}},
    {"block_sparse2", kBackward, 32, {128, 128}, {64, 128}},
    {"block_sparse2", kBackward, 64, {128, 128}, {64, 64}},
    {"block_sparse2", kBackward, 96, {64, 128}, {64, 64}},
    {"block_sparse2", kBackward, 128, {64, 128}, kNone, kAny, kExactly},
    {"block_sparse2", kBackward, 128, {64, 64}, {32, 64}},
    {"block_sparse2", kBackward, 192, {64, 64}, {32, 32}},
    {"block_sparse2", kBackward, 256, {32, 64}, {16, 32}},
    {"split_kv", kForward, 16, {16, 128}, {16, 64}},
    {"split_kv", kForward, 32, {16, 128}, {16, 64}},
    {"split_kv", kForward, 64, {16, 128}, {16, 64}},
    {"split_kv", kForward, 96, {16, 64}, {16, 32}},
    {"split_kv", kForward, 128, {16, 64}, {16, 32}},
    {"split_kv", kForward, 192, {16, 64}, {16, 16}},
    {"split_kv", kForward, 256, {16, 64}, {16, 16}},
};
// clang-format on

/// The tilings of the programs with Hopper's instructions, by the padded head dimension, where they
/// differ from those above.
struct HopperTiling {
  PassKind pass;
  Index width;
  Tiling tiling;
  double row_time = 1;           ///< per row tile and key, relative to the width's other tilings
  bool takes_block_mask = true;  ///< whether block_sparse2 uses it, too

  /// The relative time of a launch (no unit): rounds of row tiles, one on each SM, times keys in
  /// whole column tiles, times row_time. Masks, key lengths and the ends of packed sequences, which
  /// shorten row tiles unevenly, are left out.
  double launch_time(const AttentionProblem& problem, Index sm_count) const {
    const Index row_tiles = problem.batch * problem.heads * ceil_div(problem.N, tiling.Br);
    const Index keys = ceil_div(problem.N_kv, tiling.Bc) * tiling.Bc;
    return static_cast<double>(ceil_div(row_tiles, sm_count) * keys) * row_time;
  }
};
// clang-format off
// On an H200, 256 rows take 1.4 times as long as 192 rows over the same keys: a third more rows, in
// products of 64 keys, which are slower than those of 128.
constexpr HopperTiling kHopperTilings[] = {
    {kForward, 64, {192, 128}},
    {kForward, 64, {256, 64}, 1.4, false},
    {kForward, 96, {128, 128}},
    {kForward, 128, {128, 128}},
    {kForward, 192, {128, 112}},
    {kForward, 256, {128, 80}},
    {kBackward, 256, {64, 64}},
};
// clang-format on

/// The lines for the problem, which the kernel's program supports in their tilings.
std::vector<HopperTiling> hopper_lines(const KernelInfo& kernel, PassKind pass,
                                       const AttentionProblem& problem, const Knobs& knobs) {
  std::vector<HopperTiling> lines;
  if (!takes_pass(kernel, pass, problem.dtype)) return lines;
  std::ranges::copy_if(kHopperTilings, std::back_inserter(lines), [&](const HopperTiling& line) {
    return (line.pass == kBackward) == (pass == kBackward) &&
           line.width == padded_head_dim(problem.d) &&
           (line.takes_block_mask || !kernel.takes_block_mask) &&
           kernel.pass(pass).has_hopper_program(problem, line.tiling, knobs);
  });
  return lines;
}

// The tiles that cuBLAS chose in measurements on an H200
constexpr Tiling kCublasTiling{128, 256}, kCublasFp32Tiling{128, 64};

constexpr Tiling kCudaCoreDefault{64, 64};
// Smaller tiles for wide heads on GPUs with less shared memory
constexpr Tiling kCudaCoreSmaller{32, 32}, kCudaCoreSmallest{16, 16};

}  // namespace

std::vector<Tiling> default_tilings(const KernelInfo& kernel, PassKind pass,
                                    const AttentionProblem& problem) {
  const bool is_fp32 = problem.dtype == DType::fp32;
  if (!takes_pass(kernel, pass, problem.dtype) || problem.d < 1 || problem.d > kMaxKernelHeadDim) {
    return {};
  }
  if (kernel.pass(pass).uses_cublas()) {
    return {is_fp32 ? kCublasFp32Tiling : kCublasTiling};
  }
  if (is_fp32) return {kCudaCoreDefault, kCudaCoreSmaller, kCudaCoreSmallest};
  std::vector<Tiling> tilings;
  const auto add = [&](const Tiling& tiling) {
    const bool is_new = std::ranges::find(tilings, tiling) == tilings.end();
    if (is_new && tiling != kNone) tilings.push_back(tiling);
  };
  for (const DefaultTilings& line : kDefaults) {
    const bool is_of_pass = (line.pass == kBackward) == (pass == kBackward);
    if (line.kernel != kernel.name || !is_of_pass || !line.is_for(problem)) continue;
    add(line.tiling);
    add(line.smaller);
  }
  return tilings;
}

std::vector<Tiling> hopper_tilings(const KernelInfo& kernel, PassKind pass,
                                   const AttentionProblem& problem, const Knobs& knobs) {
  std::vector<Tiling> tilings;
  for (const HopperTiling& line : hopper_lines(kernel, pass, problem, knobs)) {
    tilings.push_back(line.tiling);
  }
  return tilings;
}

std::optional<Tiling> default_tiling(ResolvedRun run, const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const std::vector<Tiling> tilings = default_tilings(kernel, run.pass(), run.problem);
  if (tilings.empty()) return std::nullopt;
  if (target.has_hopper_instructions()) {
    const auto lines = hopper_lines(kernel, run.pass(), run.problem, knobs_of(run.asked));
    const auto shortest = std::ranges::min_element(lines, {}, [&](const HopperTiling& line) {
      return line.launch_time(run.problem, target.sm_count);
    });
    if (shortest != lines.end()) return shortest->tiling;
  }
  const Index most_bytes = target.shared_bytes_per_block;
  const auto fits = [&](const Tiling& tiling) {
    run.tiling = tiling;
    return std::ranges::all_of(
        kernel.programs(run, {.shared_bytes_per_block = most_bytes}),
        [&](const LaunchProgram& launch) { return launch.block.shared_bytes <= most_bytes; });
  };
  const auto found = std::ranges::find_if(tilings, fits);
  return found != tilings.end() ? *found : tilings.front();
}

/// Nothing if the run uses its kernel's default.
static std::optional<Tiling> asked_tiling(const ResolvedRun& run) {
  if (run.asked.Br || run.asked.Bc) return run.tiling;
  return run.problem.block_mask ? std::optional(run.problem.block_mask->tiling()) : std::nullopt;
}

Tiling tiling_on_gpu(const ResolvedRun& run, const ProgramTarget& target) {
  const auto asked = asked_tiling(run);
  return asked ? *asked : default_tiling(run, target).value();
}

std::vector<Tiling> possible_tilings(const ResolvedRun& run) {
  if (const auto asked = asked_tiling(run)) return {*asked};
  const KernelInfo& kernel = kernel_of(run);
  std::vector<Tiling> tilings = default_tilings(kernel, run.pass(), run.problem);
  const auto own = hopper_tilings(kernel, run.pass(), run.problem, knobs_of(run.asked));
  tilings.insert(tilings.end(), own.begin(), own.end());
  return tilings;
}

}  // namespace attnscope::kernels
