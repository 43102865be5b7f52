/// Generates inputs on the GPU, bit-identical to those of reference/inputs.h.
#pragma once

#include "kernels/host/compiled_kernels.h"
#include "kernels/measure/stream.h"
#include "reference/attention_problem.h"
#include "reference/inputs.h"

namespace attnscope::kernels {

/// Writes a contiguous [batch, heads, rows, d] tensor in `dtype`.
void enqueue_inputs(CompiledKernels& kernels, const Stream& stream, void* data_dev, DType dtype,
                    const InputSpec& spec, InputTensor tensor, Index batch, Index heads, Index rows,
                    Index d);

}  // namespace attnscope::kernels
