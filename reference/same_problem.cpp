#include "reference/same_problem.h"

#include <algorithm>

#include "reference/block_mask.h"

namespace attnscope {

namespace {

bool same_mask(const BlockMask& a, const BlockMask& b) {
  return a.tiling() == b.tiling() && a.Tc() == b.Tc() &&
         std::ranges::equal(a.row_offsets(), b.row_offsets()) &&
         std::ranges::equal(a.columns(), b.columns());
}

}  // namespace

bool same_problem(const AttentionProblem& a, const AttentionProblem& b) {
  if (a.block_mask == nullptr || b.block_mask == nullptr) return a == b;
  AttentionProblem with_mask_of_b = a;
  with_mask_of_b.block_mask = b.block_mask;
  return with_mask_of_b == b && same_mask(*a.block_mask, *b.block_mask);
}

}  // namespace attnscope
