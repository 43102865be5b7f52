#include "kernels/block_sparse/block_sparse_instances.cuh"

namespace attnscope::kernels {

bool start_block_sparse_backward_bf16(const BackwardParameters& parameters, Index batch, Index d,
                                      const Tiling& tiling, void* stream) {
  return start_block_sparse_backward<device::Bf16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
