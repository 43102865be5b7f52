/// The layout of each kernel's tensors in its workspace. Internal; plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>

#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Every tensor of a workspace begins at a multiple of this.
inline constexpr std::size_t kWorkspaceAlignment = 256;

enum class WorkspaceTensor : std::uint8_t {
  S,          ///< standard: [B, H, N, N_kv] in the problem's precision
  P,          ///< as S; all three are in use at the same time
  P_dropped,  ///< as S: P after dropout, if the problem has dropout
  m,          ///< flash1: [B, H, N] in fp32
  l,          ///< as m
  O,          ///< flash1 with Carry::fp32: [B, H, N, d rounded up to 4] in fp32
  O_split,    ///< split_kv: [B, H, N, splits, d rounded up to 4] in fp32, for the largest number of
              ///< splits on any GPU
  LSE_split,  ///< split_kv: [B, H, N, splits] in fp32, for as many splits
  next_tile,  ///< flash2 and block_sparse2, forward, with Hopper's own instructions: the number of
              ///< the next row tile
  dP,        ///< standard, backward: as S, and dS overwrites it, if the pass still reads S (for the
             ///< soft cap's slope); else dP overwrites S in the forward pass's workspace
  dQ_accum,  ///< flash2 and block_sparse2, backward: [B, H, N, d] in fp32, N and d rounded up to
             ///< whole pieces of 16 x 8
  D,         ///< the same pass: [B, H, N] in fp32
  dQ_turns,  ///< the same pass: [2, B, H, N / 16], integers
  dK_heads,  ///< every backward pass with grouped heads: [B, H, N_kv, d] in the problem's precision
  dV_heads,  ///< as dK_heads
};

/// The offsets of a pass's tensors.
class WorkspaceLayout {
 public:
  WorkspaceLayout() = default;
  /// Places these tensors one after another.
  WorkspaceLayout(std::initializer_list<std::pair<WorkspaceTensor, Index>> tensor_bytes) {
    for (const auto& [tensor, bytes] : tensor_bytes) add(tensor, bytes);
  }
  /// Places the tensor after the others; it has no place if it has 0 bytes.
  void add(WorkspaceTensor tensor, Index bytes);

  bool has(WorkspaceTensor tensor) const { return offsets_.contains(tensor); }
  /// It is a programming error if the tensor has no place.
  std::size_t offset(WorkspaceTensor tensor) const { return offsets_.at(tensor); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::map<WorkspaceTensor, std::size_t> offsets_;
  std::size_t bytes_ = 0;
};

/// The layout of a kernel's own tensors, for a run in its tiling.
using WorkspaceLayoutOf = WorkspaceLayout(const ResolvedRun& run);
WorkspaceLayoutOf standard_workspace, standard_backward_workspace;
WorkspaceLayoutOf flash1_workspace;
WorkspaceLayoutOf flash2_backward_workspace;
WorkspaceLayoutOf split_kv_workspace;

}  // namespace attnscope::kernels
