/// The kernels that support score functions, sliding windows, key padding and packed sequences,
/// both passes, against the reference by the tolerance rule; dropout bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>
#include <string_view>

#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "reference/block_pattern.h"
#include "reference/tolerance.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/score_features.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

struct Subject {
  const char* kernel;
  DType dtype;
  Index d;
};

constexpr std::pair<Index, Index> kSizes[] = {
    {1, 239}, {799, 3}, {113, 203}, {256, 512}, {300, 140}, {384, 384},
};

class ScoredKernels : public ::testing::TestWithParam<Subject> {
 protected:
  const KernelInfo* kernel() const { return find_kernel(GetParam().kernel); }
  bool has_gradients() const { return kernel()->has_backward() && GetParam().dtype != DType::fp32; }
  /// Whether the kernel is split_kv, which supports neither dropout nor packed sequences.
  bool decodes() const { return kernel()->name == "split_kv"; }
  bool is_sparse() const { return kernel()->name == "block_sparse2"; }
  bool takes(const AttentionProblem& p) const {
    return !decodes() || !(p.score.has_dropout() || p.is_packed());
  }
  AttentionProblem problem(Index N, Index N_kv) const {
    AttentionProblem p{.batch = 2,
                       .heads = 4,
                       .kv_heads = 2,
                       .N = N,
                       .N_kv = N_kv,
                       .d = GetParam().d,
                       .dtype = GetParam().dtype};
    if (is_sparse()) {
      const Tiling tiling = default_tilings(*kernel(), PassKind::backward, p).front();
      const BlockPattern pattern = parse_block_pattern("random:0.6,3").value();
      p.block_mask = make_block_mask(pattern, N, N_kv, tiling).value();
    }
    return p;
  }
};

/// Checks the forward pass, and the backward pass if there is one.
void check(const KernelInfo* kernel, const AttentionProblem& problem, const AttentionInputs& inputs,
           Layout layout = Layout::contiguous) {
  const ForwardResult reference = naive_forward(problem, inputs);
  for (const Carry carry : {Carry::problem, Carry::fp32}) {
    const bool is_refused =
        supports(test::kernel_run(kernel->name, problem, PassKind::forward, std::nullopt, carry))
            .has_value();
    if (carry == Carry::fp32 && is_refused) continue;  // only flash1 supports it
    check_forward({.kernel = kernel, .carry = carry, .layout = layout}, problem, inputs, reference);
  }
  if (!kernel->has_backward() || problem.dtype == DType::fp32) return;
  check_backward({.kernel = kernel, .layout = layout}, problem, inputs, reference);
}

void check(const KernelInfo* kernel, const AttentionProblem& problem, const InputSpec& spec,
           Layout layout = Layout::contiguous) {
  check(kernel, problem, make_inputs(problem, spec), layout);
}

TEST_P(ScoredKernels, AgreeWithTheReferenceInEveryFeatureAtEverySize) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 1;
  for (const NamedFeatures& named : kFeatures) {
    for (const auto& [N, N_kv] : kSizes) {
      AttentionProblem scored = problem(N, N_kv);
      for (const Feature feature : named.features) feature(scored);
      if (!takes(scored)) continue;
      SCOPED_TRACE(std::string(named.name) + ", " + describe(scored));
      if (is_sparse() && scored.score.has_dropout() && !scored.mask.is_none()) {
        // Rows that see one key at the edge of a kept tile: see add_packing_of_many_keys()
        const AttentionInputs inputs = make_inputs(scored, {.seed = seed++});
        check_forward({.kernel = kernel()}, scored, inputs, naive_forward(scored, inputs));
        continue;
      }
      check(kernel(), scored, {.seed = seed++});
    }
  }
}

/// The usual cap of models, with scores large enough to reach it.
TEST_P(ScoredKernels, AgreeWithTheReferenceUnderASoftCapOf50) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    AttentionProblem capped = problem(256, 512);
    capped.mask = mask;
    capped.score.soft_cap = 50;
    AttentionInputs inputs = make_inputs(capped, {.seed = 450});
    for (double& q : inputs.Q.data) q *= 16;  // a power of two: stored in every precision
    SCOPED_TRACE(describe(capped));
    check(kernel(), capped, inputs);
  }
}

