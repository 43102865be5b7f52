/// The kernels of a calibration: those beside operation_benchmarks.h, and the list of all. Plain
/// C++.
#pragma once

#include <string>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

/// Why the GPU lacks instructions of compute capability 9.0 and newer; empty if it has them.
std::string needs_sm_90(const ProgramTarget& target);

/// Kernels whose blocks each read, write or copy one part of kStreamBytes bytes.
inline constexpr Index kStreamBytes = Index{16} * 1024;
BlockProgram read_once_program();
BlockProgram write_parts_program();
BlockProgram copy_once_program();

/// A program of visit_in_turns(): one block on each SM visits chunks.
struct VisitProgram {
  BlockProgram block;
  Index chunk_bytes = 0;
};
VisitProgram read_visits(const ProgramTarget& target);
VisitProgram write_visits(const ProgramTarget& target);
/// Atomic additions of `floats` neighbours each: 1, 2 or 4.
VisitProgram add_visits(int floats, const ProgramTarget& target);

/// Links 2^log_lines lines into a chain, with one thread per line.
inline constexpr int kLogLinesInL1 = 6, kLogLinesInDram = 19;
BlockProgram link_program(int log_lines);
/// Links each of this many lines to itself, with one thread per line.
inline constexpr int kTimedLines = 256;
BlockProgram link_to_themselves_program();
/// Follow the links: in L1, bypassing L1, or in shared memory.
BlockProgram follow_program(bool past_l1);
BlockProgram follow_shared_program();
/// The program of time_each_line(): one block on each SM.
BlockProgram time_lines_program(const ProgramTarget& target);

/// Fills memory with random words: fill_step_words().
BlockProgram fill_words_program();

/// Blocks without work; `overlaps`: they may start before the previous launch has ended.
BlockProgram nothing_program(int threads, bool overlaps = false);

/// Every program that a calibration of such a GPU launches, each once.
std::vector<KernelProgram> calibration_programs(const ProgramTarget& target);

}  // namespace attnscope::kernels
