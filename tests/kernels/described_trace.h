/// A trace without blocks, for tests of the formats that traces are converted to.
#pragma once

#include "kernels/measure/trace/kernel_trace.h"

namespace attnscope {

/// flash2 on one head: N = 16, N_kv = 32, 16x16 tiles.
inline KernelTrace described() {
  KernelTrace trace;
  trace.header.device = {.name = "a GPU", .compute_capability = "9.0", .sm_count = 2};
  trace.header.date = "2026-01-31T12:34:56Z";
  trace.run.problem.N = 16;
  trace.run.problem.N_kv = 32;
  trace.run.problem.d = 16;
  trace.run.problem.dtype = DType::bf16;
  trace.run.asked.kernel = trace.run.asked.algorithm = "flash2";
  trace.launch = "forward";
  trace.run.tiling = {16, 16};
  trace.time_s = 2.1e-5;
  trace.plain_time_s = 2e-5;
  return trace;
}

}  // namespace attnscope