TEST_P(ScoredKernels, AgreeWithTheReferenceInRandomWindowsAndPadding) {
  ATTNSCOPE_NEEDS_GPU();
  std::mt19937 engine(470);
  const auto any_up_to = [&](Index most) {
    return static_cast<Index>(engine() % static_cast<std::uint64_t>(most + 1));
  };
  for (const auto& [N, N_kv] : {std::pair<Index, Index>{113, 203}, {256, 512}, {384, 384}}) {
    for (const int draw : {0, 1, 2, 3}) {
      AttentionProblem scored = problem(N, N_kv);
      const Index left = 1 + any_up_to(N_kv / 2);
      const Index right = any_up_to(N_kv / 2);
      if (draw > 0) scored.mask = Mask::window(left, right);
      if (draw == 2) scored.mask.alignment = Mask::Alignment::top_left;
      if (draw != 1) scored.key_lengths = {N_kv - any_up_to(20), N_kv - any_up_to(20)};
      SCOPED_TRACE(describe(scored) + ", draw " + std::to_string(draw));
      check(kernel(), scored, {.seed = 471});
    }
  }
}

TEST_P(ScoredKernels, TakeTensorsWithStridesAndWriteNothingBetweenRows) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Feature packing : {add_packing, add_key_lengths}) {
    AttentionProblem scored = problem(113, 203);
    add_window(scored);
    if (decodes() && packing == add_packing) continue;
    if (!decodes()) add_dropout(scored);
    packing(scored);
    check(kernel(), scored, {.seed = 500}, Layout::interleaved);
  }
}

/// Tests of standard and split_kv, whose programs depend on the length of a row; the tiles of other
/// kernels do not.
class KernelsOfWholeRows : public ScoredKernels {};

/// Rows long enough for many splits, and for every instance of standard's launches, whether or not
/// they are multiples of 16 bytes.
TEST_P(KernelsOfWholeRows, TakeRowsOfEveryLength) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index keys : {1016, 1501, 5000, 9001, 9008, 17000, 17003, 40000}) {
    for (const bool caps : {false, true}) {
      AttentionProblem scored = problem(3, keys);
      scored.mask = Mask::window(keys / 2, 1);
      scored.key_lengths = {keys, keys - 77};
      add_alibi(scored);
      if (caps) add_soft_cap(scored);
      if (!decodes()) add_dropout(scored);
      SCOPED_TRACE(describe(scored));
      check(kernel(), scored, {.seed = 550});
    }
  }
}

TEST_P(ScoredKernels, HandleLargeLogits) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem scored = problem(211, 300);
  add_window(scored);
  add_alibi(scored);
  const InputSpec outliers{.kind = InputKind::outlier, .seed = 560};
  for (const bool caps : {false, true}) {
    if (caps) add_soft_cap(scored);
    const AttentionInputs inputs = make_inputs(scored, outliers);
    check_forward({.kernel = kernel()}, scored, inputs, naive_forward(scored, inputs));
  }
}

/// Tests of all kernels except standard, which multiplies all keys.
class KernelsOfValidKeys : public ScoredKernels {};

