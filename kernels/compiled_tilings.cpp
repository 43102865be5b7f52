#include "kernels/compiled_tilings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "kernels/catalog.h"
#include "kernels/shared_memory.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// Which head dimensions an instance takes: only d, every one that is padded to d, or those that
/// are padded to d but are not d itself, which has its own instance.
enum class Takes : std::uint8_t { exactly, padded, only_padded };

/// Which problems: those without score parameters (has_score_parameters()), those with them, which
/// have separate instances, or both.
enum class Problems : std::uint8_t { plain, scored, both };

/// One line of the table of compiled instances.
struct CompiledTiling {
  Index d;
  Tiling tiling;
  Takes takes = Takes::exactly;
  Problems problems = Problems::plain;

  bool takes_head_dim(Index head_dim) const {
    if (takes == Takes::exactly) return head_dim == d;
    return padded_head_dim(head_dim) == d && (takes == Takes::padded || head_dim != d);
  }
  bool takes_problems(Problems asked) const {
    return problems == Problems::both || problems == asked;
  }
};

constexpr Takes kExactly = Takes::exactly, kPadded = Takes::padded,
                kOnlyPadded = Takes::only_padded;
constexpr Problems kScored = Problems::scored, kBoth = Problems::both;

// The first line of a head dimension is its default
constexpr std::array kFlash1TensorCore{
    CompiledTiling{16, {128, 128}, kPadded, kBoth},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {128, 256}, kExactly, kBoth},
    CompiledTiling{64, {128, 128}},
    CompiledTiling{64, {128, 128}, kOnlyPadded, kBoth},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {128, 128}, kPadded, kBoth},
    CompiledTiling{128, {128, 256}},
    CompiledTiling{128, {128, 64}, kOnlyPadded},
    CompiledTiling{128, {128, 128}, kPadded, kScored},
    CompiledTiling{192, {128, 64}, kPadded, kBoth},
    CompiledTiling{256, {64, 32}, kPadded, kBoth},
};
// Where the first does not fit a GPU's shared memory, the next that fits is the default
constexpr std::array kFlash2TensorCore{
    CompiledTiling{16, {128, 64}, kPadded, kBoth},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {128, 64}, kPadded, kBoth},
    CompiledTiling{64, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {128, 64}, kPadded, kBoth},
    CompiledTiling{128, {128, 64}, kPadded, kBoth},
    CompiledTiling{192, {128, 64}, kPadded, kBoth},
    CompiledTiling{192, {128, 32}, kPadded},
    CompiledTiling{256, {128, 64}, kPadded, kBoth},
    CompiledTiling{256, {64, 32}, kPadded},
};
// The second of a head dimension is for GPUs with 99 KB of shared memory a block; there is none at
// 256
constexpr std::array kFlash2Backward{
    CompiledTiling{16, {128, 128}, kPadded, kBoth},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {128, 128}, kExactly, kBoth},
    CompiledTiling{32, {64, 128}},
    CompiledTiling{32, {64, 128}, kOnlyPadded, kBoth},
    CompiledTiling{64, {128, 128}, kExactly, kBoth},
    CompiledTiling{64, {64, 128}},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{64, {64, 128}, kOnlyPadded, kBoth},
    CompiledTiling{96, {64, 128}, kPadded, kBoth},
    CompiledTiling{96, {64, 64}, kPadded},
    CompiledTiling{128, {64, 128}, kPadded, kBoth},
    CompiledTiling{128, {32, 64}, kPadded},
    CompiledTiling{192, {64, 64}, kPadded, kBoth},
    CompiledTiling{192, {32, 32}, kPadded},
    CompiledTiling{256, {32, 64}, kPadded, kBoth},
};
// Wider tiles than these would spill registers
constexpr std::array kFlash1Backward{
    CompiledTiling{16, {128, 128}, kPadded},
    CompiledTiling{16, {64, 128}, kPadded, kScored},
    CompiledTiling{16, {16, 16}},
    CompiledTiling{32, {64, 128}, kPadded, kBoth},
    CompiledTiling{64, {64, 128}, kExactly, kBoth},
    CompiledTiling{64, {64, 128}, kOnlyPadded},
    CompiledTiling{64, {64, 64}, kOnlyPadded, kScored},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {64, 64}, kPadded, kBoth},
    CompiledTiling{128, {64, 128}, kExactly, kBoth},
    CompiledTiling{128, {64, 64}, kOnlyPadded, kBoth},
    CompiledTiling{192, {32, 64}, kPadded, kBoth},
    CompiledTiling{256, {32, 64}, kPadded, kBoth},
};
// The forward pass also has every tiling in which the backward pass takes a block mask
constexpr std::array kBlockSparse{
    CompiledTiling{16, {16, 16}, kPadded, kBoth},
    CompiledTiling{32, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {64, 128}, kPadded, kBoth},
    CompiledTiling{128, {128, 64}, kExactly, kBoth},
    CompiledTiling{128, {64, 128}, kExactly, kBoth},
    CompiledTiling{128, {64, 64}, kOnlyPadded, kBoth},
    CompiledTiling{192, {128, 64}, kPadded, kBoth},
    CompiledTiling{192, {64, 64}, kPadded, kBoth},
    CompiledTiling{256, {128, 64}, kPadded},
    CompiledTiling{256, {32, 64}, kPadded, kBoth},
};
constexpr std::array kBlockSparseBackward{
    CompiledTiling{16, {16, 16}, kPadded, kBoth},
    CompiledTiling{32, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {128, 128}, kPadded, kBoth},
    CompiledTiling{64, {32, 32}},
    CompiledTiling{96, {64, 128}, kPadded, kBoth},
    CompiledTiling{128, {64, 128}, kExactly, kBoth},
    CompiledTiling{128, {64, 64}, kOnlyPadded, kBoth},
    CompiledTiling{192, {64, 64}, kPadded, kBoth},
    CompiledTiling{256, {32, 64}, kPadded, kBoth},
};
constexpr std::array kSplitKv{
    CompiledTiling{16, {16, 128}, kPadded, kBoth}, CompiledTiling{32, {16, 128}, kPadded, kBoth},
    CompiledTiling{64, {16, 128}, kPadded, kBoth}, CompiledTiling{96, {16, 64}, kPadded, kBoth},
    CompiledTiling{128, {16, 64}, kPadded, kBoth}, CompiledTiling{192, {16, 64}, kPadded, kBoth},
    CompiledTiling{256, {16, 64}, kPadded, kBoth},
};
constexpr std::array kCudaCore{
    CompiledTiling{16, {64, 64}, kPadded},  CompiledTiling{16, {16, 16}, kPadded},
    CompiledTiling{32, {64, 64}, kPadded},  CompiledTiling{64, {64, 64}, kPadded},
    CompiledTiling{64, {32, 32}, kPadded},  CompiledTiling{96, {64, 64}, kPadded},
    CompiledTiling{128, {64, 64}, kPadded}, CompiledTiling{192, {64, 64}, kPadded},
    CompiledTiling{256, {64, 64}, kPadded},
};
// Wider tiles would spill registers; at 256 every tile that fits would
constexpr std::array kCudaCoreBackward{
    CompiledTiling{16, {64, 64}, kPadded},  CompiledTiling{16, {16, 16}, kPadded},
    CompiledTiling{32, {64, 64}, kPadded},  CompiledTiling{64, {64, 64}, kPadded},
    CompiledTiling{64, {32, 32}, kPadded},  CompiledTiling{96, {64, 64}, kPadded},
    CompiledTiling{128, {64, 64}, kPadded}, CompiledTiling{192, {64, 64}, kPadded},
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

std::vector<Tiling> tilings_of(std::span<const CompiledTiling> table, Index d,
                               Problems problems = Problems::plain) {
  std::vector<Tiling> tilings;
  for (const CompiledTiling& compiled : table) {
    if (compiled.takes_head_dim(d) && compiled.takes_problems(problems)) {
      tilings.push_back(compiled.tiling);
    }
  }
  return tilings;
}

/// Those for a problem with has_score_parameters(); nothing where the kernel has none.
std::vector<Tiling> scored_tilings(std::span<const CompiledTiling> table,
                                   const AttentionProblem& problem) {
  if (!has_score_parameters(problem)) return {};
  return tilings_of(table, problem.d, Problems::scored);
}

std::span<const CompiledTiling> compiled_backward_tilings(const KernelInfo& kernel, DType dtype) {
  if (dtype == DType::fp32) {
    return kernel.name == "flash2" ? kCudaCoreBackward : std::span<const CompiledTiling>();
  }
  if (kernel.name == "flash1") return kFlash1Backward;
  if (kernel.name == "block_sparse2") return kBlockSparseBackward;
  return kFlash2Backward;
}

/// "1 to 256": what the instances take; standard's cuBLAS takes all.
std::string head_dims_text(const KernelInfo& kernel, std::span<const CompiledTiling> table) {
  return fmt::format("1 to {}", kernel.name == "standard" ? kMaxKernelHeadDim : table.back().d);
}

/// The first tiling whose block needs no more than that; the first of all when none does.
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

std::string head_dims_text(const KernelInfo& kernel, DType dtype) {
  return head_dims_text(kernel, compiled_tilings(kernel, dtype));
}

std::string backward_head_dims_text(const KernelInfo& kernel, DType dtype) {
  return head_dims_text(kernel, compiled_backward_tilings(kernel, dtype));
}

std::vector<Tiling> kernel_tilings(const KernelInfo& kernel, DType dtype, Index d) {
  if (d < 1 || d > kMaxKernelHeadDim) return {};
  if (kernel.name == "standard") {
    return {dtype == DType::fp32 ? Tiling{128, 64} : Tiling{128, 256}};
  }
  return tilings_of(compiled_tilings(kernel, dtype), d);
}

std::vector<Tiling> kernel_tilings(const KernelInfo& kernel, const AttentionProblem& problem) {
  std::vector<Tiling> plain = kernel_tilings(kernel, problem.dtype, problem.d);
  if (kernel.name == "standard") return plain;
  std::vector<Tiling> scored = scored_tilings(compiled_tilings(kernel, problem.dtype), problem);
  return scored.empty() ? plain : scored;
}

std::optional<Tiling> default_tiling(const KernelInfo& kernel, DType dtype, Index d,
                                     Index shared_bytes_per_block) {
  return first_that_fits(
      kernel_tilings(kernel, dtype, d), shared_bytes_per_block,
      [&](const Tiling& tiling) { return forward_shared_bytes(kernel, dtype, d, tiling); });
}

std::vector<Tiling> backward_tilings(const KernelInfo& kernel, DType dtype, Index d) {
  if (!kernel.has_backward) return {};
  if (kernel.name == "standard" && dtype != DType::fp32) return kernel_tilings(kernel, dtype, d);
  return tilings_of(compiled_backward_tilings(kernel, dtype), d);
}

std::vector<Tiling> backward_tilings(const KernelInfo& kernel, const AttentionProblem& problem) {
  std::vector<Tiling> plain = backward_tilings(kernel, problem.dtype, problem.d);
  if (kernel.name == "standard" || plain.empty()) return plain;
  std::vector<Tiling> scored =
      scored_tilings(compiled_backward_tilings(kernel, problem.dtype), problem);
  return scored.empty() ? plain : scored;
}

std::optional<Tiling> default_backward_tiling(const KernelInfo& kernel, DType dtype, Index d,
                                              Index shared_bytes_per_block) {
  return first_that_fits(
      backward_tilings(kernel, dtype, d), shared_bytes_per_block,
      [&](const Tiling& tiling) { return backward_shared_bytes(kernel, dtype, d, tiling); });
}

}  // namespace attnscope::kernels
