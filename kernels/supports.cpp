#include "kernels/supports.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "kernels/compile/block_program.h"
#include "kernels/default_tilings.h"
#include "kernels/kernel_parameters.h"
#include "kernels/resolved_run.h"
#include "reference/block_mask.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// Rejects problems that split_kv, a kernel for KV caches, does not support.
std::optional<Error> check_decoding(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (!problem.score.has_dropout() && !problem.is_packed()) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, problem.is_packed() ? "cu_seqlens_q" : "dropout",
      "the problem has {}; kernel {} decodes: it accepts windows, key lengths, soft-capping and "
      "ALiBi, but no packed sequences and no dropout, which belongs to training",
      extras_text(problem), kernel.name);
}

/// The problem's first field of a score function, key lengths or packed sequences.
std::string_view field_of_extras(const AttentionProblem& problem) {
  if (problem.score.soft_cap) return "softcap";
  if (problem.score.has_alibi()) return "alibi";
  if (problem.score.has_dropout()) return "dropout";
  return problem.has_key_lengths() ? "key_lengths" : "cu_seqlens_q";
}

/// Checks score functions, key lengths and packed sequences.
std::optional<Error> check_extras(const KernelInfo& kernel, const AttentionProblem& problem) {
  const TakesScores takes = kernel.takes_scores(problem.dtype);
  if (takes == TakesScores::decoding) return check_decoding(kernel, problem);
  const std::string extras = extras_text(problem);
  if (takes == TakesScores::all || extras.empty()) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, field_of_extras(problem),
      "the problem has {}; kernel {} takes plain softmax attention over whole sequences; standard, "
      "and flash1, flash2 and block_sparse2 in fp16 and bf16, take score functions, key lengths "
      "and packed sequences",
      extras, kernel.name);
}

std::optional<Error> check_mask(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (auto error = check_extras(kernel, problem)) return error;
  if (problem.mask.is_none() || problem.mask.is_causal()) return std::nullopt;
  if (kernel.takes_scores(problem.dtype) != TakesScores::none) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, "mask",
      "{} is {}; kernel {} takes none, causal or causal:top-left in fp32; standard, "
      "and flash1, flash2, block_sparse2 and split_kv in fp16 and bf16, take any",
      field_name("mask"), to_string(problem.mask), kernel.name);
}

/// The largest number of tiles in a launch's lists, which hold 32-bit numbers.
constexpr Index kMostListedTiles = Index{1} << 27;