/// The memory after the last key of a cache may contain anything.
TEST_P(KernelsOfValidKeys, NeverReadPaddingOfACache) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem cache = problem(1, 700);
  cache.key_lengths = {0, 301};
  AttentionInputs inputs = make_inputs(cache, {.seed = 570});
  const ForwardResult reference = naive_forward(cache, inputs);
  const HeadTensor expected = run_forward({.kernel = kernel()}, cache, inputs).result.O;
  Gradients clean;
  if (has_gradients()) {
    clean = run_backward({.kernel = kernel()}, cache, inputs, reference).gradients;
  }
  for (HeadTensor* tensor : {&inputs.K, &inputs.V}) {
    for (Index b = 0; b < cache.batch; ++b) {
      const Index first = cache.key_lengths[static_cast<std::size_t>(b)];
      for (Index key = first; key < cache.N_kv; ++key) {
        tensor->at(b, 1, key, cache.d / 2) = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  const ForwardRun poisoned = run_forward({.kernel = kernel()}, cache, inputs);
  EXPECT_EQ(poisoned.result.O.data, expected.data);
  EXPECT_EQ(poisoned.result.LSE.at(0, 3, 0, 0), -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(poisoned.result.LSE.at(1, 3, 0, 0), reference.LSE.at(1, 3, 0, 0), 1e-4);
  if (!has_gradients()) return;
  const Gradients gradients =
      run_backward({.kernel = kernel()}, cache, inputs, reference).gradients;
  EXPECT_EQ(gradients.dK.data, clean.dK.data);
  EXPECT_EQ(gradients.dV.data, clean.dV.data);
  const ErrorReport dQ = compare(gradients.dQ.data, clean.dQ.data);  // added in a random order
  EXPECT_TRUE(!dQ.has_nan && dQ.rel_fro_error <= 1e-3) << dQ.rel_fro_error;
}

TEST_P(ScoredKernels, GiveZeroAndMinusInfinityWhereNothingIsSeen) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem empty = problem(150, 170);
  add_soft_cap(empty);
  if (!decodes()) add_dropout(empty);
  empty.key_lengths = {0, 100};
  const AttentionInputs inputs = make_inputs(empty, {.seed = 600});
  const ForwardResult reference = naive_forward(empty, inputs);
  const ForwardRun forward = run_forward({.kernel = kernel()}, empty, inputs);
  for (Index row = 0; row < empty.N; ++row) {
    ASSERT_EQ(forward.result.O.at(0, 3, row, 0), 0.0) << row;
    ASSERT_EQ(forward.result.O.at(0, 3, row, empty.d - 1), 0.0) << row;
    ASSERT_EQ(forward.result.LSE.at(0, 3, row, 0), -std::numeric_limits<double>::infinity());
  }
  if (!has_gradients()) return;
  const Gradients gradients =
      run_backward({.kernel = kernel()}, empty, inputs, reference).gradients;
  for (const Index col : {Index{0}, empty.d - 1}) {
    for (Index row = 0; row < empty.N; ++row) {
      ASSERT_EQ(gradients.dQ.at(0, 3, row, col), 0.0) << row;
    }
    for (Index key = 0; key < empty.N_kv; ++key) {
      ASSERT_EQ(gradients.dK.at(0, 1, key, col), 0.0) << key;
      ASSERT_EQ(gradients.dV.at(0, 1, key, col), 0.0) << key;
      if (key < 100) continue;
      ASSERT_EQ(gradients.dK.at(1, 1, key, col), 0.0) << key;
      ASSERT_EQ(gradients.dV.at(1, 1, key, col), 0.0) << key;
    }
  }
}

/// Sets element `row` of each row of a tensor, counted from `first`, to 1 and all others to 0.
void set_unit_rows(HeadTensor& tensor, Index first) {
  std::fill(tensor.data.begin(), tensor.data.end(), 0.0);
  for (Index b = 0; b < tensor.batch; ++b) {
    for (Index h = 0; h < tensor.heads; ++h) {
      for (Index n = 0; n < tensor.cols && first + n < tensor.rows; ++n) {
        tensor.at(b, h, first + n, n) = 1.0;
      }
    }
  }
}

/// Tests with dropout, but without a block mask, which would hide elements as well.
class KernelsWithDropout : public ScoredKernels {};

TEST_P(KernelsWithDropout, DropTheElementsThatTheReferenceDrops) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem dropped = problem(140, 270);
  add_dropout(dropped);
  AttentionInputs inputs = make_inputs(dropped, {.seed = 700});
  for (double& q : inputs.Q.data) q *= 0.25;  // no element of P is too small for its sum
  const auto is_dropped = [&](Index b, Index h, Index query, Index key) {
    return dropped.dropout_factor(b, h, query, key) == 0.0;
  };

  // Unit rows of V make O a part of P; unit rows of dO make dV a part of its transpose
  dropped.kv_heads = dropped.heads;
  inputs.K = inputs.V = make_inputs(dropped, {.seed = 701}).K;
  for (Index first = 0; first < dropped.N_kv; first += dropped.d) {
    set_unit_rows(inputs.V, first);
    const HeadTensor O = run_forward({.kernel = kernel()}, dropped, inputs).result.O;
    for (Index query = 0; query < dropped.N; ++query) {
      for (Index n = 0; n < dropped.d && first + n < dropped.N_kv; ++n) {
        ASSERT_EQ(O.at(1, 2, query, n) == 0.0, is_dropped(1, 2, query, first + n))
            << query << ", " << first + n;
      }
    }
  }
  if (!has_gradients()) return;
  const ForwardResult reference = naive_forward(dropped, inputs);
  for (Index first = 0; first < dropped.N; first += dropped.d) {
    set_unit_rows(inputs.dO, first);
    const HeadTensor dV =
        run_backward({.kernel = kernel()}, dropped, inputs, reference).gradients.dV;
    for (Index key = 0; key < dropped.N_kv; ++key) {
      for (Index n = 0; n < dropped.d && first + n < dropped.N; ++n) {
        ASSERT_EQ(dV.at(1, 2, key, n) == 0.0, is_dropped(1, 2, first + n, key))
            << first + n << ", " << key;
      }
    }
  }
}

TEST_P(ScoredKernels, GiveTheSameBitsOnEveryRun) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem repeated = problem(300, 500);
  for (const Feature feature : {add_window, add_soft_cap, add_alibi}) feature(repeated);
  if (!decodes()) add_dropout(repeated);
  const AttentionInputs inputs = make_inputs(repeated, {.seed = 800});
  const ForwardResult reference = naive_forward(repeated, inputs);
  const ForwardRun once = run_forward({.kernel = kernel()}, repeated, inputs);
  const ForwardRun last = run_forward({.kernel = kernel(), .runs = kRepeats}, repeated, inputs);
  EXPECT_EQ(last.runs_of_other_bits, 0);
  EXPECT_TRUE(once.O_bytes == last.O_bytes);
  EXPECT_TRUE(once.LSE_bytes == last.LSE_bytes);
  if (!has_gradients()) return;
  const BackwardRun pass = run_backward({.kernel = kernel()}, repeated, inputs, reference);
  const BackwardRun last_pass =
      run_backward({.kernel = kernel(), .passes = kRepeats}, repeated, inputs, reference);
  EXPECT_EQ(last_pass.passes_of_other_dK_dV, 0);
  EXPECT_TRUE(pass.dK_bytes == last_pass.dK_bytes);
  EXPECT_TRUE(pass.dV_bytes == last_pass.dV_bytes);
}

