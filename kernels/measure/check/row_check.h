/// Checks a kernel's output against the reference, on all rows of a small problem and on blocks of
/// rows of a large one. Plain C++.
#pragma once

#include <functional>
#include <vector>

#include "kernels/measure/check/scored_row.h"
#include "kernels/recording/measurement.h"
#include "reference/inputs.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Consecutive query rows [begin, begin + count) of one head.
struct CheckedRows {
  Index b = 0;
  Index h = 0;
  Index begin = 0;
  Index count = 0;
  bool operator==(const CheckedRows&) const = default;
};

/// Blocks with about `rows` rows in total, spread over the heads and the sequence, including the
/// problem's first and last row. All rows if the problem has no more than `rows`.
std::vector<CheckedRows> choose_rows(const AttentionProblem& problem, Index rows);

/// The tensors of the check, with their stored values.
enum class CheckedTensor : std::uint8_t { Q, K, V, O, LSE, dO, dQ, dK, dV };

/// Rows [begin, begin + count) of one head of the tensor, in C order; LSE has one value per row.
using FetchRows = std::function<std::vector<double>(CheckedTensor tensor, Index b, Index h,
                                                    Index begin, Index count)>;

/// One head with the block's queries and the keys that they see, such that its rows equal the
/// block's rows of the whole problem.
struct BlockProblem {
  AttentionProblem problem;
  KeyRange keys;  ///< of the whole problem's head
};
/// Restricts the problem to a block. Returns several problems if the mask or the score function
/// does not allow a single one: then one per row, without a score function.
std::vector<std::pair<CheckedRows, BlockProblem>> restrict_to(const AttentionProblem& problem,
                                                              const CheckedRows& block);

/// Whether the part's only row depends on its position in the whole problem, so that scored_row()
/// must compute it.
bool needs_scored_row(const AttentionProblem& problem, const BlockProblem& part);

/// `values` as a tensor [1, 1, rows, cols].
HeadTensor one_head_tensor(Index rows, Index cols, std::vector<double> values);

/// The operands of a row that sees `keys`, for scored_row(); without dO.
RowOperands row_operands(const AttentionProblem& problem, const CheckedRows& row,
                         const KeyRange& keys, const FetchRows& fetch);

/// Errors of O and LSE over the blocks by the tolerance rule (tolerance.h); failed if the output
/// contains a NaN.
Result<Accuracy> check_rows(const AttentionProblem& problem, const std::vector<CheckedRows>& blocks,
                            const FetchRows& fetch);

}  // namespace attnscope::kernels
