#include "kernels/supports.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "kernels/compile/block_program.h"
#include "kernels/default_tilings.h"
#include "kernels/kernel_parameters.h"
#include "kernels/run_programs.h"
#include "reference/block_mask.h"
#include "reference/check.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// The problem's first field of a score function, key lengths or packed sequences.
std::string_view field_of_extras(const AttentionProblem& problem) {
  if (problem.score.soft_cap) return "softcap";
  if (problem.score.has_alibi()) return "alibi";
  if (problem.score.has_dropout()) return "dropout";
  return problem.has_key_lengths() ? "key_lengths" : "cu_seqlens_q";
}

/// Checks masks, score functions, key lengths and packed sequences.
std::optional<Error> check_scores(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const TakesScores takes = kernel.takes_scores(problem.dtype);
  const std::string extras = extras_text(problem);
  if (takes == TakesScores::decoding && (problem.score.has_dropout() || problem.is_packed())) {
    return invalid_field(
        ErrorCode::not_applicable, problem.is_packed() ? "cu_seqlens_q" : "dropout",
        "the problem has {}; kernel {} decodes: it accepts windows, key lengths, soft-capping and "
        "ALiBi, but no packed sequences and no dropout, which belongs to training",
        extras, kernel.name);
  }
  if (takes != TakesScores::none) return std::nullopt;
  if (!extras.empty()) {
    return invalid_field(
        ErrorCode::not_applicable, field_of_extras(problem),
        "the problem has {}; kernel {} takes plain softmax attention over whole sequences; "
        "standard, and flash1, flash2 and block_sparse2 in fp16 and bf16, take score functions, "
        "key lengths and packed sequences",
        extras, kernel.name);
  }
  if (problem.mask.is_none() || problem.mask.is_causal()) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, "mask",
      "{} is {}; kernel {} takes none, causal or causal:top-left in fp32; standard, "
      "and flash1, flash2, block_sparse2 and split_kv in fp16 and bf16, take any",
      field_name("mask"), to_string(problem.mask), kernel.name);
}

/// The largest number of tiles in a launch's lists, which hold 32-bit numbers.
constexpr Index kMostListedTiles = Index{1} << 27;

/// Checks the size of the lists of tiles of packed sequences, in the smallest tiling that the run
/// may use.
std::optional<Error> check_packed_tiles(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  if (kernel.forward.uses_cublas() || !problem.is_packed()) return std::nullopt;
  const Tiling smallest = std::ranges::min(
      possible_tilings(run), {}, [](const Tiling& tiling) { return tiling.Br * tiling.Bc; });
  Index tiles = 0;
  for (Index s = 0; s < problem.sequence_count(); ++s) {
    const Sequence own = problem.sequence(s);
    tiles +=
        (ceil_div(own.queries(), smallest.Br) + 1) * (ceil_div(own.keys.size(), smallest.Bc) + 1);
  }
  if (tiles <= kMostListedTiles) return std::nullopt;
  return invalid_field(
      ErrorCode::too_many, "cu_seqlens_q",
      "the packed sequences have about {} tiles of {}x{}; kernel {} lists at most {}", tiles,
      smallest.Br, smallest.Bc, kernel.name, kMostListedTiles);
}

/// Checks the block mask, whose tiles are those of the run.
std::optional<Error> check_block_mask(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  // The field's scope has rejected one for other kernels
  ATTNSCOPE_CHECK(kernel.takes_block_mask || problem.block_mask == nullptr, ==, true);
  if (!kernel.takes_block_mask) return std::nullopt;
  if (problem.block_mask == nullptr) {
    // All tiles of the smallest tiling
    const Index tiles = ceil_div(problem.N, 16) * ceil_div(problem.N_kv, 16);
    if (tiles <= kMostListedTiles) return std::nullopt;
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        "{} x {} is {} x {} without a block mask; kernel {} lists at most {} tiles of 16x16",
        field_name("seq_len"), field_name("kv_len"), problem.N, problem.N_kv, kernel.name,
        kMostListedTiles);
  }
  const Tiling& of_mask = problem.block_mask->tiling();
  if (of_mask == run.tiling) return std::nullopt;
  return invalid_field(
      ErrorCode::contradiction, "Br",
      "the block mask has tiles of {}x{}, the tiling is {}x{}; kernel {} computes the mask's tiles",
      of_mask.Br, of_mask.Bc, run.tiling.Br, run.tiling.Bc, kernel.name);
}

/// Checks that the hardware and cuBLAS support the grid and product dimensions.
std::optional<Error> check_size(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const bool backward = run.pass() == PassKind::backward;
  const Index length = backward ? std::max(problem.N, problem.N_kv) : problem.N;
  constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();
  const Index rows = problem.batch * problem.heads * length;
  if (rows <= kMaxBlocks) return std::nullopt;
  return invalid_field(ErrorCode::too_many, "seq_len",
                       "{} x {} x {} is {}; kernel {} accepts at most {} rows in one launch",
                       field_name("batch"), field_name("heads"), field_name("seq_len"), rows,
                       kernel.name, kMaxBlocks);
}

/// " with softcap 30", if the problem has such a feature.
std::string with_text(const AttentionProblem& problem) {
  if (!score_features(problem).any()) return {};
  const std::string extras = extras_text(problem);
  return " with " + (extras.empty() ? "mask " + to_string(problem.mask) : extras);
}

