/// The kernels that measurements need in addition to those measured. Plain C++.
#pragma once

#include "kernels/compile/block_program.h"

namespace attnscope::kernels {

/// Reads zeros, on any number of thread blocks.
inline BlockProgram sweep_cache_program() {
  constexpr int kThreads = 256;
  return {.program = {.source = "kernels/measure/timing/conditioning.cuh",
                      .expression = instance_of("sweep_cache", kThreads)},
          .threads = kThreads};
}

/// Occupies a stream, on one thread block.
inline BlockProgram head_start_program() {
  constexpr int kDuration_ns = 50'000;
  return {.program = {.source = "kernels/measure/timing/conditioning.cuh",
                      .expression = instance_of("occupy_stream", kDuration_ns)},
          .threads = 1};
}

/// Reads the SMs' clocks, on one thread block per SM.
inline BlockProgram sm_clock_program() {
  return {.program = {.source = "kernels/measure/timing/sm_clock.cuh",
                      .expression = "attnscope::kernels::read_sm_clocks"},
          .threads = 1};
}

/// Writes elements of inputs, on any number of thread blocks.
inline BlockProgram input_program(DType dtype) {
  constexpr int kThreads = 256;
  return {.program = {.source = "kernels/measure/inputs/input_generator.cuh",
                      .expression = instance_of("generate_inputs", dtype, kThreads)},
          .threads = kThreads};
}

}  // namespace attnscope::kernels
