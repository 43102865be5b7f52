#include "kernels/split_kv/split_kv_instances.cuh"

namespace attnscope::kernels {

bool start_split_kv_partial_bf16(const SplitKvParameters& parameters, Index batch, Index d,
                                 const Tiling& tiling, void* stream) {
  return start_split_kv_partial<device::Bf16>(parameters, batch, d, tiling, stream);
}

}  // namespace attnscope::kernels
