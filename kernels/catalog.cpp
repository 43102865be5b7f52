#include "kernels/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "reference/block_mask.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

constexpr std::array kCatalog{
    KernelInfo{.name = "standard",
               .algorithm = "standard",
               .idea = "S and P are stored in HBM: two cuBLAS products around one fused "
                       "mask-and-softmax kernel",
               .source = "kernels/standard/softmax_forward.cu",
               .honours_carry = false,
               .has_backward = true,
               .backward_source = "kernels/standard/softmax_gradient.cu"},
    KernelInfo{.name = "flash1",
               .algorithm = "flash1",
               .idea = "S and P stay on chip; K and V are loaded once, O, m and l travel through "
                       "HBM on every pass over j",
               .source = "kernels/flash1/flash1_forward.cuh",
               .honours_carry = true,
               .has_backward = true,
               .backward_source = "kernels/flash1/flash1_backward.cuh"},
    KernelInfo{.name = "flash2",
               .algorithm = "flash2",
               .idea = "the loops are swapped: O, m and l stay on chip and every row tile is its "
                       "own thread block",
               .source = "kernels/flash2/flash2_forward.cuh",
               .honours_carry = false,
               .has_backward = true,
               .backward_source = "kernels/flash2/flash2_backward.cuh"},
    KernelInfo{.name = "block_sparse2",
               .algorithm = "block_sparse2",
               .idea =
                   "flash2's program on the tiles that a block mask keeps: each row tile walks a "
                   "list of its column tiles",
               .source = "kernels/flash2/flash2_forward.cuh",
               .has_backward = true,
               .takes_block_mask = true,
               .backward_source = "kernels/flash2/flash2_backward.cuh"},
    KernelInfo{.name = "split_kv",
               .algorithm = "split_kv",
               .idea = "for few queries: the keys are cut into splits, each a thread block's; a "
                       "second launch combines what they give",
               .source = "kernels/split_kv/split_kv_partial.cuh",
               .honours_carry = false,
               .has_backward = false},
};

/// Which head dimensions an instance takes: d alone, every one that is padded to d, or those of the
/// latter that are not d itself (which has an instance of its own).
enum class Takes : std::uint8_t { exactly, padded, only_padded };

/// One line of the table of compiled instances.
struct CompiledTiling {
  Index d;
  Tiling tiling;
  Takes takes = Takes::exactly;

  bool takes_head_dim(Index head_dim) const {
    if (takes == Takes::exactly) return head_dim == d;
    return padded_head_dim(head_dim) == d && (takes == Takes::padded || head_dim != d);
  }
};

constexpr Takes kPadded = Takes::padded, kOnlyPadded = Takes::only_padded;

