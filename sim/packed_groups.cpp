#include "sim/packed_groups.h"

#include "reference/check.h"

namespace attnscope {

namespace {

/// The same values with different extents.
void reshape(HeadTensor& tensor, Index heads, Index rows) {
  if (tensor.size() == 0) return;
  ATTNSCOPE_CHECK(heads * rows, ==, tensor.heads * tensor.rows);
  tensor.heads = heads;
  tensor.rows = rows;
}

}  // namespace

bool can_pack_groups(const AttentionProblem& problem) {
  if (problem.heads == problem.kv_heads) return false;
  const bool one_score = !problem.score.has_alibi() && !problem.score.has_dropout();
  if (!one_score || problem.is_packed() || problem.block_mask != nullptr) return false;
  if (problem.mask.is_none()) return true;

  // A single query from which the mask hides no key
  AttentionProblem unmasked = problem;
  unmasked.mask = Mask::none();
  for (Index b = 0; b < problem.batch; ++b) {
    if (problem.N != 1 || problem.keys_of(0, b) != unmasked.keys_of(0, b)) return false;
  }
  return true;
}

AttentionProblem with_packed_groups(const AttentionProblem& problem) {
  ATTNSCOPE_CHECK(can_pack_groups(problem), ==, true);
  AttentionProblem packed = problem;
  packed.heads = problem.kv_heads;
  packed.N = problem.heads_per_kv_head() * problem.N;
  packed.mask = Mask::none();
  return packed;
}

AttentionInputs with_packed_groups(const AttentionProblem& problem, AttentionInputs inputs) {
  const AttentionProblem packed = with_packed_groups(problem);
  reshape(inputs.Q, packed.heads, packed.N);
  reshape(inputs.dO, packed.heads, packed.N);
  return inputs;
}

ForwardResult with_separate_heads(const AttentionProblem& problem, ForwardResult packed) {
  reshape(packed.O, problem.heads, problem.N);
  reshape(packed.LSE, problem.heads, problem.N);
  return packed;
}

}  // namespace attnscope
