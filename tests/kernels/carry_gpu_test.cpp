/// How the error of flash1 grows with N if O is kept in 16 bits in HBM, on the GPU and in the
/// model: prints the table.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "kernels/catalog.h"
#include "tests/kernels/modelled_carry.h"

namespace attnscope::kernels {
namespace {

/// Largest errors of O against the reference.
struct Errors {
  double measured, modelled, unfused;
};

Errors errors_at(Index N, DType dtype, Carry carry) {
  const AttentionProblem problem{.batch = 1,
                                 .heads = 1,
                                 .kv_heads = 1,
                                 .N = N,
                                 .N_kv = N,
                                 .d = 64,
                                 .dtype = dtype,
                                 .mask = {}};
  const AttentionInputs inputs = make_inputs(problem, {.seed = 800});
  const HeadTensor reference = naive_forward(problem, inputs).O;
  const auto error_of = [&](const HeadTensor& O) {
    return compare(O.data, reference.data).max_abs_error;
  };
  const ForwardCase flash1{
      .kernel = find_kernel("flash1"), .tiling = Tiling{128, 128}, .carry = carry};
  return {error_of(run_forward(flash1, problem, inputs).result.O),
          error_of(modelled_O(flash1, problem, inputs)),
          error_of(unfused_forward(problem, inputs).O)};
}

class CarryOfFlash1 : public ::testing::TestWithParam<std::pair<DType, Carry>> {};

TEST_P(CarryOfFlash1, CostsWhatTheModelPredicts) {
  ATTNSCOPE_NEEDS_GPU();
  const auto [dtype, carry] = GetParam();
  fmt::print("{:5} {:7} {:>5} {:>10} {:>10} {:>10} {:>17} {:>16}\n", "dtype", "carry", "N",
             "measured", "modelled", "unfused", "measured/modelled", "measured/unfused");
  for (Index N = 256; N <= 16384; N *= 2) {
    const Errors e = errors_at(N, dtype, carry);
    fmt::print("{:5} {:7} {:5} {:10.3e} {:10.3e} {:10.3e} {:17.2f} {:16.2f}\n", to_string(dtype),
               to_string(carry), N, e.measured, e.modelled, e.unfused, e.measured / e.modelled,
               e.measured / e.unfused);
    EXPECT_LE(e.measured, 2 * e.modelled) << N;
    EXPECT_LE(e.modelled, 2 * e.measured) << N;
    if (carry == Carry::fp32) {
      EXPECT_LE(e.measured, 2 * e.unfused) << N;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    EachWay, CarryOfFlash1,
    ::testing::Values(std::pair{DType::bf16, Carry::problem}, std::pair{DType::bf16, Carry::fp32},
                      std::pair{DType::fp16, Carry::problem}, std::pair{DType::fp16, Carry::fp32}),
    [](const auto& test) {
      return fmt::format("{}_carry_{}", to_string(test.param.first), to_string(test.param.second));
    });

}  // namespace
}  // namespace attnscope::kernels
