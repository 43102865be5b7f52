/// A problem's programs, compiled for compute capability 9.0.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/catalog.h"
#include "kernels/compile/compiler.h"
#include "kernels/run_programs.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

/// A problem with 1024 queries and keys in bf16.
inline AttentionProblem problem_of(Index d, const Mask& mask) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 1024;
  problem.d = d;
  problem.dtype = DType::bf16;
  problem.mask = mask;
  return problem;
}

/// The program of one launch of a run, on a GPU of this compute capability.
inline BlockProgram launch_program(std::string_view launch, const ResolvedRun& run,
                                   LaunchKind kind = {},
                                   Index shared_bytes_per_block = kMostSharedBytes,
                                   std::string_view compute_capability = "8.0") {
  const ProgramTarget target{.compute_capability = std::string(compute_capability)};
  kind.hopper = target.has_hopper_instructions() && has_hopper_program(run, kind.knobs);
  kind.shared_bytes_per_block = shared_bytes_per_block;
  for (const LaunchProgram& each : find_kernel(run.asked.kernel)->programs(run, kind)) {
    if (each.launch == launch) return each.block;
  }
  ADD_FAILURE() << run.asked.kernel << " has no launch " << launch;
  return {};
}

/// The compiler that all tests share. CTest gives the shards of one run an empty folder for their
/// kernels, so that no shard compiles what another one has compiled; a program that is run by
/// itself keeps them in memory.
inline KernelCompiler& shared_compiler() {
  const char* const folder = std::getenv("ATTNSCOPE_SHARED_KERNELS");
  static KernelCompiler compiler(folder != nullptr ? folder : "");
  return compiler;
}

/// The program's kernel, from the shared compiler.
inline CompiledKernel compiled(const BlockProgram& block) {
  KernelProgram program = block.program;
  program.architecture = "sm_90a";
  const auto obtained = shared_compiler().obtain(program);
  EXPECT_TRUE(obtained.ok()) << (obtained.ok() ? "" : obtained.error().message);
  return obtained.ok() ? *obtained.value().kernel : CompiledKernel();
}

/// Expects that its threads have enough registers and spill none to memory.
inline void expect_no_spill(const BlockProgram& block) {
  const CompiledKernel kernel = compiled(block);
  EXPECT_GT(kernel.resources.registers, 0) << block.program.expression;
  EXPECT_EQ(kernel.resources.spill_stores, 0) << block.program.expression;
  EXPECT_LE(kernel.resources.registers * block.threads, 65536) << block.program.expression;
}

}  // namespace attnscope::kernels
