/// A trace without blocks, for tests of what traces are made into.
#pragma once

#include "kernels/trace/kernel_trace.h"

namespace attnscope {

/// flash2 on one head: N = 16, N_kv = 32, 16x16 tiles.
inline KernelTrace described() {
  KernelTrace trace;
  trace.header.device = {.name = "a GPU", .compute_capability = "9.0", .sm_count = 2};
  trace.header.date = "2026-01-31T12:34:56Z";
  trace.problem.N = 16;
  trace.problem.N_kv = 32;
  trace.problem.d = 16;
  trace.problem.dtype = DType::bf16;
  trace.kernel = trace.algorithm = "flash2";
  trace.launch = "forward";
  trace.tiling = {16, 16};
  return trace;
}

}  // namespace attnscope
