#include "kernels/c_interface/c_structs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "kernels/resolved_run.h"
#include "reference/block_mask.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

using test::kernel_run;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

static_assert(std::is_same_v<Index, std::int64_t>);  // arrays are passed without conversion

template <typename Number>
const Number* if_any(const std::vector<Number>& numbers) {
  return numbers.empty() ? nullptr : numbers.data();
}

/// A caller's problem. The struct points into this object and into the problem.
class CProblem {
 public:
  explicit CProblem(const AttentionProblem& problem) {
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

  CProblem(const CProblem&) = delete;
  CProblem& operator=(const CProblem&) = delete;

  const attnscope_problem& value() const { return value_; }

 private:
  void set_block_mask(const BlockMask& mask) {
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

  attnscope_problem value_{};
  std::vector<std::uint8_t> block_mask_;  ///< one byte per tile
};

/// A caller's kernel; points into the run.
attnscope_kernel c_kernel(const ResolvedRun& run) {
  attnscope_kernel c{};
  c.struct_size = sizeof c;
  c.carry = static_cast<std::int32_t>(run.asked.variant.carry);
  c.name = run.asked.kernel.c_str();
  if (const auto tiling = asked_tiling(run)) {
    c.block_rows = tiling->Br;
    c.block_cols = tiling->Bc;
  }
  c.deterministic = run.asked.deterministic ? 1 : 0;
  return c;
}

/// The run as it is after passing the C interface.
Result<ResolvedRun> there(const ResolvedRun& run) {
  const CProblem c(run.problem);
  const attnscope_kernel kernel = c_kernel(run);
  return read_request(run.pass(), &c.value(), &kernel);
}

AttentionProblem scored_problem() {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.N = 100;
  problem.N_kv = 120;
  problem.mask = Mask::window(30, 5);
  problem.mask.alignment = Mask::Alignment::top_left;
  problem.score.soft_cap = 30.0;
  problem.score.alibi_slopes = {0.5, 0.25, 0.125, 0.0625};
  problem.score.dropout = {.probability = 0.17, .seed = 99, .first_batch = 3, .first_head = 5};
  problem.key_lengths = {120, 7};
  return problem;
}

TEST(CStructs, EveryPartOfAProblemArrives) {
  const AttentionProblem problem = scored_problem();
  const auto request = there(kernel_run("flash2", problem));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request.value().problem, problem);
}

TEST(CStructs, PackedSequencesArrive) {
  AttentionProblem problem;
  problem.N = 10;
  problem.N_kv = 12;
  problem.cu_seqlens_q = {0, 3, 3, 10};
  problem.cu_seqlens_k = {0, 5, 6, 12};
  const auto request = there(kernel_run("flash2", problem));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request.value().problem, problem);
}

TEST(CStructs, ABlockMaskArrivesTileByTile) {
  AttentionProblem problem;
  problem.N = 100;
  problem.N_kv = 130;
  problem.block_mask =
      std::make_shared<const BlockMask>(Tiling{64, 32}, 5, std::vector<Index>{0, 2, 5},
                                        std::vector<std::int32_t>{0, 3, 1, 2, 4}, "by hand");
  const auto request = there(kernel_run("flash2", problem));
  ASSERT_TRUE(request) << request.error().message;
  const BlockMask& mask = *request.value().problem.block_mask;
  EXPECT_EQ(mask.tiling(), problem.block_mask->tiling());
  EXPECT_THAT(mask.row_offsets(), ElementsAreArray(problem.block_mask->row_offsets()));
  EXPECT_THAT(mask.columns(), ElementsAreArray(problem.block_mask->columns()));
  EXPECT_THAT(mask.rows(), ElementsAreArray(problem.block_mask->rows()));
}

TEST(CStructs, TheKernelsChoicesArrive) {
  ResolvedRun run = kernel_run("flash1", {}, PassKind::backward, Tiling{32, 64}, Carry::fp32);
  run.asked.deterministic = true;
  const auto request = there(run);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request.value(), run);
}

TEST(CStructs, AnOlderCallersShorterStructsUseNothingNew) {
  const AttentionProblem scored = scored_problem();
  const CProblem c(scored);
  attnscope_problem problem = c.value();
  problem.struct_size = offsetof(attnscope_problem, soft_cap);
  ResolvedRun run = kernel_run("flash2", scored, PassKind::backward);
  run.asked.deterministic = true;
  attnscope_kernel kernel = c_kernel(run);
  kernel.struct_size = offsetof(attnscope_kernel, deterministic);
  const auto request = read_request(PassKind::backward, &problem, &kernel);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request.value().problem.score.is_plain());
  EXPECT_FALSE(request.value().problem.has_key_lengths());
  EXPECT_FALSE(request.value().asked.deterministic);
}

std::string refusal(const attnscope_problem& problem) {
  const ResolvedRun run = kernel_run("flash2", {});
  const attnscope_kernel kernel = c_kernel(run);
  const auto request = read_request(PassKind::forward, &problem, &kernel);
  return request ? "accepted" : words(request.error(), Reader::file);
}

TEST(CStructs, BadPartsOfAProblemAreRefusedInOneLine) {
  const AttentionProblem scored = scored_problem();
  const CProblem c(scored);
  attnscope_problem problem = c.value();
  problem.soft_cap = -1.0;
  EXPECT_THAT(refusal(problem), HasSubstr("softcap is -1"));
  problem = c.value();
  problem.dropout_probability = 1.0;
  EXPECT_THAT(refusal(problem), HasSubstr("dropout is 1"));
  problem = c.value();
  const std::int64_t lengths[] = {5, 121};
  problem.key_lengths = lengths;
  EXPECT_THAT(refusal(problem), HasSubstr("key_lengths has 121"));
  problem = c.value();
  problem.cu_seqlens_q = lengths;
  EXPECT_THAT(refusal(problem), HasSubstr("sequences is 0"));
  problem = c.value();
  const std::uint8_t tiles[] = {1, 0};
  problem.block_mask = tiles;
  problem.block_mask_rows = 1;
  problem.block_mask_cols = 2;
  EXPECT_THAT(refusal(problem), HasSubstr("tiles of 0 x 0"));
  problem.block_mask_tile_rows = problem.block_mask_tile_cols = 64;
  EXPECT_THAT(refusal(problem), HasSubstr("has 1 x 2 tiles"));
}

}  // namespace
}  // namespace attnscope::kernels
