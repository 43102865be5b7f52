/// The rates of instructions on one SM that a calibration measures: which operation of
/// time_operations(), by how many warps, and what its result is called. Plain C++.
#pragma once

#include <string>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

struct OperationBenchmark {
  std::string name, unit, how;  ///< of the measured quantity
  BlockProgram block;           ///< fills an SM alone
  int operations = 0;           ///< of a thread in one iteration of the kernel's loop
  /// The amount of one operation of one thread, in the unit before "/cycle/SM"; 0: the quantity is
  /// the cycles that one operation takes.
  double work_per_operation = 0;
  std::string unavailable = {};  ///< why the GPU lacks it
};

/// Dynamic shared memory of a block that leaves no room for a second one on an SM.
Index shared_bytes_of_whole_sm(const ProgramTarget& target);

/// All benchmarks, in the order of a calibration.
std::vector<OperationBenchmark> operation_benchmarks(const ProgramTarget& target);

/// The benchmark of this name; it must exist.
OperationBenchmark operation_benchmark(std::string_view name, const ProgramTarget& target);

}  // namespace attnscope::kernels
