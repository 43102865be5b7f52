#include "app/report/program_requests.h"

#include "kernels/gradient_maps.cuh"
#include "kernels/run_programs.h"
#include "sim/observers/box_counter.h"

namespace attnscope {

namespace {

/// Whether tiles fill their boxes and pieces, so that there is nothing to count.
bool fills_boxes(const ResolvedRun& run, const BulkBoxes& boxes) {
  const AttentionProblem& problem = run.problem;
  return problem.d % boxes.columns == 0 && problem.N % boxes.query_rows == 0 &&
         problem.N_kv % run.tiling.Bc == 0 && !problem.has_key_lengths() && !problem.is_packed();
}

using LaunchesBeyondTiles = std::vector<std::array<Bytes, kBeyondTiles>>;

/// The bytes that each launch requests beyond its tiles, over batch and heads. Throws
/// CountTooLarge.
LaunchesBeyondTiles count_beyond_tiles(const ResolvedRun& run, const GpuDescription& gpu,
                                       const BulkBoxes& boxes) {
  const AttentionProblem& problem = run.problem;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  LaunchesBeyondTiles beyond(pass.launches.size());
  PassRun one_entry{problem, run.tiling, options, {}};
  for (const KeyLengthGroup& group : group_batch_by_key_length(problem)) {
    leave_one_entry(one_entry.problem, group);
    BoxCounter counter(boxes);
    CountingObserver* const counters[] = {&counter};
    count_head(pass, one_entry, 0, problem.heads_per_kv_head() - 1, counters);
    for (std::size_t launch = 0; launch < beyond.size(); ++launch) {
      const Index heads =
          group.count * (pass.launches[launch].once_per_kv_head ? problem.kv_heads : problem.heads);
      for (std::size_t cause = 0; cause < kBeyondTiles; ++cause) {
        beyond[launch][cause] += counter.launches()[launch][cause] * heads;
      }
    }
  }
  return beyond;
}

}  // namespace

std::vector<Bytes> requests_beyond_tiles(const SimulationReport& model, const GpuDescription& gpu,
                                         const RecordingRow& run) {
  std::vector<Bytes> requests(model.launches.size());
  if (!run.measurement || run.measurement->instructions != kernels::kHopper) return requests;
  const bool forward = model.run.pass() == PassKind::forward;
  const BulkBoxes boxes{forward ? kernels::kForwardBoxRows : model.run.tiling.Br,
                        kernels::kBoxColumns};
  LaunchesBeyondTiles beyond(requests.size());
  if (!fills_boxes(model.run, boxes)) beyond = count_beyond_tiles(model.run, gpu, boxes);
  for (std::size_t index = 0; index < requests.size(); ++index) {
    const LaunchReport& launch = model.launches[index];
    const auto& [of_boxes, of_pieces, of_added_pieces] = beyond[index];
    requests[index] += of_pieces;
    if (launch.flops.matmul == 0) continue;  // not a program with Hopper's instructions
    requests[index] += of_boxes;
    requests[index] += of_added_pieces;
    // A persistent block obtains the number of each next row tile by an atomic addition
    if (forward && kernels::knobs_of(model.run.asked).persistent != 0) {
      requests[index].write_bytes += kSectorBytes * launch.thread_blocks;
    }
  }
  return requests;
}

}  // namespace attnscope
