#include "kernels/workspace_layout.h"

#include "kernels/backward_parameters.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

using enum WorkspaceTensor;

Index query_rows(const AttentionProblem& problem) {
  return problem.batch * problem.heads * problem.N;
}

Index score_bytes(const AttentionProblem& problem) {
  return query_rows(problem) * problem.N_kv * size_bytes(problem.dtype);
}

}  // namespace

void WorkspaceLayout::add(WorkspaceTensor tensor, Index bytes) {
  if (bytes == 0) return;
  offsets_.emplace(tensor, bytes_);
  const std::size_t last = bytes_ + static_cast<std::size_t>(bytes) - 1;
  bytes_ = (last / kWorkspaceAlignment + 1) * kWorkspaceAlignment;
}

WorkspaceLayout standard_workspace(const ResolvedRun& run) {
  const Index bytes = score_bytes(run.problem);
  return {{S, bytes}, {P, bytes}, {P_dropped, run.problem.score.has_dropout() ? bytes : 0}};
}

WorkspaceLayout flash1_workspace(const ResolvedRun& run) {
  const Index rows = query_rows(run.problem);
  const Index columns = flash1_carried_columns(static_cast<int>(run.problem.d));
  const bool carries_fp32 = run.asked.variant.carry == Carry::fp32;
  return {{m, rows * kStatisticBytes},
          {l, rows * kStatisticBytes},
          {O, carries_fp32 ? rows * columns * size_bytes(DType::fp32) : 0}};
}

WorkspaceLayout split_kv_workspace(const ResolvedRun& run) {
  const Index rows = query_rows(run.problem) * most_splits(run.problem, run.tiling);
  const Index columns = split_columns(static_cast<int>(run.problem.d));
  return {{O_split, rows * columns * size_bytes(DType::fp32)}, {LSE_split, rows * kStatisticBytes}};
}

WorkspaceLayout standard_backward_workspace(const ResolvedRun& run) {
  return {{dP, run.problem.score.soft_cap ? score_bytes(run.problem) : 0}};
}

WorkspaceLayout flash2_backward_workspace(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const Index heads = problem.batch * problem.heads;
  const Index row_pieces = dQ_accum_row_pieces(static_cast<int>(problem.N));
  const Index pieces = row_pieces * dQ_accum_pieces(static_cast<int>(problem.d));
  return {{dQ_accum, heads * pieces * 16 * 8 * size_bytes(DType::fp32)},
          {D, query_rows(problem) * kStatisticBytes},
          {dQ_turns, 2 * heads * row_pieces * Index{sizeof(std::int32_t)}}};
}

}  // namespace attnscope::kernels
