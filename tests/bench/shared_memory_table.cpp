/// Prints, as Markdown, which head dimensions of each kernel fit which GPUs' shared memory:
///   attnscope_shared_memory_table [tiles]
/// With `tiles`: in which tiling, and what a block takes.
/// Masks none and causal, the carry of the problem; score functions, some of whose instances are
/// wider than d asks for, take more. Needs no GPU.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/shared_memory.h"

namespace attnscope::kernels {
namespace {

using SharedBytes = Index (*)(const KernelInfo&, DType, Index, const Tiling&);

/// "128x256, 128 KiB", or what the tiling that needs least would need.
std::string cell(const KernelInfo& kernel, DType dtype, Index d, const std::vector<Tiling>& tilings,
                 const std::optional<Tiling>& chosen, SharedBytes bytes, Index most_bytes) {
  if (!chosen) return "not compiled";
  const auto kibibytes = [&](const Tiling& tiling) {
    return static_cast<double>(bytes(kernel, dtype, d, tiling)) / 1024.0;
  };
  if (bytes(kernel, dtype, d, *chosen) <= most_bytes) {
    return fmt::format("{}x{}, {:.0f} KiB", chosen->Br, chosen->Bc, kibibytes(*chosen));
  }
  double least = kibibytes(tilings.front());
  for (const Tiling& tiling : tilings) least = std::min(least, kibibytes(tiling));
  return fmt::format("**no**: {:.0f} KiB", least);
}

constexpr Index kWidths[] = {16, 32, 64, 96, 128, 192, 256};
constexpr Index kGpuKibibytes[] = {99, 163, 227};

/// "16, 32, 64; not 96, 128": the widths that fit.
std::string widths(const KernelInfo& kernel, DType dtype, bool backward, Index most_bytes) {
  std::string fitting, others;
  for (const Index d : kWidths) {
    const auto chosen = backward ? default_backward_tiling(kernel, dtype, d, most_bytes)
                                 : default_tiling(kernel, dtype, d, most_bytes);
    if (!chosen) continue;
    const Index bytes = backward ? backward_shared_bytes(kernel, dtype, d, *chosen)
                                 : forward_shared_bytes(kernel, dtype, d, *chosen);
    std::string& list = bytes <= most_bytes ? fitting : others;
    list += (list.empty() ? "" : ", ") + std::to_string(d);
  }
  return others.empty() ? "all" : fitting + "; not " + others;
}

void print_widths(const KernelInfo& kernel, DType dtype, bool backward) {
  const auto tilings =
      backward ? backward_tilings(kernel, dtype, 64) : kernel_tilings(kernel, dtype, 64);
  if (tilings.empty()) return;
  fmt::print("| {} | {} | {} |", kernel.name, backward ? "backward" : "forward",
             dtype == DType::fp32 ? "fp32" : "16 bits");
  for (const Index kibibytes : kGpuKibibytes) {
    fmt::print(" {} |", widths(kernel, dtype, backward, kibibytes * 1024));
  }
  fmt::print("\n");
}

void print_tilings(const KernelInfo& kernel, DType dtype, bool backward) {
  for (const Index d : kWidths) {
    const auto tilings =
        backward ? backward_tilings(kernel, dtype, d) : kernel_tilings(kernel, dtype, d);
    if (tilings.empty()) continue;
    fmt::print("| {} | {} | {} | {} |", kernel.name, backward ? "backward" : "forward",
               dtype == DType::fp32 ? "fp32" : "16 bits", d);
    for (const Index kibibytes : kGpuKibibytes) {
      const Index most_bytes = kibibytes * 1024;
      const auto chosen = backward ? default_backward_tiling(kernel, dtype, d, most_bytes)
                                   : default_tiling(kernel, dtype, d, most_bytes);
      fmt::print(" {} |",
                 cell(kernel, dtype, d, tilings, chosen,
                      backward ? backward_shared_bytes : forward_shared_bytes, most_bytes));
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  using namespace attnscope;
  using namespace attnscope::kernels;
  const bool with_tilings = argc > 1 && std::string_view(argv[1]) == "tiles";
  fmt::print(
      "| kernel | pass | precision |{} 99 KiB (8.6, 8.9, 12.0) | 163 KiB (8.0) | 227 KiB (9.0, "
      "10.0) |\n| --- | --- | --- | --- | --- | --- |{}\n",
      with_tilings ? " d |" : "", with_tilings ? " --- |" : "");
  for (const KernelInfo& kernel : catalog()) {
    if (kernel.name == "standard") continue;
    for (const bool backward : {false, true}) {
      for (const DType dtype : {DType::bf16, DType::fp32}) {
        (with_tilings ? print_tilings : print_widths)(kernel, dtype, backward);
      }
    }
  }
}
