#include "kernels/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "kernels/compile/block_program.h"
#include "kernels/default_tilings.h"
#include "kernels/kernel_parameters.h"
#include "kernels/run_programs.h"
#include "reference/block_mask.h"
#include "reference/check.h"
#include "reference/parse_number.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// The scores that every kernel takes.
constexpr std::string_view kPlainScores =
    "plain softmax attention over whole sequences with mask none, causal or causal:top-left";

/// "softcap 30", "mask window:9,0": what makes the problem's scores not plain; else empty.
std::string features_text(const AttentionProblem& problem) {
  const std::string extras = extras_text(problem);
  const bool has_other_mask = extras.empty() && score_features(problem).any();
  return has_other_mask ? "mask " + to_string(problem.mask) : extras;
}

/// The first field that makes the problem's scores not plain.
std::string_view field_of_features(const AttentionProblem& problem) {
  if (problem.score.soft_cap) return "softcap";
  if (problem.score.has_alibi()) return "alibi";
  if (problem.score.has_dropout()) return "dropout";
  if (problem.has_key_lengths()) return "key_lengths";
  return problem.is_packed() ? "cu_seqlens_q" : "mask";
}

/// Checks the precision, the head dimension and the choices besides the tiling and the switches.
std::optional<Error> check_pass(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const bool backward = run.pass() == PassKind::backward;
  const std::string pass =
      fmt::format("{}kernel {}", backward ? "the backward pass of " : "", kernel.name);
  if (!takes_pass(kernel, run.pass(), problem.dtype)) {
    return not_applicable("dtype", "{} is fp32; {} takes fp16 or bf16{}", field_name("dtype"), pass,
                          backward ? ", that of flash2 also fp32" : "");
  }
  if (problem.d > kMaxKernelHeadDim) {
    return not_applicable("head_dim", "{} is {}; {} takes 1 to {}", field_name("head_dim"),
                          problem.d, pass, kMaxKernelHeadDim);
  }
  if (backward && run.asked.variant.carry != Carry::problem) {
    return not_applicable("carry", "{} is {}; {} accepts only problem", field_name("carry"),
                          to_string(run.asked.variant.carry), pass);
  }
  if (run.asked.variant.visit_hidden && problem.dtype == DType::fp32) {
    return not_applicable("visit_hidden", "{} is for the kernels that use tensor cores; {} is fp32",
                          field_name("visit_hidden"), field_name("dtype"));
  }
  const bool orders_additions = backward && run.asked.deterministic && kernel.backward->adds_dQ;
  if (orders_additions && kernel.takes_block_mask) {
    return not_applicable("deterministic",
                          "{} sums dQ in an arbitrary order; standard, flash1 and flash2 have a "
                          "deterministic one",
                          pass);
  }
  // A fixed order of the dQ additions requires that a row tile is visited by every column tile up
  // to the last one that visits it
  if (!orders_additions || !score_features(problem).any()) return std::nullopt;
  return not_applicable("deterministic",
                        "with deterministic dQ, kernel {} takes only {}; standard takes all",
                        kernel.name, kPlainScores);
}

/// Checks masks, score functions, key lengths and packed sequences.
std::optional<Error> check_scores(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const std::string features = features_text(problem);
  if (kernel.only_decodes && (problem.score.has_dropout() || problem.is_packed())) {
    return not_applicable(
        problem.is_packed() ? "cu_seqlens_q" : "dropout",
        "the problem has {}; kernel {} decodes: it accepts windows, key lengths, soft-capping and "
        "ALiBi, but no packed sequences and no dropout, which belongs to training",
        features, kernel.name);
  }
  if (problem.dtype != DType::fp32 || kernel.takes_fp32_scores || features.empty()) {
    return std::nullopt;
  }
  return not_applicable(
      field_of_features(problem),
      "the problem has {}; in fp32, kernel {} takes only {}; in fp16 and bf16 it takes all{}",
      features, kernel.name, kPlainScores,
      run.pass() == PassKind::forward ? ", as does kernel standard in fp32" : "");
}

/// Checks that the GPU supports the grid of every launch.
std::optional<Error> check_size(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const bool backward = run.pass() == PassKind::backward;
  const Index length = backward ? std::max(problem.N, problem.N_kv) : problem.N;
  constexpr Index kMostBlocks = std::numeric_limits<std::int32_t>::max();
  const Index rows = problem.batch * problem.heads * length;
  if (rows <= kMostBlocks) return std::nullopt;
  return invalid_field(ErrorCode::too_many, "seq_len",
                       "{} x {} x {} is {}; kernel {} accepts at most {} rows in one launch",
                       field_name("batch"), field_name("heads"), field_name("seq_len"), rows,
                       run.asked.kernel, kMostBlocks);
}

