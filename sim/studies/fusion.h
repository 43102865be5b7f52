/// Fusion, step by step: the bytes that each fused launch saves, from separate elementwise
/// operations to the tiled algorithms. arXiv 2205.14135, Figure 2 (left) prints bytes for two of
/// the steps.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace attnscope {

/// One step: an algorithm in one variant, both passes.
struct FusionStep {
  std::string name;   ///< "separate", "flash1, refined"
  std::string words;  ///< the variant in words, for a chart: "standard, unfused"
  std::string idea;   ///< the change from the previous step
  SimulationReport forward;
  SimulationReport backward;
  /// The reason why the step cannot be counted for this problem; the reports are then empty.
  std::string refused;

  /// The paper's accounting of both passes.
  Index paper_bytes() const { return forward.paper.total() + backward.paper.total(); }
  Index requested_bytes() const { return forward.requested.total() + backward.requested.total(); }
  /// The part of paper_bytes() in tensors with one number per row (m, l, LSE, D); comparisons with
  /// the printed figures exclude it.
  Index statistic_bytes() const;
  Index matrix_bytes() const { return paper_bytes() - statistic_bytes(); }
  Index launches() const {
    return static_cast<Index>(forward.launches.size() + backward.launches.size());
  }
};

/// The steps for one problem, the least fused first; "figure2" is not a separate step but one
/// accounting of Figure 2, for a problem with a mask and dropout. A step that equals another one
/// because the problem has no mask or no dropout is omitted: left_out_of_fusion(). Every algorithm
/// runs in `tiling`; the reports state whether it fits on the device, which does not affect the
/// bytes. A level of fusion without a launch for a step of the score function is rejected
/// individually; any other error is invalid_request as in simulate(). `may_continue` receives the
/// completed fraction before each step and returns whether to count it; if it returns false, the
/// result is failed. `cancel` as in simulate().
Result<std::vector<FusionStep>> fusion_steps(const AttentionProblem& problem, const Tiling& tiling,
                                             const GpuDescription& gpu,
                                             const std::function<bool(double)>& may_continue = {},
                                             const std::atomic<bool>* cancel = nullptr);

/// "backward does not fit, counted anyway": passes whose tiles do not fit on the device; empty if
/// both fit or the step was rejected.
std::string overflow_words(const FusionStep& step);

/// Why flash2 moves more than flash1 in the tiles of the study; empty if it does not.
std::string why_flash2_moves_more(const std::vector<FusionStep>& steps, const Tiling& tiling);

/// The launches that no step has: "no mask, no dropout: their launches are left out"; empty if the
/// problem has both.
std::string left_out_of_fusion(const AttentionProblem& problem);

/// The bytes of tensors with one number per row (m, l, LSE, D).
Bytes statistics_of(const BytesByTensor& by_tensor);

/// Bc = 256, whose count comes closest to the 4.4 GB of the figure; Br = min(Bc, d).
inline constexpr Tiling kFigure2Tiling{64, 256};

/// The problem of Figure 2 (left): B 64, H 16, N 1024, d 64. AttnScope's assumptions are fp16,
/// dropout (0.1; the probability does not change the bytes) and a key-padding mask, here of full
/// length.
AttentionProblem figure2_problem();

/// The relation of Figure 2's numbers to these counts.
inline constexpr std::string_view kFigure2Note =
    "Figure 2 of arXiv 2205.14135 prints 40.3 and 4.4 GB (another version: 35.3 and 4.4 GB) and "
    "does not say how they were counted; step figure2 is one accounting that yields 40.3 GB";

/// The HBM reads and writes that Figure 2 (left) prints for standard attention and FlashAttention,
/// in bytes: for the step whose accounting yields the first number, and for those of flash1;
/// nothing for the others.
std::optional<double> figure2_printed_bytes(const FusionStep& step);

}  // namespace attnscope
