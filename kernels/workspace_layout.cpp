#include "kernels/workspace_layout.h"

#include <utility>

#include "kernels/backward_parameters.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

/// Places the tensors of a workspace one after another.
class Placement {
 public:
  /// The offset of the next tensor, which has this many bytes.
  std::size_t add(Index tensor_bytes) {
    return std::exchange(bytes_, bytes_ + align_up(static_cast<std::size_t>(tensor_bytes)));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

Index query_rows(const AttentionProblem& problem) {
  return problem.batch * problem.heads * problem.N;
}

Index score_bytes(const AttentionProblem& problem) {
  return query_rows(problem) * problem.N_kv * size_bytes(problem.dtype);
}

/// Bytes of the query heads' separate dK or dV; 0 unless several share a KV head.
Index key_gradient_bytes(const AttentionProblem& problem) {
  if (problem.heads_per_kv_head() == 1) return 0;
  return problem.batch * problem.heads * problem.N_kv * problem.d * size_bytes(problem.dtype);
}

}  // namespace

StandardWorkspace standard_workspace(const AttentionProblem& problem) {
  Placement place;
  StandardWorkspace layout{.S_offset = place.add(score_bytes(problem)),
                           .P_offset = place.add(score_bytes(problem))};
  layout.P_dropped_offset =
      problem.score.has_dropout() ? place.add(score_bytes(problem)) : layout.P_offset;
  layout.bytes = place.bytes();
  return layout;
}

Flash1Workspace flash1_workspace(const AttentionProblem& problem, Carry carry) {
  const Index rows = query_rows(problem);
  const Index columns = flash1_carried_columns(static_cast<int>(problem.d));
  const Index O_bytes = carry == Carry::fp32 ? rows * columns * size_bytes(DType::fp32) : 0;
  Placement place;
  return {.m_offset = place.add(rows * kStatisticBytes),
          .l_offset = place.add(rows * kStatisticBytes),
          .O_offset = place.add(O_bytes),
          .bytes = place.bytes()};
}

SplitKvWorkspace split_kv_workspace(const AttentionProblem& problem, const Tiling& tiling) {
  const Index rows = query_rows(problem) * most_splits(problem, tiling);
  const Index columns = split_columns(static_cast<int>(problem.d));
  Placement place;
  return {.O_split_offset = place.add(rows * columns * size_bytes(DType::fp32)),
          .LSE_split_offset = place.add(rows * kStatisticBytes),
          .bytes = place.bytes()};
}

StandardBackwardWorkspace standard_backward_workspace(const AttentionProblem& problem) {
  const bool reads_S = problem.score.soft_cap.has_value();
  Placement place;
  return {.dP_takes_place_of_S = !reads_S,
          .dP_offset = place.add(reads_S ? score_bytes(problem) : 0),
          .dK_heads_offset = place.add(key_gradient_bytes(problem)),
          .dV_heads_offset = place.add(key_gradient_bytes(problem)),
          .bytes = place.bytes()};
}

Flash1BackwardWorkspace flash1_backward_workspace(const AttentionProblem& problem) {
  Placement place;
  return {.dK_heads_offset = place.add(key_gradient_bytes(problem)),
          .dV_heads_offset = place.add(key_gradient_bytes(problem)),
          .bytes = place.bytes()};
}

Flash2BackwardWorkspace flash2_backward_workspace(const AttentionProblem& problem) {
  const Index heads = problem.batch * problem.heads;
  const Index row_pieces = dQ_accum_row_pieces(static_cast<int>(problem.N));
  const Index pieces = row_pieces * dQ_accum_pieces(static_cast<int>(problem.d));
  Placement place;
  return {.dQ_accum_offset = place.add(heads * pieces * 16 * 8 * size_bytes(DType::fp32)),
          .D_offset = place.add(query_rows(problem) * kStatisticBytes),
          .dQ_turns_offset = place.add(2 * heads * row_pieces * Index{sizeof(std::int32_t)}),
          .dK_heads_offset = place.add(key_gradient_bytes(problem)),
          .dV_heads_offset = place.add(key_gradient_bytes(problem)),
          .bytes = place.bytes()};
}

}  // namespace attnscope::kernels