// The first line of a head dimension is its default
constexpr std::array kFlash1TensorCore{
    CompiledTiling{16, {128, 128}},  CompiledTiling{16, {16, 16}},   CompiledTiling{32, {128, 128}},
    CompiledTiling{64, {128, 256}},  CompiledTiling{64, {128, 128}}, CompiledTiling{64, {32, 32}},
    CompiledTiling{128, {128, 128}},
};
// The second of a padded head dimension is for GPUs with 99 KB of shared memory a block
constexpr std::array kFlash2TensorCore{
    CompiledTiling{16, {128, 64}, kPadded},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {128, 64}, kPadded},
    CompiledTiling{64, {128, 128}, kPadded},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {128, 64}, kPadded},
    CompiledTiling{128, {128, 64}, kPadded},
    CompiledTiling{192, {128, 64}, kPadded},
    CompiledTiling{192, {128, 32}, kPadded},
    CompiledTiling{256, {128, 64}, kPadded},
    CompiledTiling{256, {64, 32}, kPadded},
};
// The second of a head dimension is for GPUs with 99 KB of shared memory a block; at 256 there is
// none
constexpr std::array kFlash2Backward{
    CompiledTiling{16, {128, 128}, kPadded},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {128, 128}},
    CompiledTiling{32, {64, 128}},
    CompiledTiling{32, {64, 128}, kOnlyPadded},
    CompiledTiling{64, {128, 128}},
    CompiledTiling{64, {64, 128}},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{64, {64, 128}, kOnlyPadded},
    CompiledTiling{96, {64, 128}, kPadded},
    CompiledTiling{96, {64, 64}, kPadded},
    CompiledTiling{128, {64, 128}, kPadded},
    CompiledTiling{128, {32, 64}, kPadded},
    CompiledTiling{192, {64, 64}, kPadded},
    CompiledTiling{192, {32, 32}, kPadded},
    CompiledTiling{256, {32, 64}, kPadded},
};
constexpr std::array kFlash1Backward{
    CompiledTiling{16, {128, 128}}, CompiledTiling{16, {16, 16}}, CompiledTiling{32, {64, 128}},
    CompiledTiling{64, {64, 128}},  CompiledTiling{64, {32, 32}}, CompiledTiling{128, {64, 64}},
};
// The backward pass has every tiling of its block masks in common with the forward pass
constexpr std::array kBlockSparse{
    CompiledTiling{16, {16, 16}}, CompiledTiling{32, {128, 128}}, CompiledTiling{64, {128, 128}},
    CompiledTiling{64, {32, 32}}, CompiledTiling{128, {128, 64}}, CompiledTiling{128, {64, 128}},
};
constexpr std::array kBlockSparseBackward{
    CompiledTiling{16, {16, 16}}, CompiledTiling{32, {128, 128}}, CompiledTiling{64, {128, 128}},
    CompiledTiling{64, {32, 32}}, CompiledTiling{128, {64, 128}},
};
constexpr std::array kSplitKv{
    CompiledTiling{16, {16, 128}, kPadded}, CompiledTiling{32, {16, 128}, kPadded},
    CompiledTiling{64, {16, 128}, kPadded}, CompiledTiling{96, {16, 64}, kPadded},
    CompiledTiling{128, {16, 64}, kPadded}, CompiledTiling{192, {16, 64}, kPadded},
    CompiledTiling{256, {16, 64}, kPadded},
};
constexpr std::array kCudaCore{
    CompiledTiling{16, {64, 64}}, CompiledTiling{16, {16, 16}}, CompiledTiling{32, {64, 64}},
    CompiledTiling{64, {64, 64}}, CompiledTiling{64, {32, 32}}, CompiledTiling{128, {64, 64}},
};

std::span<const CompiledTiling> compiled_tilings(const KernelInfo& kernel, DType dtype) {
  if (kernel.name == "split_kv") {
    return dtype == DType::fp32 ? std::span<const CompiledTiling>() : kSplitKv;
  }
  if (kernel.name == "block_sparse2") {
    return dtype == DType::fp32 ? std::span<const CompiledTiling>() : kBlockSparse;
  }
  if (dtype == DType::fp32) return kCudaCore;
  if (kernel.name == "flash1") return kFlash1TensorCore;
  return kFlash2TensorCore;
}

std::vector<Tiling> tilings_of(std::span<const CompiledTiling> table, Index d) {
  std::vector<Tiling> tilings;
  for (const CompiledTiling& compiled : table) {
    if (compiled.takes_head_dim(d)) tilings.push_back(compiled.tiling);
  }
  return tilings;
}

/// "16, 32, 64 or 128": what the instances take; standard's cuBLAS takes all.
std::string head_dims_text(const KernelInfo& kernel, std::span<const CompiledTiling> table) {
  const auto pads = [](const CompiledTiling& compiled) { return compiled.takes == kPadded; };
  if (kernel.name == "standard" || std::any_of(table.begin(), table.end(), pads)) {
    return fmt::format("1 to {}", kMaxKernelHeadDim);
  }
  return "16, 32, 64 or 128";
}

/// "128x64 or 16x16".
std::string join(const std::vector<Tiling>& tilings) {
  std::string text;
  for (const Tiling& tiling : tilings) {
    if (!text.empty()) text += " or ";
    text += fmt::format("{}x{}", tiling.Br, tiling.Bc);
  }
  return text;
}

/// What flash2 on the tensor cores takes and no other kernel does.
bool takes_score_parameters(const KernelInfo& kernel, DType dtype) {
  return kernel.name == "flash2" && dtype != DType::fp32;
}

/// Score functions, sequences of their own lengths, block masks.
std::optional<Error> check_extras(const KernelInfo& kernel, const AttentionProblem& problem) {
  const bool takes_scores = takes_score_parameters(kernel, problem.dtype);
  std::string extras = takes_scores ? "" : extras_text(problem);
  if (problem.block_mask != nullptr && !kernel.takes_block_mask) {
    extras += extras.empty() ? "a block mask" : ", a block mask";
  }
  if (extras.empty()) return std::nullopt;
  return invalid_request(fmt::format(
      "the problem has {}; kernel {} takes {}", extras, kernel.name,
      takes_scores ? "none"
                   : "plain softmax attention over whole sequences, flash2 in fp16 and bf16 score "
                     "functions, key lengths and packed sequences"));
}

