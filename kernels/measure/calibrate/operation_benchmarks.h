/// The rates of instructions on one SM that a calibration measures: for each, the operation of
/// time_operations(), the number of warps and the name of the result. Plain C++.
#pragma once

#include <string>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

struct OperationBenchmark {
  std::string name, unit, how;  ///< of the measured quantity
  BlockProgram block;           ///< one block fills an SM
  int operations = 0;           ///< per thread in one iteration of the kernel's loop
  /// The amount of one operation of one thread, in the unit before "/cycle/SM"; 0: the quantity is
  /// the number of cycles per operation.
  double work_per_operation = 0;
  std::string unavailable = {};  ///< why the GPU lacks it
};

/// Dynamic shared memory of a block that leaves no room for a second one on an SM.
Index shared_bytes_of_whole_sm(const ProgramTarget& target);

/// All benchmarks, in the order of a calibration.
std::vector<OperationBenchmark> operation_benchmarks(const ProgramTarget& target);

/// The benchmark with this name, which must exist.
OperationBenchmark operation_benchmark(std::string_view name, const ProgramTarget& target);

}  // namespace attnscope::kernels
