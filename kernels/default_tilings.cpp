#include "kernels/default_tilings.h"

#include <algorithm>
#include <span>

#include "kernels/compile/block_program.h"
#include "kernels/kernel_parameters.h"
#include "reference/block_mask.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// The problems that a line applies to: those with score features, those without, or both.
enum class Scores : std::uint8_t { any, plain, scored };

constexpr Tiling kNone{0, 0};

/// One line of a table, in 16-bit precision. Later lines apply to problems that no earlier line
/// matches, and to GPUs with less shared memory. Lines for one head dimension are for rows that
/// fill their tiles: these are copied without checking columns (columns_policy()).
struct DefaultTilings {
  std::string_view kernel;
  PassKind pass;
  Index least_d, most_d;
  Tiling tiling;
  Tiling alternative = kNone;  ///< for GPUs with less shared memory; on Hopper: for other lengths
  Scores scores = Scores::any;

  bool is_for(const KernelInfo& info, PassKind kind, const AttentionProblem& problem) const {
    const bool scored = score_features(problem).any();
    return kernel == info.name && (pass == PassKind::backward) == (kind == PassKind::backward) &&
           least_d <= problem.d && problem.d <= most_d &&
           (scores == Scores::any || scored == (scores == Scores::scored));
  }
};

constexpr PassKind kForward = PassKind::forward, kBackward = PassKind::backward;
constexpr Scores kPlain = Scores::plain, kScored = Scores::scored;
constexpr Tiling kFourConsumers{256, 64};

// clang-format off
// The programs that run on every GPU. Hopper uses these, too, unless it has another below.
constexpr DefaultTilings kOnEveryGpu[] = {
    {"flash1", kForward, 64, 64, {128, 256}},
    {"flash1", kForward, 1, 64, {128, 128}},
    {"flash1", kForward, 65, 96, {128, 128}, {64, 64}},
    {"flash1", kForward, 128, 128, {128, 256}, kNone, kPlain},
    {"flash1", kForward, 97, 128, {128, 64}, {64, 64}, kPlain},
    {"flash1", kForward, 97, 128, {128, 128}, {64, 64}, kScored},
    {"flash1", kForward, 129, 192, {128, 64}, {64, 32}},
    {"flash1", kForward, 193, 256, {64, 32}, {32, 32}},
    {"flash1", kBackward, 1, 16, {128, 128}, kNone, kPlain},
    {"flash1", kBackward, 1, 32, {64, 128}},
    {"flash1", kBackward, 64, 64, {64, 128}},
    {"flash1", kBackward, 33, 64, {64, 128}, kNone, kPlain},
    {"flash1", kBackward, 33, 64, {64, 64}},
    {"flash1", kBackward, 65, 96, {64, 64}, {32, 64}},
    {"flash1", kBackward, 128, 128, {64, 128}},
    {"flash1", kBackward, 97, 128, {64, 64}, {32, 32}},
    {"flash1", kBackward, 129, 256, {32, 64}, {16, 32}},
    {"flash2", kForward, 1, 32, {128, 64}},
    {"flash2", kForward, 33, 64, {128, 128}},
    {"flash2", kForward, 65, 128, {128, 64}},
    {"flash2", kForward, 129, 192, {128, 64}, {128, 32}},
    {"flash2", kForward, 193, 256, {128, 64}, {64, 32}},
    {"flash2", kBackward, 1, 16, {128, 128}},
    {"flash2", kBackward, 32, 32, {128, 128}},
    {"flash2", kBackward, 64, 64, {128, 128}},
    {"flash2", kBackward, 17, 64, {64, 128}},
    {"flash2", kBackward, 33, 64, {64, 64}, kNone, kScored},
    {"flash2", kBackward, 65, 96, {64, 128}, {64, 64}},
    {"flash2", kBackward, 97, 128, {64, 128}, {32, 64}},
    {"flash2", kBackward, 129, 192, {64, 64}, {32, 32}},
    {"flash2", kBackward, 193, 256, {32, 64}, {16, 32}},
    {"block_sparse2", kForward, 1, 16, {16, 16}},
    {"block_sparse2", kForward, 17, 64, {128, 128}},
    {"block_sparse2", kForward, 65, 96, {64, 128}, {64, 64}},
    {"block_sparse2", kForward, 128, 128, {128, 64}},
    {"block_sparse2", kForward, 97, 128, {64, 64}},
    {"block_sparse2", kForward, 129, 192, {128, 64}, {64, 32}},
    {"block_sparse2", kForward, 193, 256, {128, 64}, kNone, kPlain},
    {"block_sparse2", kForward, 193, 256, {32, 64}, {32, 32}},
    {"block_sparse2", kBackward, 1, 16, {16, 16}},
    {"block_sparse2", kBackward, 17, 32, {128, 128}, {64, 128}},
    {"block_sparse2", kBackward, 33, 64, {128, 128}, {64, 64}},
    {"block_sparse2", kBackward, 128, 128, {64, 128}},
    {"block_sparse2", kBackward, 97, 128, {64, 64}, {32, 64}},
    {"split_kv", kForward, 1, 64, {16, 128}, {16, 64}},
    {"split_kv", kForward, 65, 128, {16, 64}, {16, 32}},
    {"split_kv", kForward, 129, 256, {16, 64}, {16, 16}},
};

