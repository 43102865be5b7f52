/// Kernels for which NVRTC generates only PTX, as for GPUs that it does not know: the driver
/// compiles it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/launch_resources.h"
#include "reference/naive_attention.h"
#include "tests/kernels/reference_check.h"

namespace attnscope::kernels {
namespace {

TEST(Ptx, OfEveryForwardPassAgreesWithTheReference) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem{.batch = 2,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .N = 300,
                                 .N_kv = 460,
                                 .d = 64,
                                 .dtype = DType::bf16,
                                 .mask = Mask::causal()};
  const AttentionInputs inputs = make_inputs(problem, {.seed = 18});
  const ForwardResult reference = naive_forward(problem, inputs);
  LaunchResources only_ptx{.kernels = CompiledKernels("compute_90")};
  for (const KernelInfo& kernel : catalog()) {
    ForwardCase forward_case{.kernel = &kernel, .resources = &only_ptx};
    // Such GPUs do not have Hopper's instructions
    if (kernel.has_knob(kInstructionsKnob, PassKind::forward)) {
      forward_case.switches[kInstructionsKnob] = "mma";
    }
    check_forward(forward_case, problem, inputs, reference);
  }
}

}  // namespace
}  // namespace attnscope::kernels
