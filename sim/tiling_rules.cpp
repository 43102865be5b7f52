#include "sim/tiling_rules.h"

#include <algorithm>

namespace attnscope {

Tiling paper_tiling(Index sram_elems, Index d) {
  const Index Bc = std::max<Index>(1, ceil_div(sram_elems, 4 * d));
  return {std::min(Bc, d), Bc};
}

Index sram_elems(const GpuDescription& gpu, DType dtype) {
  return gpu.shared_bytes_per_block / size_bytes(dtype);
}

Tiling paper_tiling(const GpuDescription& gpu, DType dtype, Index d) {
  return paper_tiling(sram_elems(gpu, dtype), d);
}

}  // namespace attnscope