std::optional<Error> check_mask(const KernelInfo& kernel, const AttentionProblem& problem) {
  if (auto error = check_extras(kernel, problem)) return error;
  if (problem.mask.is_none() || problem.mask.is_causal()) return std::nullopt;
  if (takes_score_parameters(kernel, problem.dtype)) return std::nullopt;
  return invalid_request(fmt::format(
      "mask is {}; kernel {} takes none, causal or causal:top-left, flash2 any in fp16 and bf16",
      to_string(problem.mask), kernel.name));
}

/// Score functions have one compiled tiling a head dimension.
std::optional<Error> check_scored_tiling(const KernelInfo& kernel, const AttentionProblem& problem,
                                         const Tiling& compiled,
                                         const std::optional<Tiling>& tiling) {
  if (!has_score_parameters(problem)) return std::nullopt;
  const std::string what =
      extras_text(problem).empty() ? "mask " + to_string(problem.mask) : extras_text(problem);
  constexpr std::array kScoredHeadDims{Index{16}, Index{32}, Index{64}, Index{128}};
  if (std::find(kScoredHeadDims.begin(), kScoredHeadDims.end(), problem.d) ==
      kScoredHeadDims.end()) {
    return invalid_request(
        fmt::format("the problem has {}; kernel {} takes that at head-dim 16, 32, 64 or 128, not "
                    "{}",
                    what, kernel.name, problem.d));
  }
  if (!tiling || *tiling == compiled) return std::nullopt;
  return invalid_request(
      fmt::format("the problem has {}; kernel {} takes that in tiling {}x{} alone", what,
                  kernel.name, compiled.Br, compiled.Bc));
}

/// A block mask decides the tiling.
std::optional<Error> check_block_mask(const KernelInfo& kernel, const AttentionProblem& problem,
                                      const std::optional<Tiling>& tiling) {
  if (!kernel.takes_block_mask) return std::nullopt;
  if (problem.block_mask == nullptr) {
    // All tiles of the smallest tiling: they are numbered in 32 bits
    constexpr Index kMostTiles = Index{1} << 27;
    if (ceil_div(problem.N, 16) * ceil_div(problem.N_kv, 16) <= kMostTiles) return std::nullopt;
    return invalid_request(
        fmt::format("seq-len x kv-len is {} x {} without a block mask; kernel {} lists at most {} "
                    "tiles of 16x16",
                    problem.N, problem.N_kv, kernel.name, kMostTiles));
  }
  if (!tiling) return std::nullopt;
  const Tiling& of_mask = problem.block_mask->tiling();
  if (of_mask == *tiling) return std::nullopt;
  return invalid_request(
      fmt::format("the block mask has tiles of {}x{}, the tiling is {}x{}; kernel {} computes the "
                  "mask's tiles",
                  of_mask.Br, of_mask.Bc, tiling->Br, tiling->Bc, kernel.name));
}

/// Grid and product dimensions that the hardware and cuBLAS can express.
std::optional<Error> check_size(const KernelInfo& kernel, const AttentionProblem& problem,
                                Index sequence_length) {
  constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();
  const Index rows = problem.batch * problem.heads * sequence_length;
  if (rows <= kMaxBlocks) return std::nullopt;
  return invalid_request(
      fmt::format("batch x heads x seq-len is {}; kernel {} takes at most {} rows in one launch",
                  rows, kernel.name, kMaxBlocks));
}

std::optional<Error> check_tiling(const KernelInfo& kernel, const AttentionProblem& problem,
                                  const Tiling& tiling) {
  const std::vector<Tiling> tilings = kernel_tilings(kernel, problem.dtype, problem.d);
  if (std::find(tilings.begin(), tilings.end(), tiling) != tilings.end()) return std::nullopt;
  if (kernel.name == "standard") {
    return invalid_request(
        fmt::format("tiling {}x{} cannot be asked of kernel standard: cuBLAS chooses the tiles of "
                    "its products; leave block-rows and block-cols out",
                    tiling.Br, tiling.Bc));
  }
  return invalid_request(fmt::format(
      "kernel {} has no tiling {}x{} for {} at head-dim {}; it was compiled for {}", kernel.name,
      tiling.Br, tiling.Bc, to_string(problem.dtype), problem.d, join(tilings)));
}

}  // namespace

