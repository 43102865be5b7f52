/// The layout of each kernel's tensors in its workspace. Internal; plain C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/attention_problem.h"
#include "reference/schedule_variant.h"

namespace attnscope::kernels {

/// Every tensor of a workspace begins at a multiple of this.
inline constexpr std::size_t kWorkspaceAlignment = 256;

constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// standard: S and P and, with dropout, P after dropout (else P_dropped_offset is P's), [B, H,
/// N, N_kv] each, in the problem's precision; all in use at the same time.
struct StandardWorkspace {
  std::size_t S_offset, P_offset, P_dropped_offset, bytes;
};
StandardWorkspace standard_workspace(const AttentionProblem& problem);

/// flash1: m and l, [B, H, N] in fp32, and with Carry::fp32 O [B, H, N, d rounded up to 4].
struct Flash1Workspace {
  std::size_t m_offset, l_offset, O_offset, bytes;
};
Flash1Workspace flash1_workspace(const AttentionProblem& problem, Carry carry);

/// split_kv: O_split [B, H, N, splits, d rounded up to 4] and LSE_split [B, H, N, splits] in fp32,
/// for the largest number of splits on any GPU.
struct SplitKvWorkspace {
  std::size_t O_split_offset, LSE_split_offset, bytes;
};
SplitKvWorkspace split_kv_workspace(const AttentionProblem& problem, const Tiling& tiling);

/// flash2 and block_sparse2 (whose lists of tiles follow), backward: dQ_accum [B, H, N, d], N
/// and d rounded up to whole pieces of 16 x 8, and D [B, H, N] in fp32, and dQ_turns [2, B, H,
/// N / 16], integers; with grouped heads dK_heads and dV_heads [B, H, N_kv, d] in the problem's
/// precision.
struct Flash2BackwardWorkspace {
  std::size_t dQ_accum_offset, D_offset, dQ_turns_offset, dK_heads_offset, dV_heads_offset, bytes;
};
Flash2BackwardWorkspace flash2_backward_workspace(const AttentionProblem& problem);

/// flash2 and block_sparse2, forward, with Hopper's own instructions: the number of the next row
/// tile.
inline constexpr std::size_t kTileCounterBytes = sizeof(std::uint64_t);

/// standard, backward: dP [B, H, N, N_kv], which dS overwrites, if the pass still reads S (for the
/// soft cap's slope); else dP overwrites S in the forward pass's workspace; with grouped heads
/// dK_heads and dV_heads [B, H, N_kv, d]; all in the problem's precision.
struct StandardBackwardWorkspace {
  bool dP_takes_place_of_S;
  std::size_t dP_offset, dK_heads_offset, dV_heads_offset, bytes;
};
StandardBackwardWorkspace standard_backward_workspace(const AttentionProblem& problem);

/// flash1, backward: only dK_heads and dV_heads.
struct Flash1BackwardWorkspace {
  std::size_t dK_heads_offset, dV_heads_offset, bytes;
};
Flash1BackwardWorkspace flash1_backward_workspace(const AttentionProblem& problem);

}  // namespace attnscope::kernels
