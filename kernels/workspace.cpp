#include "kernels/workspace.h"

#include "kernels/backward_parameters.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/launch.h"
#include "kernels/resolve.h"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "kernels/tile_lists.h"
#include "reference/key_splits.h"

namespace attnscope::kernels {

StandardWorkspace standard_workspace(const AttentionProblem& problem) {
  const Index score_bytes =
      problem.batch * problem.heads * problem.N * problem.N_kv * size_bytes(problem.dtype);
  const std::size_t tensor_bytes = align_up(static_cast<std::size_t>(score_bytes));
  const std::size_t tensors = problem.score.has_dropout() ? 3 : 2;
  return {.S_offset = 0,
          .P_offset = tensor_bytes,
          .P_dropped_offset = (tensors - 1) * tensor_bytes,
          .bytes = tensors * tensor_bytes};
}

Flash1Workspace flash1_workspace(const AttentionProblem& problem, Carry carry) {
  const Index rows = problem.batch * problem.heads * problem.N;
  const Index columns = flash1_carried_columns(static_cast<int>(problem.d));
  const std::size_t statistic_bytes = align_up(static_cast<std::size_t>(rows * kStatisticBytes));
  const std::size_t O_bytes =
      carry == Carry::fp32 ? static_cast<std::size_t>(rows * columns * size_bytes(DType::fp32)) : 0;
  return {.m_offset = 0,
          .l_offset = statistic_bytes,
          .O_offset = 2 * statistic_bytes,
          .bytes = 2 * statistic_bytes + align_up(O_bytes)};
}

SplitKvWorkspace split_kv_workspace(const AttentionProblem& problem, const Tiling& tiling) {
  const Index rows = problem.batch * problem.heads * problem.N * most_splits(problem, tiling);
  const Index columns = split_columns(static_cast<int>(problem.d));
  const std::size_t O_bytes =
      align_up(static_cast<std::size_t>(rows * columns * size_bytes(DType::fp32)));
  const std::size_t LSE_bytes = align_up(static_cast<std::size_t>(rows * kStatisticBytes));
  return {.O_split_offset = 0, .LSE_split_offset = O_bytes, .bytes = O_bytes + LSE_bytes};
}

namespace {

/// Each query head's dK, or dV, where several share a KV head.
std::size_t key_gradient_bytes(const AttentionProblem& problem) {
  if (problem.heads_per_kv_head() == 1) return 0;
  return align_up(static_cast<std::size_t>(problem.batch * problem.heads * problem.N_kv *
                                           problem.d * size_bytes(problem.dtype)));
}

}  // namespace

StandardBackwardWorkspace standard_backward_workspace(const AttentionProblem& problem) {
  const bool reads_S = problem.score.soft_cap.has_value();
  const std::size_t dP_bytes = reads_S ? standard_workspace(problem).P_offset : 0;  // S's size
  const std::size_t per_head_bytes = key_gradient_bytes(problem);
  return {.dP_takes_place_of_S = !reads_S,
          .dP_offset = 0,
          .dK_heads_offset = dP_bytes,
          .dV_heads_offset = dP_bytes + per_head_bytes,
          .bytes = dP_bytes + 2 * per_head_bytes};
}

Flash1BackwardWorkspace flash1_backward_workspace(const AttentionProblem& problem) {
  const std::size_t per_head_bytes = key_gradient_bytes(problem);
  return {.dK_heads_offset = 0, .dV_heads_offset = per_head_bytes, .bytes = 2 * per_head_bytes};
}

Flash2BackwardWorkspace flash2_backward_workspace(const AttentionProblem& problem) {
  const Index heads = problem.batch * problem.heads;
  const auto aligned = [](Index bytes) { return align_up(static_cast<std::size_t>(bytes)); };
  const Index pieces = Index{dQ_accum_row_pieces(static_cast<int>(problem.N))} *
                       dQ_accum_pieces(static_cast<int>(problem.d));
  const std::size_t dQ_accum_bytes = aligned(heads * pieces * 16 * 8 * size_bytes(DType::fp32));
  const std::size_t D_bytes = aligned(heads * problem.N * kStatisticBytes);
  const std::size_t per_head_bytes = key_gradient_bytes(problem);
  const Index most_row_tiles = dQ_accum_row_pieces(static_cast<int>(problem.N));
  const std::size_t turn_bytes =
      aligned(heads * most_row_tiles * static_cast<Index>(sizeof(std::int32_t)));
  const std::size_t dK_heads_offset = dQ_accum_bytes + D_bytes + turn_bytes;
  return {.dQ_accum_offset = 0,
          .D_offset = dQ_accum_bytes,
          .dQ_turns_offset = dQ_accum_bytes + D_bytes,
          .dK_heads_offset = dK_heads_offset,
          .dV_heads_offset = dK_heads_offset + per_head_bytes,
          .bytes = dK_heads_offset + 2 * per_head_bytes};
}

std::size_t own_workspace_bytes(const ResolvedRun& run, const Tiling& tiling) {
  const auto own_bytes = kernel_of(run).pass(run.pass()).workspace_bytes;
  return own_bytes == nullptr ? 0 : own_bytes(run.problem, tiling, run.asked.variant.carry);
}

std::size_t workspace_bytes(const ResolvedRun& run) {
  const std::size_t bytes = own_workspace_bytes(run, tiling_on_gpu(run, kMostSharedBytes));
  if (!kernel_of(run).takes_block_mask) return bytes;
  return bytes + align_up(static_cast<std::size_t>(most_list_numbers(run)) * sizeof(int));
}

}  // namespace attnscope::kernels