std::vector<Subject> subjects() {
  std::vector<Subject> all{{"standard", DType::fp32, 64}};
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    for (const Index d : {16, 20, 40, 64, 100, 128, 160, 256}) all.push_back({"flash2", dtype, d});
    for (const Index d : {59, 128}) all.push_back({"standard", dtype, d});
    for (const Index d : {16, 20, 40, 64, 96, 100, 128, 160, 256}) {
      all.push_back({"block_sparse2", dtype, d});
      all.push_back({"flash1", dtype, d});
    }
    for (const Index d : {64, 100, 128, 256}) all.push_back({"split_kv", dtype, d});
  }
  return all;
}

/// The subjects with one of the named kernels.
std::vector<Subject> subjects_of(std::initializer_list<std::string_view> kernels) {
  std::vector<Subject> chosen;
  std::ranges::copy_if(subjects(), std::back_inserter(chosen), [&](const Subject& subject) {
    return std::ranges::find(kernels, subject.kernel) != kernels.end();
  });
  return chosen;
}

std::string name_of(const ::testing::TestParamInfo<Subject>& test) {
  return std::string(test.param.kernel) + "_" + std::string(to_string(test.param.dtype)) + "_d" +
         std::to_string(test.param.d);
}

INSTANTIATE_TEST_SUITE_P(EveryKernel, ScoredKernels, ::testing::ValuesIn(subjects()), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, KernelsOfWholeRows,
                         ::testing::ValuesIn(subjects_of({"standard", "split_kv"})), name_of);
INSTANTIATE_TEST_SUITE_P(
    Kernels, KernelsOfValidKeys,
    ::testing::ValuesIn(subjects_of({"flash1", "flash2", "block_sparse2", "split_kv"})), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, KernelsWithDropout,
                         ::testing::ValuesIn(subjects_of({"standard", "flash1", "flash2"})),
                         name_of);

}  // namespace
}  // namespace attnscope::kernels