/// Checks that the tiles of the block mask, if any, are those of the run.
std::optional<Error> check_block_mask(const ResolvedRun& run) {
  const KernelInfo& kernel = kernel_of(run);
  const SharedBlockMask& mask = run.problem.block_mask;
  // The field's scope has rejected one for other kernels
  ATTNSCOPE_CHECK(kernel.takes_block_mask || mask == nullptr, ==, true);
  if (mask == nullptr || mask->tiling() == run.tiling) return std::nullopt;
  return invalid_field(
      ErrorCode::contradiction, "Br",
      "the block mask has tiles of {}x{}, the tiling is {}x{}; kernel {} computes the mask's tiles",
      mask->tiling().Br, mask->tiling().Bc, run.tiling.Br, run.tiling.Bc, kernel.name);
}

/// Checks the size of a launch's lists of tiles, which hold 32-bit numbers: without a block mask,
/// in the smallest tiling of all; of packed sequences, in the smallest that the run may use.
std::optional<Error> check_listed_tiles(const ResolvedRun& run) {
  constexpr Index kMostTiles = Index{1} << 27;
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const bool lacks_mask = kernel.takes_block_mask && problem.block_mask == nullptr;
  Tiling smallest{16, 16};
  Index tiles = 0;
  if (lacks_mask) {
    tiles = ceil_div(problem.N, smallest.Br) * ceil_div(problem.N_kv, smallest.Bc);
  } else if (problem.is_packed() && !kernel.forward.uses_cublas()) {
    smallest = std::ranges::min(possible_tilings(run), {},
                                [](const Tiling& tiling) { return tiling.Br * tiling.Bc; });
    for (Index s = 0; s < problem.sequence_count(); ++s) {
      const Sequence own = problem.sequence(s);
      tiles +=
          (ceil_div(own.queries(), smallest.Br) + 1) * (ceil_div(own.keys.size(), smallest.Bc) + 1);
    }
  }
  if (tiles <= kMostTiles) return std::nullopt;
  return invalid_field(
      ErrorCode::too_many, lacks_mask ? "seq_len" : "cu_seqlens_q",
      "{} about {} tiles of {}x{}; kernel {} lists at most {}",
      lacks_mask ? "without a block mask, the problem has" : "the packed sequences have", tiles,
      smallest.Br, smallest.Bc, kernel.name, kMostTiles);
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

/// Checks that a thread block can compute the run's tiles; `own`: the default on the run's GPU.
std::optional<Error> check_tiling(const ResolvedRun& run, std::optional<Tiling> own) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  if (kernel.pass(run.pass()).uses_cublas()) {
    if (tiling == own) return std::nullopt;
    return not_applicable(
        "Br",
        "kernel {} cannot use tiles of {}x{}: cuBLAS chooses the tiles of its products; leave "
        "{} and {} out",
        kernel.name, tiling.Br, tiling.Bc, field_name("Br"), field_name("Bc"));
  }
  const std::string limit = block_limit(run);
  if (limit.empty()) return std::nullopt;
  const std::string features = features_text(problem);
  return invalid_field(ErrorCode::does_not_fit, "Br",
                       "kernel {}, {}, cannot compute tiles of {}x{} for {} at {} {}{}{}: {}; {}",
                       kernel.name, to_string(run.pass()), tiling.Br, tiling.Bc,
                       to_string(problem.dtype), field_name("head_dim"), problem.d,
                       features.empty() ? "" : " with ", features, limit,
                       tiling == own ? "choose other tiles or switches"
                                     : fmt::format("its default is {}x{}", own->Br, own->Bc));
}

}  // namespace

std::optional<Error> supports(const ResolvedRun& run, const ProgramTarget& target) {
  if (auto error = validate(run.problem)) return error;
  for (const auto check : {check_pass, check_scores, check_size}) {
    if (auto error = check(run)) return error;
  }
  // Hopper's own programs have other tilings, and check_program() checks their switches
  const auto tiled = run_on_gpu(run, {.shared_bytes_per_block = target.shared_bytes_per_block});
  if (auto error = check_block_mask(tiled)) return error;
  if (auto error = check_tiling(tiled, default_tiling(run, target))) return error;
  return check_listed_tiles(run);
}

std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability) {
  const auto major = parse_number<int>(capability.substr(0, capability.find('.')));
  if (major.value_or(0) >= kLeastComputeMajor) return std::nullopt;
  return unavailable("{} has compute capability {}; the kernels need a GPU with {}.0 or newer",
                     gpu_name, capability, kLeastComputeMajor);
}

}  // namespace attnscope::kernels
