#include "kernels/measure/inputs/input_generator.h"

#include <algorithm>

#include "kernels/measure/measuring_programs.h"

namespace attnscope::kernels {

void enqueue_inputs(CompiledKernels& kernels, const Stream& stream, void* data_dev, DType dtype,
                    const InputSpec& spec, InputTensor tensor, Index batch, Index heads, Index rows,
                    Index d) {
  constexpr Index kMaxBlocks = 65536;
  const BlockProgram block = input_program(dtype);
  const Index count = batch * heads * rows * d;
  const Index blocks = std::min(ceil_div(count, Index{block.threads}), kMaxBlocks);
  kernels.start(block, blocks, stream.get(), data_dev, spec.kind, spec.seed, tensor, count, heads,
                rows, d);
}

}  // namespace attnscope::kernels
