#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "reference/block_mask.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// "128x64 or 16x16".
std::string join(const std::vector<Tiling>& tilings) {
  std::string text;
  for (const Tiling& tiling : tilings) {
    if (!text.empty()) text += " or ";
    text += fmt::format("{}x{}", tiling.Br, tiling.Bc);
  }
  return text;
}

/// The problems with has_score_parameters() that a kernel supports.
enum class TakesScores : std::uint8_t { none, decoding, all };

TakesScores takes_scores(const KernelInfo& kernel, DType dtype) {
  if (kernel.name == "standard") return TakesScores::all;
  if (kernel.name == "split_kv") return TakesScores::decoding;
  return dtype == DType::fp32 ? TakesScores::none : TakesScores::all;
}

/// Rejects what split_kv, a kernel for a cache of keys, does not support.
std::optional<Error> check_decoding(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (!problem.score.has_dropout() && !problem.is_packed()) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, problem.is_packed() ? "cu_seqlens_q" : "dropout",
      fmt::format(
          "the problem has {}; kernel {} decodes: it takes windows, key lengths, soft-capping and "
          "ALiBi, no dropout, which belongs to training, and no packed sequences",
          extras_text(problem), kernel.name));
}

/// The first field of a score function, of key lengths, of packed sequences or of a block mask that
/// the problem has.
std::string_view field_of_extras(const AttentionProblem& problem, bool scores) {
  if (!scores) return "block_mask";
  if (problem.score.soft_cap) return "softcap";
  if (problem.score.has_alibi()) return "alibi";
  if (problem.score.has_dropout()) return "dropout";
  if (problem.has_key_lengths()) return "key_lengths";
  return problem.is_packed() ? "cu_seqlens_q" : "block_mask";
}

/// Checks score functions, key lengths, packed sequences and block masks.
std::optional<Error> check_extras(const KernelInfo& kernel, const AttentionProblem& problem) {
  const TakesScores takes = takes_scores(kernel, problem.dtype);
  if (takes == TakesScores::decoding) {
    if (auto error = check_decoding(kernel, problem)) return error;
  }
  const bool takes_extras = takes != TakesScores::none;
  std::string extras = takes_extras ? "" : extras_text(problem);
  if (problem.block_mask != nullptr && !kernel.takes_block_mask) {
    extras += extras.empty() ? "a block mask" : ", a block mask";
  }
  if (extras.empty()) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, field_of_extras(problem, !takes_extras),
      fmt::format(
          "the problem has {}; kernel {} takes {}", extras, kernel.name,
          takes_extras
              ? "none"
              : "plain softmax attention over whole sequences; standard, and flash1, flash2 and "
                "block_sparse2 in fp16 and bf16, take score functions, key lengths and packed "
                "sequences"));
}

std::optional<Error> check_mask(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (auto error = check_extras(kernel, problem)) return error;
  if (problem.mask.is_none() || problem.mask.is_causal()) return std::nullopt;
  if (takes_scores(kernel, problem.dtype) != TakesScores::none) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, "mask",
      fmt::format("{} is {}; kernel {} takes none, causal or causal:top-left in fp32; standard, "
                  "and flash1, flash2, block_sparse2 and split_kv in fp16 and bf16, take any",
                  field_name("mask"), to_string(problem.mask), kernel.name));
}

/// Largest number of tiles in a launch's lists, whose numbers have 32 bits.
constexpr Index kMostListedTiles = Index{1} << 27;

/// All kernels except standard have lists of the tiles of packed sequences, in any of these
/// tilings.
std::optional<Error> check_packed_tiles(const KernelInfo& kernel, const AttentionProblem& problem,
                                        const std::vector<Tiling>& tilings) {
  if (kernel.name == "standard" || !problem.is_packed()) return std::nullopt;
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
      fmt::format("the packed sequences have about {} tiles of {}x{}; kernel {} lists at most {}",
                  tiles, smallest.Br, smallest.Bc, kernel.name, kMostListedTiles));
}

/// A block mask decides the tiling.
std::optional<Error> check_block_mask(const KernelInfo& kernel, const AttentionProblem& problem,
                                      const std::optional<Tiling>& tiling) {
  if (!kernel.takes_block_mask) return std::nullopt;
  if (problem.block_mask == nullptr) {
    // All tiles of the smallest tiling
    const Index tiles = ceil_div(problem.N, 16) * ceil_div(problem.N_kv, 16);
    if (tiles <= kMostListedTiles) return std::nullopt;
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        fmt::format("{} x {} is {} x {} without a block mask; kernel {} lists at most {} tiles of "
                    "16x16",
                    field_name("seq_len"), field_name("kv_len"), problem.N, problem.N_kv,
                    kernel.name, kMostListedTiles));
  }
  if (!tiling) return std::nullopt;
  const Tiling& of_mask = problem.block_mask->tiling();
  if (of_mask == *tiling) return std::nullopt;
  return invalid_field(
      ErrorCode::contradiction, "Br",
      fmt::format("the block mask has tiles of {}x{}, the tiling is {}x{}; kernel {} computes the "
                  "mask's tiles",
                  of_mask.Br, of_mask.Bc, tiling->Br, tiling->Bc, kernel.name));
}