/// In one clause, why no block can compute the run's tiles; else empty.
std::string block_limit(const ResolvedRun& run) {
  constexpr Index kStep = 16, kMostRows = 256;  // of a tile
  for (const Index side : {run.tiling.Br, run.tiling.Bc}) {
    if (kStep <= side && side <= kMostRows && side % kStep == 0) continue;
    return fmt::format("the sides of a tile are multiples of {} up to {}", kStep, kMostRows);
  }
  const auto programs = kernel_of(run).programs(run, {.knobs = knobs_of(run.asked)});
  const BlockProgram& block = launch_with_products(programs)->block;
  if (!block.limit.empty() || block.shared_bytes <= kMostSharedBytes) return block.limit;
  return fmt::format(
      "a thread block would need {} bytes of shared memory, and no GPU has more than {}",
      block.shared_bytes, kMostSharedBytes);
}

/// Checks that a thread block can compute the run's tiles.
std::optional<Error> check_tiling(const ResolvedRun& run, const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  if (kernel.pass(run.pass()).uses_cublas()) {
    if (tiling == default_tiling(run, target)) return std::nullopt;
    return invalid_field(
        ErrorCode::not_applicable, "Br",
        "kernel {} cannot use tiles of {}x{}: cuBLAS chooses the tiles of its products; leave "
        "{} and {} out",
        kernel.name, tiling.Br, tiling.Bc, field_name("Br"), field_name("Bc"));
  }
  const std::string limit = block_limit(run);
  if (limit.empty()) return std::nullopt;
  const Tiling own = default_tiling(run, target).value();
  return invalid_field(ErrorCode::does_not_fit, "Br",
                       "kernel {}, {}, cannot compute tiles of {}x{} for {} at {} {}{}: {}; {}",
                       kernel.name, to_string(run.pass()), tiling.Br, tiling.Bc,
                       to_string(problem.dtype), field_name("head_dim"), problem.d,
                       with_text(problem), limit,
                       tiling == own ? "choose other tiles or switches"
                                     : fmt::format("its default is {}x{}", own.Br, own.Bc));
}

/// Checks that the kernel has the pass in this precision, and accepts the head dimension.
std::optional<Error> check_pass(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const bool backward = run.pass() == PassKind::backward;
  if (!takes_pass(kernel, run.pass(), problem.dtype)) {
    return invalid_field(
        ErrorCode::not_applicable, "dtype",
        backward ? fmt::format("{} is fp32; the backward pass of kernel {} takes fp16 or bf16, "
                               "that of flash2 also fp32",
                               field_name("dtype"), kernel.name)
                 : fmt::format("{} is fp32; kernel {} takes fp16 or bf16", field_name("dtype"),
                               kernel.name));
  }
  if (problem.d <= kMaxKernelHeadDim) return std::nullopt;
  return invalid_field(ErrorCode::not_applicable, "head_dim", "{} is {}; {}kernel {} takes 1 to {}",
                       field_name("head_dim"), problem.d, backward ? "the backward pass of " : "",
                       kernel.name, kMaxKernelHeadDim);
}

/// Checks the choices besides the tiling and the switches.
std::optional<Error> check_choices(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const bool backward = run.pass() == PassKind::backward;
  const ScheduleVariant& variant = run.asked.variant;
  if (backward && variant.carry != Carry::problem) {
    return invalid_field(ErrorCode::not_applicable, "carry",
                         "{} is {}; the backward pass of kernel {} accepts only problem",
                         field_name("carry"), to_string(variant.carry), kernel.name);
  }
  if (variant.visit_hidden && problem.dtype == DType::fp32) {
    return invalid_field(ErrorCode::not_applicable, "visit_hidden",
                         "{} is for the kernels that use tensor cores; {} is fp32",
                         field_name("visit_hidden"), field_name("dtype"));
  }
  if (!backward || !run.asked.deterministic) return std::nullopt;
  const DqOrder order = kernel.backward->dQ_order;
  if (order == DqOrder::any) {
    return invalid_field(ErrorCode::not_applicable, "deterministic",
                         "the backward pass of kernel {} sums dQ in an arbitrary order; standard, "
                         "flash1 and flash2 have a deterministic one",
                         kernel.name);
  }
  // A fixed order of the dQ additions requires that a row tile is visited by every column tile up
  // to the last one that visits it
  if (order == DqOrder::fixed || !score_features(problem).any()) return std::nullopt;
  return invalid_field(ErrorCode::not_applicable, "deterministic",
                       "with deterministic dQ, kernel {} takes only plain softmax attention over "
                       "whole sequences with "
                       "mask none, causal or causal:top-left; standard takes all",
                       kernel.name);
}

}  // namespace

std::optional<Error> supports(const ResolvedRun& run, const ProgramTarget& target) {
  if (auto error = validate(run.problem)) return error;
  for (const auto check : {check_pass, check_choices, check_scores, check_size}) {
    if (auto error = check(run)) return error;
  }
  // Hopper's own programs have other tilings, and resolve() checks their switches
  const ProgramTarget others{.shared_bytes_per_block = target.shared_bytes_per_block};
  ResolvedRun tiled = run;
  tiled.tiling = tiling_on_gpu(run, others);
  if (auto error = check_block_mask(tiled)) return error;
  if (auto error = check_tiling(tiled, others)) return error;
  return check_packed_tiles(run);
}

std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability) {
  int major = 0;
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  if (major >= kLeastComputeMajor) return std::nullopt;
  return unavailable("{} has compute capability {}; the kernels need a GPU with {}.0 or newer",
                     gpu_name, capability, kLeastComputeMajor);
}

}  // namespace attnscope::kernels