bool has_score_parameters(const AttentionProblem& problem) {
  const bool plain_mask = problem.mask.is_none() || problem.mask.is_causal();
  return !plain_mask || !problem.score.is_plain() || problem.has_key_lengths() ||
         problem.is_packed();
}

std::span<const KernelInfo> catalog() {
  return kCatalog;
}

const KernelInfo* find_kernel(std::string_view name) {
  const auto found = std::find_if(kCatalog.begin(), kCatalog.end(),
                                  [&](const KernelInfo& kernel) { return kernel.name == name; });
  return found == kCatalog.end() ? nullptr : &*found;
}

std::vector<Tiling> kernel_tilings(const KernelInfo& kernel, DType dtype, Index d) {
  if (d < 1 || d > kMaxKernelHeadDim) return {};
  if (kernel.name == "standard") {
    return {dtype == DType::fp32 ? Tiling{128, 64} : Tiling{128, 256}};
  }
  return tilings_of(compiled_tilings(kernel, dtype), d);
}

namespace {

/// Shared memory of one block of the forward launch, where tilings differ in whether they fit.
Index forward_shared_bytes(const KernelInfo& kernel, DType dtype, Index d, const Tiling& tiling) {
  if (kernel.name != "flash2" || dtype == DType::fp32) return 0;
  return flash2_forward_shared_bytes(padded_head_dim(d), tiling);
}

/// The first tiling whose block has no more than that; the first of all where none has.
template <typename SharedBytes>
std::optional<Tiling> first_that_fits(const std::vector<Tiling>& tilings, Index most_bytes,
                                      const SharedBytes& shared_bytes) {
  if (tilings.empty()) return std::nullopt;
  for (const Tiling& tiling : tilings) {
    if (shared_bytes(tiling) <= most_bytes) return tiling;
  }
  return tilings.front();
}

}  // namespace

std::optional<Tiling> default_tiling(const KernelInfo& kernel, DType dtype, Index d,
                                     Index shared_bytes_per_block) {
  return first_that_fits(
      kernel_tilings(kernel, dtype, d), shared_bytes_per_block,
      [&](const Tiling& tiling) { return forward_shared_bytes(kernel, dtype, d, tiling); });
}

std::optional<Tiling> asked_tiling(const AttentionProblem& problem,
                                   const std::optional<Tiling>& tiling) {
  if (tiling || problem.block_mask == nullptr) return tiling;
  return problem.block_mask->tiling();
}

std::optional<Error> supports(const KernelInfo& kernel, const AttentionProblem& problem,
                              const std::optional<Tiling>& tiling, Carry carry) {
  if (auto error = validate(problem)) return invalid_request(std::move(*error));
  const bool is_16_bit_only = kernel.name == "split_kv" || kernel.name == "block_sparse2";
  if (is_16_bit_only && problem.dtype == DType::fp32) {
    return invalid_request(fmt::format("dtype is fp32; kernel {} takes fp16 or bf16", kernel.name));
  }
  if (kernel_tilings(kernel, problem.dtype, problem.d).empty()) {
    return invalid_request(
        fmt::format("head-dim is {}; kernel {} takes {}{}", problem.d, kernel.name,
                    head_dims_text(kernel, compiled_tilings(kernel, problem.dtype)),
                    kernel.name == "flash2" && problem.dtype == DType::fp32 ? " in fp32" : ""));
  }
  if (auto error = check_mask(kernel, problem)) return error;
  if (carry != Carry::problem && !kernel.honours_carry) {
    return invalid_request(
        fmt::format("carry is {}; kernel {} carries nothing through HBM between "
                    "passes and takes only problem",
                    to_string(carry), kernel.name));
  }
  if (auto error = check_size(kernel, problem, problem.N)) return error;
  const Tiling best = kernel_tilings(kernel, problem.dtype, problem.d).front();
  if (auto error = check_scored_tiling(kernel, problem, best, tiling)) return error;
  if (auto error = check_block_mask(kernel, problem, tiling)) return error;
  const auto asked = asked_tiling(problem, tiling);
  return asked ? check_tiling(kernel, problem, *asked) : std::nullopt;
}