/// Checks which tensors are kept in HBM between passes, and the row width that fp32 requires.
std::optional<Error> check_carry(const KernelInfo& kernel, const AttentionProblem& problem,
                                 Carry carry) {
  if (carry == Carry::problem) return std::nullopt;
  if (!kernel.honours_carry) {
    return invalid_field(
        ErrorCode::not_applicable, "carry",
        fmt::format("{} is {}; kernel {} carries nothing through HBM between passes and takes only "
                    "problem",
                    field_name("carry"), to_string(carry), kernel.name));
  }
  constexpr Index kWidest = 192;
  if (problem.dtype == DType::fp32 || problem.d <= kWidest) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, "carry",
      fmt::format("{} is {} at {} {}; kernel {} takes that up to {}, since wider tiles would spill "
                  "registers",
                  field_name("carry"), to_string(carry), field_name("head_dim"), problem.d,
                  kernel.name, kWidest));
}

/// Checks that the hardware and cuBLAS support the grid and product dimensions.
std::optional<Error> check_size(const KernelInfo& kernel, const AttentionProblem& problem,
                                Index sequence_length) {
  constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();
  const Index rows = problem.batch * problem.heads * sequence_length;
  if (rows <= kMaxBlocks) return std::nullopt;
  return invalid_field(
      ErrorCode::too_many, "seq_len",
      fmt::format("{} x {} x {} is {}; kernel {} takes at most {} rows in one launch",
                  field_name("batch"), field_name("heads"), field_name("seq_len"), rows,
                  kernel.name, kMaxBlocks));
}

/// " with softcap 30", if this determines which instances exist.
std::string with_text(const AttentionProblem& problem) {
  return has_score_parameters(problem) ? " with " + scores_text(problem) : std::string();
}

Error no_such_tiling(std::string_view pass, const AttentionProblem& problem, const Tiling& tiling,
                     const std::vector<Tiling>& tilings) {
  return invalid_field(
      ErrorCode::not_applicable, "Br",
      fmt::format("{} has no tiling {}x{} for {} at {} {}{}; it was compiled for {}", pass,
                  tiling.Br, tiling.Bc, to_string(problem.dtype), field_name("head_dim"), problem.d,
                  with_text(problem), join(tilings)));
}

std::optional<Error> check_tiling(const KernelInfo& kernel, const AttentionProblem& problem,
                                  const Tiling& tiling) {
  const std::vector<Tiling> tilings = kernel_tilings(kernel, problem);
  if (std::find(tilings.begin(), tilings.end(), tiling) != tilings.end()) return std::nullopt;
  if (kernel.name == "standard") {
    return invalid_field(
        ErrorCode::not_applicable, "Br",
        fmt::format("tiling {}x{} cannot be asked of kernel standard: cuBLAS chooses the tiles of "
                    "its products; leave {} and {} out",
                    tiling.Br, tiling.Bc, field_name("Br"), field_name("Bc")));
  }
  return no_such_tiling(fmt::format("kernel {}", kernel.name), problem, tiling, tilings);
}

}  // namespace

bool has_score_parameters(const AttentionProblem& problem) {
  const bool plain_mask = problem.mask.is_none() || problem.mask.is_causal();
  return !plain_mask || !problem.score.is_plain() || problem.has_key_lengths() ||
         problem.is_packed();
}

std::string scores_text(const AttentionProblem& problem) {
  const std::string extras = extras_text(problem);
  return extras.empty() ? "mask " + to_string(problem.mask) : extras;
}

std::optional<Tiling> asked_tiling(const AttentionProblem& problem,
                                   const std::optional<Tiling>& tiling) {
  if (tiling || problem.block_mask == nullptr) return tiling;
  return problem.block_mask->tiling();
}

