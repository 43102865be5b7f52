#include "kernels/trace/trace_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/compiled_tilings.h"
#include "kernels/resolve.h"
#include "kernels/split_kv/split_kv_shared.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

struct TracedInstance {
  std::string_view kernel;
  PassKind pass;
  Index d;
  Tiling tiling;
  bool scored = false;  ///< only for problems with has_score_parameters()
};

/// Instances are in bf16; those with this head dimension, for small examples, also in fp16, and in
/// fp32 if the kernel's pass has it.
constexpr Index kSmallHeadDim = 16;

constexpr bool kScored = true;

// clang-format off
constexpr TracedInstance kTraced[] = {
    {"flash1", PassKind::forward, 16, {16, 16}},
    {"flash1", PassKind::forward, 64, {128, 256}},
    {"flash1", PassKind::forward, 128, {128, 256}},
    {"flash1", PassKind::backward, 16, {16, 16}},
    {"flash1", PassKind::backward, 64, {64, 128}},
    {"flash1", PassKind::backward, 128, {64, 128}},
    {"flash2", PassKind::forward, 16, {16, 16}},
    {"flash2", PassKind::forward, 64, {128, 128}},
    {"flash2", PassKind::forward, 128, {128, 64}},
    {"flash2", PassKind::backward, 16, {16, 16}},
    {"flash2", PassKind::backward, 64, {128, 128}},
    {"flash2", PassKind::backward, 128, {64, 128}},
    {"block_sparse2", PassKind::forward, 16, {16, 16}},
    {"block_sparse2", PassKind::forward, 64, {128, 128}},
    {"block_sparse2", PassKind::forward, 128, {128, 64}},
    {"block_sparse2", PassKind::backward, 16, {16, 16}},
    {"block_sparse2", PassKind::backward, 64, {128, 128}},
    {"block_sparse2", PassKind::backward, 128, {64, 128}},
    {"split_kv", PassKind::forward, 16, {16, 128}},
    {"split_kv", PassKind::forward, 64, {16, 128}},
    {"split_kv", PassKind::forward, 128, {16, 64}},
    {"flash1", PassKind::forward, 64, {128, 256}, kScored},
    {"flash1", PassKind::backward, 64, {64, 128}, kScored},
    {"flash2", PassKind::forward, 64, {128, 128}, kScored},
    {"flash2", PassKind::backward, 64, {128, 128}, kScored},
    {"block_sparse2", PassKind::forward, 64, {128, 128}, kScored},
    {"block_sparse2", PassKind::backward, 64, {128, 128}, kScored},
};
// clang-format on

bool has_fp32(std::string_view kernel, PassKind pass) {
  return kernel == "flash2" || (kernel == "flash1" && pass == PassKind::forward);
}

bool is_compiled(const TracedInstance& traced, DType dtype) {
  if (dtype == DType::bf16) return true;
  if (traced.d != kSmallHeadDim) return false;
  return dtype == DType::fp16 || has_fp32(traced.kernel, traced.pass);
}

/// Upper limits of the steps per pair of row tile and column tile, and of the steps around them.
constexpr Index kStepsOfTile = 24;
constexpr Index kStepsAround = 16;

/// Thread blocks of a head, and the most steps that one of them takes.
struct BlockSize {
  Index blocks_per_head;
  Index steps;
};

BlockSize block_size(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
                     const Tiling& tiling, Index Tr, Index Tc) {
  if (kernel.name == "flash1") return {1, Tc * (kStepsAround + Tr * kStepsOfTile)};
  if (pass == PassKind::backward) return {Tc, kStepsAround + Tr * kStepsOfTile};
  const Index splits = kernel.name == "split_kv" ? most_splits(problem, tiling) : 1;
  return {Tr * splits, kStepsAround + Tc * kStepsOfTile};
}

/// "head_dim 16 in 16x16 tiles, ...": the instances of a kernel's pass, scored or not.
std::string instances_text(const KernelInfo& kernel, PassKind pass, bool scored) {
  std::string text;
  for (const TracedInstance& traced : kTraced) {
    if (traced.kernel != kernel.name || traced.pass != pass || traced.scored != scored) continue;
    text += fmt::format("{}{} {} in {}x{} tiles", text.empty() ? "" : ", ", field_name("head_dim"),
                        traced.d, traced.tiling.Br, traced.tiling.Bc);
  }
  return text;
}