/// Checks the size of the lists of tiles of packed sequences, for kernels that choose their own
/// tiling from these.
std::optional<Error> check_packed_tiles(const KernelInfo& kernel, const AttentionProblem& problem,
                                        const std::vector<Tiling>& tilings) {
  if (kernel.forward.block_program == nullptr || !problem.is_packed()) return std::nullopt;
  const Tiling smallest = *std::ranges::min_element(
      tilings, {}, [](const Tiling& tiling) { return tiling.Br * tiling.Bc; });
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

/// Checks the block mask, which determines the tiling.
std::optional<Error> check_block_mask(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
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
  const Tiling tiling = *asked_tiling(run);
  const Tiling& of_mask = problem.block_mask->tiling();
  if (of_mask == tiling) return std::nullopt;
  return invalid_field(
      ErrorCode::contradiction, "Br",
      "the block mask has tiles of {}x{}, the tiling is {}x{}; kernel {} computes the mask's tiles",
      of_mask.Br, of_mask.Bc, tiling.Br, tiling.Bc, kernel.name);
}

/// Checks that the hardware and cuBLAS support the grid and product dimensions.
std::optional<Error> check_size(const KernelInfo& kernel, const AttentionProblem& problem,
                                Index sequence_length) {
  constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();
  const Index rows = problem.batch * problem.heads * sequence_length;
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

/// In one clause, why no block can compute the tiling; else empty.
std::string block_limit(ResolvedRun run, const Tiling& tiling, const Knobs& knobs) {
  constexpr Index kStep = 16, kMostRows = 256;  // of a tile
  for (const Index side : {tiling.Br, tiling.Bc}) {
    if (kStep <= side && side <= kMostRows && side % kStep == 0) continue;
    return fmt::format("the sides of a tile are multiples of {} up to {}", kStep, kMostRows);
  }
  run.tiling = tiling;
  const BlockProgram block = kernel_of(run).pass(run.pass()).block_program(run, {.knobs = knobs});
  if (!block.limit.empty() || block.shared_bytes <= kMostSharedBytes) return block.limit;
  return fmt::format(
      "a thread block would need {} bytes of shared memory, and no GPU has more than {}",
      block.shared_bytes, kMostSharedBytes);
}

/// Checks that a thread block can compute the tiling.
std::optional<Error> check_tiling(const ResolvedRun& run, const Tiling& tiling, const Knobs& knobs,
                                  const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const Carry carry = run.asked.variant.carry;
  if (kernel.pass(run.pass()).block_program == nullptr) {
    if (default_tilings(kernel, run.pass(), problem).front() == tiling) return std::nullopt;
    return invalid_field(
        ErrorCode::not_applicable, "Br",
        "kernel {} cannot use tiles of {}x{}: cuBLAS chooses the tiles of its products; leave "
        "{} and {} out",
        kernel.name, tiling.Br, tiling.Bc, field_name("Br"), field_name("Bc"));
  }
  const std::string limit = block_limit(run, tiling, knobs);
  if (limit.empty()) return std::nullopt;
  const Tiling own = *default_tiling(kernel, run.pass(), problem, carry, target);
  return invalid_field(ErrorCode::does_not_fit, "Br",
                       "kernel {}, {}, cannot compute tiles of {}x{} for {} at {} {}{}: {}; {}",
                       kernel.name, to_string(run.pass()), tiling.Br, tiling.Bc,
                       to_string(problem.dtype), field_name("head_dim"), problem.d,
                       with_text(problem), limit,
                       tiling == own ? "choose other tiles or switches"
                                     : fmt::format("its default is {}x{}", own.Br, own.Bc));
}

/// Checks that the kernel has the pass, and accepts the precision and head dimension.
std::optional<Error> check_pass(const KernelInfo& kernel, PassKind pass,
                                const AttentionProblem& problem) {
  const bool backward = pass == PassKind::backward;
  if (backward && !kernel.has_backward()) {
    return invalid_field(ErrorCode::not_applicable, "pass", "kernel {} has no backward pass",
                         kernel.name);
  }
  if (!takes_pass(kernel, pass, problem.dtype)) {
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

std::optional<Error> check_deterministic(const KernelInfo& kernel,
                                         const AttentionProblem& problem) {
  const DqOrder order = kernel.pass(PassKind::backward).dQ_order;
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
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const Knobs knobs = knobs_of(run.asked);
  const bool backward = run.pass() == PassKind::backward;
  if (auto error = validate(problem)) return error;
  if (auto error = check_pass(kernel, run.pass(), problem)) return error;
  if (backward && run.asked.variant.carry != Carry::problem) {
    return invalid_field(ErrorCode::not_applicable, "carry",
                         "{} is {}; the backward pass of kernel {} accepts only problem",
                         field_name("carry"), to_string(run.asked.variant.carry), kernel.name);
  }
  if (knobs.visit_hidden != 0 && problem.dtype == DType::fp32) {
    return invalid_field(ErrorCode::not_applicable, "visit_hidden",
                         "{} is for the kernels that use tensor cores; {} is fp32",
                         field_name("visit_hidden"), field_name("dtype"));
  }
  if (backward && run.asked.deterministic) {
    if (auto error = check_deterministic(kernel, problem)) return error;
  }
  if (auto error = check_mask(kernel, problem)) return error;
  const Index length = backward ? std::max(problem.N, problem.N_kv) : problem.N;
  if (auto error = check_size(kernel, problem, length)) return error;
  if (auto error = check_block_mask(run)) return error;
  const auto asked = asked_tiling(run);
  if (asked || knobs != Knobs{}) {
    // Hopper's own programs have other tilings, and check their switches themselves
    const ProgramTarget others{.shared_bytes_per_block = target.shared_bytes_per_block};
    const Tiling tiling = tiling_on_gpu(run, others);
    if (auto error = check_tiling(run, tiling, knobs, others)) return error;
  }
  return check_packed_tiles(
      kernel, problem, asked ? std::vector{*asked} : default_tilings(kernel, run.pass(), problem));
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