std::optional<Error> supports(const KernelInfo& kernel, const AttentionProblem& problem,
                              const std::optional<Tiling>& tiling, Carry carry) {
  if (auto error = validate(problem)) return error;
  const bool is_16_bit_only = kernel.name == "split_kv" || kernel.name == "block_sparse2";
  if (is_16_bit_only && problem.dtype == DType::fp32) {
    return invalid_field(
        ErrorCode::not_applicable, "dtype",
        fmt::format("{} is fp32; kernel {} takes fp16 or bf16", field_name("dtype"), kernel.name));
  }
  if (kernel_tilings(kernel, problem.dtype, problem.d).empty()) {
    return invalid_field(
        ErrorCode::not_applicable, "head_dim",
        fmt::format("{} is {}; kernel {} takes {}", field_name("head_dim"), problem.d, kernel.name,
                    head_dims_text(kernel, problem.dtype)));
  }
  if (auto error = check_mask(kernel, problem)) return error;
  if (auto error = check_carry(kernel, problem, carry)) return error;
  if (auto error = check_size(kernel, problem, problem.N)) return error;
  if (auto error = check_block_mask(kernel, problem, tiling)) return error;
  if (auto error = check_packed_tiles(kernel, problem, kernel_tilings(kernel, problem)))
    return error;
  const auto asked = asked_tiling(problem, tiling);
  return asked ? check_tiling(kernel, problem, *asked) : std::nullopt;
}

namespace {

std::optional<Error> check_deterministic(const KernelInfo& kernel,
                                         const AttentionProblem& problem) {
  if (kernel.name == "block_sparse2") {
    return invalid_field(
        ErrorCode::not_applicable, "deterministic",
        "the backward pass of kernel block_sparse2 adds up dQ in an order of chance; standard, "
        "flash1 and flash2 have a deterministic one");
  }
  // Turns at dQ require that every column tile before the last one that sees a row tile sees it too
  if (kernel.name != "flash2" || !has_score_parameters(problem)) return std::nullopt;
  return invalid_field(
      ErrorCode::not_applicable, "deterministic",
      "a deterministic dQ of kernel flash2 takes plain softmax attention over whole sequences with "
      "mask none, causal or causal:top-left; that of standard takes all");
}

}  // namespace

std::optional<Error> supports_backward(const KernelInfo& kernel, const AttentionProblem& problem,
                                       const std::optional<Tiling>& tiling, Carry carry,
                                       bool deterministic) {
  if (auto error = validate(problem)) return error;
  if (!kernel.has_backward) {
    return invalid_field(ErrorCode::not_applicable, "pass",
                         fmt::format("kernel {} has no backward pass", kernel.name));
  }
  if (problem.dtype == DType::fp32 && kernel.name != "flash2") {
    return invalid_field(ErrorCode::not_applicable, "dtype",
                         fmt::format("{} is fp32; the backward pass of kernel {} takes fp16 or "
                                     "bf16, that of flash2 fp32 too",
                                     field_name("dtype"), kernel.name));
  }
  const std::vector<Tiling> tilings = backward_tilings(kernel, problem);
  if (tilings.empty()) {
    const bool fits_others = problem.d <= kMaxKernelHeadDim;
    return invalid_field(
        ErrorCode::not_applicable, "head_dim",
        fmt::format("{} is {}; the backward pass of kernel {}{} takes {}{}", field_name("head_dim"),
                    problem.d, kernel.name, problem.dtype == DType::fp32 ? " in fp32" : "",
                    backward_head_dims_text(kernel, problem.dtype),
                    fits_others ? ", since wider tiles would spill registers" : ""));
  }
  if (carry != Carry::problem) {
    return invalid_field(ErrorCode::not_applicable, "carry",
                         fmt::format("{} is {}; the backward pass of kernel {} takes only problem",
                                     field_name("carry"), to_string(carry), kernel.name));
  }
  if (deterministic) {
    if (auto error = check_deterministic(kernel, problem)) return error;
  }
  if (auto error = check_mask(kernel, problem)) return error;
  if (auto error = check_size(kernel, problem, std::max(problem.N, problem.N_kv))) return error;
  if (auto error = check_block_mask(kernel, problem, tiling)) return error;
  if (auto error = check_packed_tiles(kernel, problem, tilings)) return error;
  const auto asked = asked_tiling(problem, tiling);
  if (!asked || std::find(tilings.begin(), tilings.end(), *asked) != tilings.end()) {
    return std::nullopt;
  }
  return no_such_tiling(fmt::format("the backward pass of kernel {}", kernel.name), problem, *asked,
                        tilings);
}

std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability) {
  int major = 0;
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  if (major >= kLeastComputeMajor) return std::nullopt;
  return unavailable(
      fmt::format("{} has compute capability {}; the kernels need a GPU with {}.0 or newer",
                  gpu_name, capability, kLeastComputeMajor));
}

}  // namespace attnscope::kernels
