#include "kernels/measure/check/row_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/block_mask.h"
#include "reference/naive_attention.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"

namespace attnscope::kernels {

std::vector<CheckedRows> choose_rows(const AttentionProblem& problem, Index rows) {
  std::vector<CheckedRows> blocks;
  const Index head_count = problem.batch * problem.heads;
  const auto add = [&](Index head, Index begin, Index count) {
    blocks.push_back({head / problem.heads, head % problem.heads, begin, count});
  };
  if (head_count * problem.N <= rows) {
    for (Index head = 0; head < head_count; ++head) add(head, 0, problem.N);
    return blocks;
  }

  // Block n is n / (blocks - 1) of the way through the heads; along the sequence, blocks are spread
  // by the golden ratio, except for the first (the problem's first rows) and the last (its last
  // rows)
  constexpr Index kRowsPerBlock = 8;
  const Index block_count = std::max<Index>(2, rows / kRowsPerBlock);
  const Index count = std::min(kRowsPerBlock, problem.N);
  for (Index n = 0; n < block_count; ++n) {
    const double golden = 0.6180339887498949 * static_cast<double>(n);
    const double along = n == block_count - 1 ? 1.0 : golden - static_cast<double>(Index(golden));
    add(n * (head_count - 1) / (block_count - 1),
        static_cast<Index>(along * static_cast<double>(problem.N - count)), count);
  }
  return blocks;
}

namespace {

/// restrict_to(), ignoring the block mask.
std::vector<std::pair<CheckedRows, BlockProblem>> restrict_dense(const AttentionProblem& problem,
                                                                 const CheckedRows& block) {
  AttentionProblem one_head = problem;
  one_head.block_mask = nullptr;
  one_head.batch = one_head.heads = one_head.kv_heads = 1;
  one_head.mask = Mask::none();
  one_head.key_lengths.clear();
  one_head.cu_seqlens_q.clear();
  one_head.cu_seqlens_k.clear();

  // One problem suffices without a mask, and for causal rows whose diagonal is within the keys
  const Index last = block.begin + block.count - 1;
  const bool whole_sequences = !problem.is_packed() && !problem.has_key_lengths();
  const bool whole_diagonal = problem.mask.is_causal() && problem.diagonal(block.begin) >= 0 &&
                              problem.diagonal(last) < problem.N_kv;
  const bool one_score = problem.score.is_plain();
  if (one_score && whole_sequences && (problem.mask.is_none() || whole_diagonal)) {
    const KeyRange keys{0, problem.keys_of(last).end};
    one_head.N = block.count;
    one_head.N_kv = keys.size();
    if (whole_diagonal) one_head.mask = Mask::causal();
    return {{block, {one_head, keys}}};
  }

  // Otherwise each row sees its own range of keys
  std::vector<std::pair<CheckedRows, BlockProblem>> rows;
  for (Index row = block.begin; row <= last; ++row) {
    const KeyRange keys = problem.keys_of(row, block.b);
    one_head.N = 1;
    one_head.N_kv = keys.size();
    rows.push_back({{block.b, block.h, row, 1}, {one_head, keys}});
  }
  return rows;
}

/// A block mask with only row tile i of M, for `rows` of its rows and the first `keys` keys.
std::shared_ptr<const BlockMask> row_of_mask(const BlockMask& M, Index i, Index rows, Index keys) {
  const Index Tc = ceil_div(keys, M.tiling().Bc);
  std::vector<std::int32_t> columns;
  for (const std::int32_t j : M.columns_of(i)) {
    if (j < Tc) columns.push_back(j);
  }
  const auto ones = static_cast<Index>(columns.size());
  return std::make_shared<const BlockMask>(
      Tiling{rows, M.tiling().Bc}, Tc, std::vector<Index>{0, ones}, std::move(columns), M.text());
}

}  // namespace

std::vector<std::pair<CheckedRows, BlockProblem>> restrict_to(const AttentionProblem& problem,
                                                              const CheckedRows& block) {
  if (problem.block_mask == nullptr) return restrict_dense(problem, block);

  // The rows of one tile share their row of the block mask
  const BlockMask& M = *problem.block_mask;
  std::vector<std::pair<CheckedRows, BlockProblem>> all;
  for (Index begin = block.begin; begin < block.begin + block.count;) {
    const Index i = begin / M.tiling().Br;
    const Index end = std::min(block.begin + block.count, (i + 1) * M.tiling().Br);
    for (auto& part : restrict_dense(problem, {block.b, block.h, begin, end - begin})) {
      BlockProblem& restricted = part.second;
      if (restricted.keys.size() > 0 && !needs_scored_row(problem, restricted)) {
        restricted.problem.block_mask =
            row_of_mask(M, i, restricted.problem.N, restricted.keys.end);
      }
      all.push_back(std::move(part));
    }
    begin = end;
  }
  return all;
}

bool needs_scored_row(const AttentionProblem& problem, const BlockProblem& part) {
  // A block mask's tiles are counted from key 0 on
  const bool cuts_tiles = problem.block_mask != nullptr && part.keys.begin != 0;
  return !problem.score.is_plain() || cuts_tiles;
}

namespace {

/// The values to compare, in the order of the blocks.
struct GatheredRows {
  std::vector<double> kernel;
  std::vector<double> reference;
  std::vector<double> yardstick;
};

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void append_row(GatheredRows& O, GatheredRows& LSE, const ScoredRow& reference,
                const ScoredRow& unfused) {
  append(O.reference, reference.O);
  append(O.yardstick, unfused.O);
  LSE.reference.push_back(reference.LSE);
  LSE.yardstick.push_back(unfused.LSE);
}

void append_empty_rows(GatheredRows& O, GatheredRows& LSE, Index rows, Index d) {
  const std::vector<double> zeros(static_cast<std::size_t>(rows * d), 0.0);
  const std::vector<double> empty(static_cast<std::size_t>(rows),
                                  -std::numeric_limits<double>::infinity());
  append(O.reference, zeros);
  append(O.yardstick, zeros);
  append(LSE.reference, empty);
  append(LSE.yardstick, empty);
}

}  // namespace

HeadTensor one_head_tensor(Index rows, Index cols, std::vector<double> values) {
  HeadTensor tensor;
  tensor.batch = tensor.heads = 1;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.data = std::move(values);
  return tensor;
}

RowOperands row_operands(const AttentionProblem& problem, const CheckedRows& row,
                         const KeyRange& keys, const FetchRows& fetch) {
  const Index kv_head = problem.kv_head_of(row.h);
  return {.b = row.b,
          .h = row.h,
          .query = row.begin,
          .keys = keys,
          .Q = fetch(CheckedTensor::Q, row.b, row.h, row.begin, 1),
          .K = fetch(CheckedTensor::K, row.b, kv_head, keys.begin, keys.size()),
          .V = fetch(CheckedTensor::V, row.b, kv_head, keys.begin, keys.size()),
          .dO = {}};
}

Result<Accuracy> check_rows(const AttentionProblem& problem, const std::vector<CheckedRows>& blocks,
                            const FetchRows& fetch) {
  GatheredRows O;
  GatheredRows LSE;
  Accuracy accuracy;
  for (const CheckedRows& chosen : blocks) {
    for (const auto& restricted : restrict_to(problem, chosen)) {
      const CheckedRows& block = restricted.first;
      const BlockProblem& part = restricted.second;
      append(O.kernel, fetch(CheckedTensor::O, block.b, block.h, block.begin, block.count));
      append(LSE.kernel, fetch(CheckedTensor::LSE, block.b, block.h, block.begin, block.count));
      accuracy.rows_checked += block.count;
      if (part.keys.size() == 0) {
        append_empty_rows(O, LSE, block.count, problem.d);
        continue;
      }

      // Compute the same rows in double and in the problem's precision
      const Index kv_head = problem.kv_head_of(block.h);
      const auto operand = [&](CheckedTensor tensor, Index h, Index begin, Index count) {
        return one_head_tensor(count, problem.d, fetch(tensor, block.b, h, begin, count));
      };
      if (needs_scored_row(problem, part)) {
        const RowOperands row = row_operands(problem, block, part.keys, fetch);
        append_row(O, LSE, scored_row(problem, row, RowPrecision::exact),
                   scored_row(problem, row, RowPrecision::unfused));
        continue;
      }
      AttentionInputs inputs;
      inputs.Q = operand(CheckedTensor::Q, block.h, block.begin, block.count);
      inputs.K = operand(CheckedTensor::K, kv_head, part.keys.begin, part.keys.size());
      inputs.V = operand(CheckedTensor::V, kv_head, part.keys.begin, part.keys.size());
      const ForwardResult reference = naive_forward(part.problem, inputs);
      const ForwardResult unfused = unfused_forward(part.problem, inputs);
      append(O.reference, reference.O.data);
      append(O.yardstick, unfused.O.data);
      append(LSE.reference, reference.LSE.data);
      append(LSE.yardstick, unfused.LSE.data);
    }
  }

  const ErrorReport O_errors = compare(O.kernel, O.reference);
  const ErrorReport LSE_errors = compare(LSE.kernel, LSE.reference);
  if (O_errors.has_nan || LSE_errors.has_nan) {
    return failed("the kernel's {} contains NaN", O_errors.has_nan ? "O" : "LSE");
  }
  if (!std::isfinite(O_errors.max_abs_error) || !std::isfinite(LSE_errors.max_abs_error)) {
    return failed("the kernel's output contains an infinity where the reference has none");
  }
  accuracy.max_abs_error = O_errors.max_abs_error;
  accuracy.rel_fro_error = O_errors.rel_fro_error;
  accuracy.lse_max_abs_error = LSE_errors.max_abs_error;
  accuracy.unfused_max_abs_error = compare(O.yardstick, O.reference).max_abs_error;
  accuracy.within_tolerance =
      within(O_errors, tolerance_from(O.yardstick, O.reference, problem.dtype)) &&
      within(LSE_errors, tolerance_from(LSE.yardstick, LSE.reference, DType::fp32));
  return accuracy;
}

}  // namespace attnscope::kernels