namespace {

/// Shared memory of one block of the backward launch; standard's cuBLAS looks after itself.
Index backward_shared_bytes(const KernelInfo& kernel, Index d, const Tiling& tiling) {
  if (kernel.name == "standard") return 0;
  if (kernel.name == "flash1") return flash1_backward_shared_bytes(d, tiling);
  return flash2_backward_shared_bytes(padded_head_dim(d), tiling);
}

/// Whether the thread blocks of flash2 that share dQ can take turns: every column tile before the
/// last that sees a row tile sees it too.
bool adds_in_order(const AttentionProblem& problem) {
  return (problem.mask.is_none() || problem.mask.is_causal()) && !problem.is_packed();
}

std::optional<Error> check_deterministic(const KernelInfo& kernel,
                                         const AttentionProblem& problem) {
  if (kernel.name == "block_sparse2") {
    return invalid_request(
        "the backward pass of kernel block_sparse2 adds up dQ in an order of chance; standard, "
        "flash1 and flash2 have a deterministic one");
  }
  if (kernel.name != "flash2" || adds_in_order(problem)) return std::nullopt;
  return invalid_request(
      "a deterministic dQ of kernel flash2 takes mask none, causal or causal:top-left over whole "
      "sequences");
}

std::span<const CompiledTiling> compiled_backward_tilings(const KernelInfo& kernel) {
  if (kernel.name == "flash1") return kFlash1Backward;
  if (kernel.name == "block_sparse2") return kBlockSparseBackward;
  return kFlash2Backward;
}

}  // namespace

std::vector<Tiling> backward_tilings(const KernelInfo& kernel, DType dtype, Index d) {
  if (!kernel.has_backward || dtype == DType::fp32) return {};
  if (kernel.name == "standard") return kernel_tilings(kernel, dtype, d);
  return tilings_of(compiled_backward_tilings(kernel), d);
}

std::optional<Tiling> default_backward_tiling(const KernelInfo& kernel, DType dtype, Index d,
                                              Index shared_bytes_per_block) {
  return first_that_fits(
      backward_tilings(kernel, dtype, d), shared_bytes_per_block,
      [&](const Tiling& tiling) { return backward_shared_bytes(kernel, d, tiling); });
}

std::optional<Error> supports_backward(const KernelInfo& kernel, const AttentionProblem& problem,
                                       const std::optional<Tiling>& tiling, Carry carry,
                                       bool deterministic) {
  if (auto error = validate(problem)) return invalid_request(std::move(*error));
  if (!kernel.has_backward) {
    return invalid_request(fmt::format("kernel {} has no backward pass", kernel.name));
  }
  if (problem.dtype == DType::fp32) {
    return invalid_request(fmt::format(
        "dtype is fp32; the backward pass of kernel {} takes fp16 or bf16", kernel.name));
  }
  const std::vector<Tiling> tilings = backward_tilings(kernel, problem.dtype, problem.d);
  if (tilings.empty()) {
    return invalid_request(fmt::format("head-dim is {}; the backward pass of kernel {} takes {}",
                                       problem.d, kernel.name,
                                       head_dims_text(kernel, compiled_backward_tilings(kernel))));
  }
  if (carry != Carry::problem) {
    return invalid_request(
        fmt::format("carry is {}; the backward pass of kernel {} takes only problem",
                    to_string(carry), kernel.name));
  }
  if (deterministic) {
    if (auto error = check_deterministic(kernel, problem)) return error;
  }
  if (auto error = check_mask(kernel, problem)) return error;
  if (auto error = check_size(kernel, problem, std::max(problem.N, problem.N_kv))) return error;
  if (auto error = check_scored_tiling(kernel, problem, tilings.front(), tiling)) return error;
  if (auto error = check_block_mask(kernel, problem, tiling)) return error;
  const auto asked = asked_tiling(problem, tiling);
  if (!asked || std::find(tilings.begin(), tilings.end(), *asked) != tilings.end()) {
    return std::nullopt;
  }
  return invalid_request(fmt::format(
      "the backward pass of kernel {} has no tiling {}x{} for {} at head-dim {}; it was compiled "
      "for {}",
      kernel.name, asked->Br, asked->Bc, to_string(problem.dtype), problem.d, join(tilings)));
}

}  // namespace attnscope::kernels
