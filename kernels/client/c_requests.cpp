#include "kernels/client/c_requests.h"

#include <type_traits>

#include "kernels/resolve.h"
#include "reference/block_mask.h"

namespace attnscope {

static_assert(std::is_same_v<Index, std::int64_t>);  // arrays are lent without conversion

namespace {

template <typename Number>
const Number* if_any(const std::vector<Number>& numbers) {
  return numbers.empty() ? nullptr : numbers.data();
}

}  // namespace

CProblem::CProblem(const AttentionProblem& problem) {
  attnscope_problem& c = value_;
  c.struct_size = sizeof c;
  c.dtype = static_cast<std::int32_t>(problem.dtype);
  c.batch = problem.batch;
  c.heads = problem.heads;
  c.kv_heads = problem.kv_heads;
  c.seq_len = problem.N;
  c.kv_len = problem.N_kv;
  c.head_dim = problem.d;
  c.mask_left = problem.mask.left;
  c.mask_right = problem.mask.right;
  c.mask_alignment = static_cast<std::int32_t>(problem.mask.alignment);

  c.soft_cap = problem.score.soft_cap.value_or(0.0);
  c.alibi_slopes = if_any(problem.score.alibi_slopes);
  const Dropout& dropout = problem.score.dropout;
  c.dropout_probability = dropout.probability;
  c.dropout_seed = dropout.seed;
  c.dropout_first_batch = dropout.first_batch;
  c.dropout_first_head = dropout.first_head;

  c.key_lengths = if_any(problem.key_lengths);
  c.cu_seqlens_q = if_any(problem.cu_seqlens_q);
  c.cu_seqlens_k = if_any(problem.cu_seqlens_k);
  c.sequences = problem.is_packed() ? problem.sequence_count() : 0;
  if (problem.block_mask != nullptr) set_block_mask(*problem.block_mask);
}

void CProblem::set_block_mask(const BlockMask& mask) {
  block_mask_.assign(static_cast<std::size_t>(mask.Tr() * mask.Tc()), 0);
  for (Index i = 0; i < mask.Tr(); ++i) {
    for (const std::int32_t j : mask.columns_of(i)) {
      block_mask_[static_cast<std::size_t>(i * mask.Tc() + j)] = 1;
    }
  }
  value_.block_mask = block_mask_.data();
  value_.block_mask_rows = mask.Tr();
  value_.block_mask_cols = mask.Tc();
  value_.block_mask_tile_rows = mask.tiling().Br;
  value_.block_mask_tile_cols = mask.tiling().Bc;
}

attnscope_kernel c_kernel(const ResolvedRun& run) {
  attnscope_kernel c{};
  c.struct_size = sizeof c;
  c.carry = static_cast<std::int32_t>(run.asked.variant.carry);
  c.name = run.asked.kernel.c_str();
  if (const auto tiling = kernels::asked_tiling(run)) {
    c.block_rows = tiling->Br;
    c.block_cols = tiling->Bc;
  }
  c.deterministic = run.asked.deterministic ? 1 : 0;
  return c;
}

attnscope_protocol c_protocol(const Protocol& protocol) {
  attnscope_protocol c{};
  c.struct_size = sizeof c;
  c.warm_ups = protocol.warm_ups;
  c.repeats = protocol.repeats;
  c.cache = static_cast<std::int32_t>(protocol.cache);
  c.counters = protocol.counters ? 1 : 0;
  c.checked_rows = protocol.checked_rows;
  c.time_budget_s = protocol.time_budget_s;
  return c;
}

}  // namespace attnscope
