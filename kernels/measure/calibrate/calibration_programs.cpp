#include "kernels/measure/calibrate/calibration_programs.h"

#include <algorithm>

#include "kernels/measure/calibrate/operation_benchmarks.h"
#include "kernels/measure/calibrate/tile_steps.h"
#include "kernels/measure/measuring_programs.h"
#include "reference/parse_number.h"

namespace attnscope::kernels {

namespace {

BlockProgram program(const char* file, std::string expression, int threads,
                     Index shared_bytes = 0) {
  return {.program = {.source = fmt::format("kernels/measure/calibrate/{}", file),
                      .expression = std::move(expression)},
          .threads = threads,
          .shared_bytes = shared_bytes};
}

BlockProgram stream_program(std::string_view kernel) {
  constexpr int kThreads = 256;
  return program("memory_rates.cuh", instance_of(kernel, kThreads, kStreamBytes), kThreads);
}

VisitProgram visits(std::string_view access, Index chunk_bytes, const ProgramTarget& target) {
  constexpr int kThreads = 1024;
  return {program("memory_rates.cuh",
                  instance_of("visit_in_turns", fmt::format("attnscope::kernels::{}", access),
                              kThreads, chunk_bytes),
                  kThreads, shared_bytes_of_whole_sm(target)),
          chunk_bytes};
}

}  // namespace

std::string needs_sm_90(const ProgramTarget& target) {
  const std::string_view capability = target.compute_capability;
  const auto major = parse_number<int>(capability.substr(0, capability.find('.')));
  return major && *major >= 9 ? "" : "needs compute capability 9.0 or newer";
}

BlockProgram read_once_program() {
  return stream_program("read_once");
}
BlockProgram write_parts_program() {
  return stream_program("write_parts");
}
BlockProgram copy_once_program() {
  return stream_program("copy_once");
}

VisitProgram read_visits(const ProgramTarget& target) {
  return visits("ReadAccess", Index{64} * 1024, target);
}
VisitProgram write_visits(const ProgramTarget& target) {
  return visits("WriteAccess", Index{16} * 1024, target);
}
VisitProgram add_visits(int floats, const ProgramTarget& target) {
  return visits(fmt::format("AddAccess<{}>", floats), Index{16} * 1024, target);
}

BlockProgram link_program(int log_lines) {
  const int threads = std::min(256, 1 << log_lines);
  return program("latencies.cuh", instance_of("link_lines", log_lines, threads), threads);
}
BlockProgram link_to_themselves_program() {
  return program("latencies.cuh", instance_of("link_lines_to_themselves", kTimedLines),
                 kTimedLines);
}
BlockProgram follow_program(bool past_l1) {
  const auto level = fmt::format("attnscope::kernels::Level::{}", past_l1 ? "past_l1" : "l1");
  return program("latencies.cuh", instance_of("follow_lines", level), 1);
}
BlockProgram follow_shared_program() {
  constexpr int kWords = 256;
  return program("latencies.cuh", instance_of("follow_shared_words", kWords), 1);
}
BlockProgram time_lines_program(const ProgramTarget& target) {
  constexpr int kLinks = 32;
  return program("latencies.cuh", instance_of("time_each_line", kLinks), 32,
                 shared_bytes_of_whole_sm(target));
}

BlockProgram fill_words_program() {
  return program("step_values.cuh", "attnscope::kernels::steps::fill_step_words", 256);
}

BlockProgram nothing_program(int threads, bool overlaps) {
  BlockProgram block =
      program("launches.cuh",
              fmt::format("attnscope::kernels::{}",
                          overlaps ? "do_nothing_after_launch_before" : "do_nothing"),
              threads);
  block.overlaps_launch_before = overlaps;
  return block;
}

std::vector<KernelProgram> calibration_programs(const ProgramTarget& target) {
  std::vector<KernelProgram> programs;
  const auto add = [&](const BlockProgram& block) {
    if (std::ranges::find(programs, block.program) == programs.end()) {
      programs.push_back(block.program);
    }
  };
  for (const OperationBenchmark& benchmark : operation_benchmarks(target)) {
    if (benchmark.unavailable.empty()) add(benchmark.block);
  }
  for (const BlockProgram& block :
       {read_once_program(), write_parts_program(), copy_once_program(), read_visits(target).block,
        write_visits(target).block, add_visits(1, target).block, link_program(kLogLinesInL1),
        link_program(kLogLinesInDram), link_to_themselves_program(), follow_program(false),
        follow_program(true), follow_shared_program(), time_lines_program(target),
        nothing_program(1), head_start_program(), sweep_cache_program()}) {
    add(block);
  }
  add(fill_words_program());
  for (const TileSteps& steps : calibrated_steps(target)) add(steps.block);
  if (!needs_sm_90(target).empty()) return programs;
  for (const BlockProgram& block : {add_visits(2, target).block, add_visits(4, target).block,
                                    nothing_program(1, /*overlaps=*/true)}) {
    add(block);
  }
  return programs;
}

}  // namespace attnscope::kernels