/// The error when the run has no instance in the requested tiling.
Error no_instance(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const PassKind pass = run.pass();
  const auto asked = asked_tiling(run);
  const bool scored = has_score_parameters(problem);
  const std::string have = instances_text(kernel, pass, scored);
  if (scored && have.empty() && !instances_text(kernel, pass, false).empty()) {
    return invalid_field(
        ErrorCode::not_applicable, "mask",
        fmt::format("the instrumented build of kernel {} takes plain softmax attention over whole "
                    "sequences, with mask none, causal or causal:top-left",
                    kernel.name));
  }
  std::string there_is = "flash1, flash2, block_sparse2 and split_kv have some";
  if (!have.empty() && scored) {
    there_is = fmt::format("with {} there is bf16 at {}", scores_text(problem), have);
  } else if (!have.empty()) {
    there_is = fmt::format("there is bf16, and {} at {} {}: {}",
                           has_fp32(kernel.name, pass) ? "fp16 and fp32" : "fp16",
                           field_name("head_dim"), kSmallHeadDim, have);
  }
  return invalid_field(
      ErrorCode::not_applicable,
      have.empty() ? "algorithm"
      : asked      ? "Br"
                   : "head_dim",
      fmt::format("kernel {} has no instrumented build, {}, for {} at {} {}{}; {}", kernel.name,
                  to_string(pass), to_string(problem.dtype), field_name("head_dim"), problem.d,
                  asked ? fmt::format(" in {}x{} tiles", asked->Br, asked->Bc) : std::string(),
                  there_is));
}

}  // namespace

std::vector<Tiling> traced_tilings(const KernelInfo& kernel, PassKind pass, DType dtype, Index d,
                                   bool scored) {
  std::vector<Tiling> tilings;
  for (const TracedInstance& traced : kTraced) {
    const bool fits = is_compiled(traced, dtype) && traced.kernel == kernel.name &&
                      traced.pass == pass && traced.d == d && traced.scored == scored;
    if (fits) tilings.push_back(traced.tiling);
  }
  return tilings;
}

Index TracePlan::bytes() const {
  return blocks * static_cast<Index>(sizeof(TraceBlock)) +
         blocks * events_per_block * static_cast<Index>(sizeof(TraceEvent)) +
         rows() * static_cast<Index>(sizeof(TraceRow));
}

Result<TracePlan> plan_trace(const ResolvedRun& run, Index row_step) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const PassKind pass = run.pass();
  const Carry carry = run.asked.variant.carry;
  if (carry != Carry::problem) {
    return invalid_field(ErrorCode::not_applicable, "carry",
                         fmt::format("{} is {}; the instrumented build of kernel {} has only "
                                     "problem",
                                     field_name("carry"), to_string(carry), kernel.name));
  }

  // Find the instance
  const std::vector<Tiling> tilings =
      traced_tilings(kernel, pass, problem.dtype, problem.d, has_score_parameters(problem));
  const Tiling chosen = asked_tiling(run).value_or(tilings.empty() ? Tiling{} : tilings.front());
  const bool exists = std::find(tilings.begin(), tilings.end(), chosen) != tilings.end();
  if (!exists) return no_instance(run);

  // Size the buffers
  const Index Tr = ceil_div(problem.N, chosen.Br);
  const Index Tc = ceil_div(problem.N_kv, chosen.Bc);
  const BlockSize size = block_size(kernel, pass, problem, chosen, Tr, Tc);
  TracePlan plan;
  plan.launch = pass == PassKind::backward  ? "backward"
                : kernel.name == "split_kv" ? "partial"
                                            : "forward";
  plan.tiling = chosen;
  plan.heads = problem.batch * problem.heads;
  plan.blocks = plan.heads * size.blocks_per_head;
  plan.events_per_block = size.steps;
  if (pass == PassKind::forward && row_step > 0) {
    plan.row_step = row_step;
    plan.rows_per_head = ceil_div(problem.N, row_step);
    plan.column_tiles = Tc;
    if (kernel.name == "split_kv") plan.row_parts = split_kv_warps(chosen);
  }
  constexpr Index kMaxTiles = 65536;  // a step names its tile in 16 bits
  if (plan.bytes() > kMaxTraceBytes || Tr > kMaxTiles || Tc > kMaxTiles) {
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        fmt::format(
            "this trace would take {} MiB on the GPU; at most {} MiB are taken: choose fewer "
            "heads, a shorter sequence or fewer rows",
            plan.bytes() >> 20, kMaxTraceBytes >> 20));
  }
  return plan;
}

}  // namespace attnscope::kernels
