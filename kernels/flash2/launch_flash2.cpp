#include "kernels/flash2/flash2_start.h"
#include "kernels/launches.h"
#include "reference/check.h"

namespace attnscope::kernels {

void launch_flash2(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const ForwardParameters parameters{
      forward_shape(problem), arguments.Q, arguments.K, arguments.V, arguments.O,
      arguments.LSE_dev};
  named_launch(arguments, "forward", [&] {
    if (arguments.trace != nullptr) {
      const bool traced = start_flash2_traced(parameters, *arguments.trace, problem.dtype,
                                              problem.batch, problem.d, tiling, arguments.stream);
      ATTNSCOPE_CHECK(traced, ==, true);  // plan_trace() names no tiling without an instance
      return;
    }
    const auto start = problem.dtype == DType::fp32   ? start_flash2_fp32
                       : problem.dtype == DType::fp16 ? start_flash2_fp16
                                                      : start_flash2_bf16;
    const bool started = start(parameters, problem.batch, problem.d, tiling, arguments.stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
}

}  // namespace attnscope::kernels