// The programs with Hopper's instructions, where their tilings differ.
constexpr DefaultTilings kOnHopper[] = {
    {"flash2", kForward, 33, 64, {192, 128}, kFourConsumers},
    {"flash2", kForward, 65, 128, {128, 128}},
    {"flash2", kForward, 129, 192, {128, 112}},
    {"flash2", kForward, 193, 256, {128, 80}},
    {"flash2", kBackward, 193, 256, {64, 64}},
    {"block_sparse2", kForward, 33, 64, {192, 128}},
};
// clang-format on

/// The tilings of the table's lines for the problem, each once. A kernel that runs another's
/// programs (block_sparse2) has the other's where it has no lines.
std::vector<Tiling> tilings_in(std::span<const DefaultTilings> table, const KernelInfo& kernel,
                               PassKind pass, const AttentionProblem& problem) {
  std::vector<Tiling> tilings;
  for (const DefaultTilings& line : table) {
    if (!line.is_for(kernel, pass, problem)) continue;
    for (const Tiling& tiling : {line.tiling, line.alternative}) {
      const bool is_new = std::ranges::find(tilings, tiling) == tilings.end();
      if (is_new && tiling != kNone) tilings.push_back(tiling);
    }
  }
  const auto first = std::ranges::find(catalog(), kernel.programs, &KernelInfo::programs);
  if (!tilings.empty() || first->name == kernel.name) return tilings;
  return tilings_in(table, *first, pass, problem);
}

/// The relative time of a launch with Hopper's instructions (no unit): rounds of row tiles, one on
/// each SM, times keys in whole column tiles, times the time per row tile and key. Masks, key
/// lengths and the ends of packed sequences, which shorten row tiles unevenly, are left out.
double launch_time(const Tiling& tiling, const AttentionProblem& problem, Index sm_count) {
  // On an H200, 256 rows take 1.4 times as long as 192 rows over the same keys: a third more rows,
  // in products of 64 keys, which are slower than those of 128
  const double relative_time = tiling == kFourConsumers ? 1.4 : 1;
  const Index row_tiles = problem.batch * problem.heads * ceil_div(problem.N, tiling.Br);
  const Index keys = ceil_div(problem.N_kv, tiling.Bc) * tiling.Bc;
  return static_cast<double>(ceil_div(row_tiles, sm_count) * keys) * relative_time;
}

}  // namespace

std::vector<Tiling> default_tilings(const KernelInfo& kernel, PassKind pass,
                                    const AttentionProblem& problem) {
  const bool is_fp32 = problem.dtype == DType::fp32;
  if (!takes_pass(kernel, pass, problem.dtype) || problem.d < 1 || problem.d > kMaxKernelHeadDim) {
    return {};
  }
  // The tiles that cuBLAS chose in measurements on an H200
  if (kernel.pass(pass).uses_cublas()) return {is_fp32 ? Tiling{128, 64} : Tiling{128, 256}};
  // On CUDA cores, the smaller ones for wide heads on GPUs with less shared memory
  if (is_fp32) return {{64, 64}, {32, 32}, {16, 16}};
  return tilings_in(kOnEveryGpu, kernel, pass, problem);
}

std::vector<Tiling> hopper_tilings(const KernelInfo& kernel, PassKind pass,
                                   const AttentionProblem& problem, const Knobs& knobs) {
  ResolvedRun run{.asked = {.pass = pass, .kernel = std::string(kernel.name)}, .problem = problem};
  std::vector<Tiling> tilings = tilings_in(kOnHopper, kernel, pass, problem);
  std::erase_if(tilings, [&](const Tiling& tiling) {
    run.tiling = tiling;
    return !has_hopper_program(run, knobs);
  });
  return tilings;
}

std::optional<Tiling> default_tiling(ResolvedRun run, const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const std::vector<Tiling> tilings = default_tilings(kernel, run.pass(), run.problem);
  if (tilings.empty()) return std::nullopt;
  if (target.has_hopper_instructions()) {
    const auto own = hopper_tilings(kernel, run.pass(), run.problem, knobs_of(run.asked));
    const auto shortest = std::ranges::min_element(own, {}, [&](const Tiling& tiling) {
      return launch_time(tiling, run.problem, target.sm_count);
    });
    if (shortest != own.end()) return *shortest;
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

ResolvedRun run_on_gpu(ResolvedRun run, const ProgramTarget& target) {
  const auto asked = asked_tiling(run);
  run.tiling = asked ? *asked : default_tiling(run, target).value();
  return run;
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
