/// The programs with Hopper's own instructions that tests launch, by type, head dimension and
/// tiling.
#pragma once

#include <gtest/gtest.h>

#include <ostream>

#include "reference/attention_problem.h"
#include "reference/tiling.h"
#include "tests/kernels/sizes.h"

namespace attnscope::kernels {

struct HopperInstance {
  Index d;
  Tiling tiling;
  DType dtype = DType::bf16;
};

inline void PrintTo(const HopperInstance& instance, std::ostream* out) {
  *out << to_string(instance.dtype) << " d" << instance.d << ' ' << instance.tiling.Br << 'x'
       << instance.tiling.Bc;
}

class HopperProgram : public ::testing::TestWithParam<HopperInstance> {
 protected:
  /// A problem with two batch entries of four heads.
  AttentionProblem problem(const Size& size, const Mask& mask) const {
    return {.batch = 2,
            .heads = 4,
            .kv_heads = 4,
            .N = size.first,
            .N_kv = size.second,
            .d = GetParam().d,
            .dtype = GetParam().dtype,
            .mask = mask};
  }
};

}  // namespace attnscope::kernels
