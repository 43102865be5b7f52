#include "kernels/c_interface/c_structs.h"

#include <span>
#include <string>
#include <utility>

#include "kernels/resolve.h"
#include "kernels/resolved_run.h"
#include "reference/block_mask.h"

namespace attnscope::kernels {

namespace {

/// Converts a value of a C enumeration to the C++ one, which lists the same values in the same
/// order.
template <typename Enum>
std::optional<Error> read_enum(int32_t value, Enum last, const char* name, Enum& to) {
  if (value < 0 || value > static_cast<int32_t>(last)) {
    return invalid_request("{} is {}; it must lie between 0 and {}", name, value,
                           static_cast<int32_t>(last));
  }
  to = static_cast<Enum>(value);
  return std::nullopt;
}

static_assert(static_cast<int>(DType::fp32) == ATTNSCOPE_FP32);
static_assert(static_cast<int>(DType::fp16) == ATTNSCOPE_FP16);
static_assert(static_cast<int>(DType::bf16) == ATTNSCOPE_BF16);
static_assert(static_cast<int>(Mask::Alignment::bottom_right) == ATTNSCOPE_BOTTOM_RIGHT);
static_assert(static_cast<int>(Mask::Alignment::top_left) == ATTNSCOPE_TOP_LEFT);
static_assert(static_cast<int>(Carry::problem) == ATTNSCOPE_CARRY_PROBLEM);
static_assert(static_cast<int>(Carry::fp32) == ATTNSCOPE_CARRY_FP32);

template <typename Number, typename Element>
void read_array(const Element* numbers, Index count, std::vector<Number>& to) {
  if (numbers != nullptr) to.assign(numbers, numbers + count);
}

/// The tile lists of a mask that has one byte per tile. The grid of tiles is checked against the
/// problem's later.
std::optional<Error> read_block_mask(const attnscope_problem& known, AttentionProblem& problem) {
  if (known.block_mask == nullptr) return std::nullopt;
  const Tiling tiling{known.block_mask_tile_rows, known.block_mask_tile_cols};
  const Index Tr = known.block_mask_rows;
  const Index Tc = known.block_mask_cols;
  for (const Index extent : {tiling.Br, tiling.Bc, Tr, Tc}) {
    if (extent >= 1 && extent <= kMaxSequenceLength) continue;
    return invalid_request(
        "the block mask has {} x {} tiles of {} x {}; each number must lie between 1 and {}", Tr,
        Tc, tiling.Br, tiling.Bc, kMaxSequenceLength);
  }
  std::vector<Index> row_offsets{0};
  std::vector<std::int32_t> columns;
  for (Index i = 0; i < Tr; ++i) {
    const std::span row(known.block_mask + i * Tc, static_cast<std::size_t>(Tc));
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] != 0) columns.push_back(static_cast<std::int32_t>(j));
    }
    row_offsets.push_back(static_cast<Index>(columns.size()));
  }
  problem.block_mask = std::make_shared<const BlockMask>(
      tiling, Tc, std::move(row_offsets), std::move(columns),
      fmt::format("of {} x {} tiles of {} x {}", Tr, Tc, tiling.Br, tiling.Bc));
  return std::nullopt;
}

/// Reads the score function, key lengths, packing and block mask of a problem whose sizes are
/// valid.
std::optional<Error> read_extras(const attnscope_problem& known, AttentionProblem& problem) {
  if (known.soft_cap != 0.0) problem.score.soft_cap = known.soft_cap;
  read_array(known.alibi_slopes, problem.heads, problem.score.alibi_slopes);
  problem.score.dropout = {.probability = known.dropout_probability,
                           .seed = known.dropout_seed,
                           .first_batch = known.dropout_first_batch,
                           .first_head = known.dropout_first_head};
  read_array(known.key_lengths, problem.batch, problem.key_lengths);
  const bool packed = known.cu_seqlens_q != nullptr || known.cu_seqlens_k != nullptr;
  if (packed && (known.sequences < 1 || known.sequences > kMaxSequenceLength)) {
    return invalid_request("sequences is {}; for packed sequences it must be between 1 and {}",
                           known.sequences, kMaxSequenceLength);
  }
  read_array(known.cu_seqlens_q, known.sequences + 1, problem.cu_seqlens_q);
  read_array(known.cu_seqlens_k, known.sequences + 1, problem.cu_seqlens_k);
  return read_block_mask(known, problem);
}

Result<AttentionProblem> read_problem(const attnscope_problem* given) {
  attnscope_problem known{};
  if (auto error = read_struct(given, known, "problem")) return *error;
  AttentionProblem problem;
  if (auto error = read_enum(known.dtype, DType::bf16, "dtype", problem.dtype)) return *error;
  problem.batch = known.batch;
  problem.heads = known.heads;
  problem.kv_heads = known.kv_heads;
  problem.N = known.seq_len;
  problem.N_kv = known.kv_len;
  problem.d = known.head_dim;
  problem.mask.left = known.mask_left;
  problem.mask.right = known.mask_right;
  if (auto error = read_enum(known.mask_alignment, Mask::Alignment::top_left, "mask_alignment",
                             problem.mask.alignment)) {
    return *error;
  }
  if (auto error = validate(problem)) return *error;
  if (auto error = read_extras(known, problem)) return *error;
  if (auto error = validate(problem)) return *error;
  return problem;
}

}  // namespace

Result<ResolvedRun> read_request(PassKind pass, const attnscope_problem* problem,
                                 const attnscope_kernel* kernel) {
  auto what = read_problem(problem);
  if (!what) return what.error();
  attnscope_kernel known{};
  if (auto error = read_struct(kernel, known, "kernel")) return *error;
  if (known.name == nullptr) return invalid_request("kernel.name is NULL");
  ResolvedRun run{.problem = std::move(what).value(), .tiling = {0, 0}};
  run.asked.problem = run.problem;
  run.asked.kernel = known.name;
  if (const auto* const info = find_kernel(known.name)) run.asked.algorithm = info->algorithm;
  if (const auto kernel_of_name = choose_kernel(run.asked); !kernel_of_name) {
    return kernel_of_name.error();
  }
  run.asked.pass = pass;
  if (auto error = read_enum(known.carry, Carry::fp32, "carry", run.asked.variant.carry)) {
    return *error;
  }
  run.asked.deterministic = known.deterministic != 0;
  if (known.block_rows != 0 || known.block_cols != 0) {
    run.tiling = {known.block_rows, known.block_cols};
    if (auto error = validate(run.tiling)) return *error;
    run.asked.set_tiling(run.tiling);
  }
  run.tiling = asked_tiling(run).value_or(run.tiling);
  return run;
}

}  // namespace attnscope::kernels
