/// Runs one kernel's backward pass on host inputs, for tests.
#pragma once

#include "kernels/catalog.h"
#include "tests/kernels/forward_run.h"

namespace attnscope::kernels {

/// The kernel whose backward pass runs, and how it is called.
struct BackwardCase {
  const KernelInfo* kernel = nullptr;
  std::optional<Tiling> tiling = std::nullopt;
  std::map<std::string, std::string> switches = {};
  bool visit_hidden = false;
  Layout layout = Layout::contiguous;
  Layout dO_layout = layout;
  bool deterministic = false;
  int passes = 1;  ///< passes after a forward pass; the last one's gradients are returned
  bool measures_dQ_changes = false;  ///< fills largest_dQ_change
};

/// The case as text: "flash2 backward 128x128 interleaved".
std::string describe(const BackwardCase& backward_case);

/// Every kernel that has a backward pass with each of its tilings for the problem's precision and
/// head dimension.
std::vector<BackwardCase> all_backward_cases(const AttentionProblem& problem);

struct BackwardRun {
  Gradients gradients;
  std::vector<std::byte> dQ_bytes, dK_bytes, dV_bytes;  ///< as the kernel left them
  int passes_of_other_dQ = 0;                           ///< later passes whose dQ differs
  int passes_of_other_dK_dV = 0;                        ///< later passes whose dK or dV differs
  double largest_dQ_change = 0.0;  ///< largest change of an element from the first pass to another
  bool padding_is_untouched = false;
  std::vector<std::string> launches;  ///< names of the launches, in order
};

/// Runs the case. `forward` is the reference's; O is rounded to the problem's precision, LSE to
/// fp32. standard and flash1 run their own forward pass instead, since they read its workspace, and
/// so do kernels in fp32. The gradients are filled with NaN before each pass, the workspace before
/// the first. Fails the test on an error.
BackwardRun run_backward(const BackwardCase& backward_case, const AttentionProblem& problem,
                         const AttentionInputs& inputs, const ForwardResult& forward);

}  // namespace attnscope::kernels
