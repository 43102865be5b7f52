/// Prints, as Markdown, which head dimensions of each kernel fit which GPUs' shared memory:
///   attnscope_shared_memory_table [tiles]
/// With `tiles`: in which default tiling, and what a block takes.
/// Masks none and causal, O in HBM in the problem's precision; score functions take more. Needs no
/// GPU.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "kernels/default_tilings.h"

namespace attnscope::kernels {
namespace {

constexpr Index kWidths[] = {16, 32, 64, 96, 128, 192, 256};
constexpr Index kGpuKibibytes[] = {99, 163, 227};

AttentionProblem problem_of(DType dtype, Index d) {
  AttentionProblem problem;
  problem.dtype = dtype;
  problem.d = d;
  return problem;
}

Index shared_bytes(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
                   const Tiling& tiling, Index most_bytes) {
  return kernel.block_shape(pass)(problem, tiling, Carry::problem, most_bytes, {}).shared_bytes;
}

double kibibytes(Index bytes) {
  return static_cast<double>(bytes) / 1024.0;
}

/// "128x256, 128 KiB", or what the tiling that needs least would need.
std::string cell(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
                 Index most_bytes) {
  const Tiling chosen = *default_tiling(kernel, pass, problem, Carry::problem, most_bytes);
  const Index bytes = shared_bytes(kernel, pass, problem, chosen, most_bytes);
  if (bytes <= most_bytes) {
    return fmt::format("{}x{}, {:.0f} KiB", chosen.Br, chosen.Bc, kibibytes(bytes));
  }
  Index least = bytes;
  for (const Tiling& tiling : default_tilings(kernel, pass, problem)) {
    least = std::min(least, shared_bytes(kernel, pass, problem, tiling, most_bytes));
  }
  return fmt::format("**no**: {:.0f} KiB", kibibytes(least));
}

/// "16, 32, 64; not 96, 128": the widths that fit.
std::string widths(const KernelInfo& kernel, PassKind pass, DType dtype, Index most_bytes) {
  std::string fitting, others;
  for (const Index d : kWidths) {
    const AttentionProblem problem = problem_of(dtype, d);
    const Tiling chosen = *default_tiling(kernel, pass, problem, Carry::problem, most_bytes);
    std::string& list =
        shared_bytes(kernel, pass, problem, chosen, most_bytes) <= most_bytes ? fitting : others;
    list += (list.empty() ? "" : ", ") + std::to_string(d);
  }
  return others.empty() ? "all" : fitting + "; not " + others;
}

void print(const KernelInfo& kernel, PassKind pass, DType dtype, bool tiles) {
  const auto print_start = [&](std::string_view more) {
    fmt::print("| {} | {} | {} |{}", kernel.name, to_string(pass),
               dtype == DType::fp32 ? "fp32" : "16 bits", more);
  };
  if (!tiles) {
    print_start("");
    for (const Index most : kGpuKibibytes) {
      fmt::print(" {} |", widths(kernel, pass, dtype, most * 1024));
    }
    fmt::print("\n");
    return;
  }
  for (const Index d : kWidths) {
    print_start(fmt::format(" {} |", d));
    for (const Index most : kGpuKibibytes) {
      fmt::print(" {} |", cell(kernel, pass, problem_of(dtype, d), most * 1024));
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  using namespace attnscope;
  const bool tiles = argc > 1 && std::string_view(argv[1]) == "tiles";
  fmt::print(
      "| kernel | pass | precision |{} 99 KiB (8.6, 8.9, 12.0) | 163 KiB (8.0) | 227 KiB (9.0, "
      "10.0) |\n",
      tiles ? " d |" : "");
  fmt::print("| --- | --- | --- |{} --- | --- | --- |\n", tiles ? " --- |" : "");
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (const DType dtype : {DType::bf16, DType::fp32}) {
        const bool has_blocks = kernel.block_shape(pass) != nullptr;
        if (has_blocks && kernels::takes_pass(kernel, pass, dtype))
          kernels::print(kernel, pass, dtype, tiles);
      }
    }
  }
  return 0;
}
