#include "sim/studies/operations.h"

#include "reference/attention_problem.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

double OperationCount::products() const {
  const AttentionProblem& problem = report.run.problem;
  const double one = 2.0 * static_cast<double>(problem.batch * problem.heads) *
                     static_cast<double>(problem.N) * static_cast<double>(problem.N_kv) *
                     static_cast<double>(problem.d);
  return static_cast<double>(report.matmul_flops) / one;
}

double OperationCount::time_share(GpuUnit unit, const GpuDescription& gpu) const {
  const PeakRates rates(gpu, report.run.problem.dtype);
  const UnitSeconds products = rates.seconds({report.matmul_flops}, 0);
  const UnitSeconds others = rates.seconds({0, report.non_matmul_flops, report.exponentials}, 0);
  return of(others, unit) / of(products, rates.matrix_unit());
}

Result<OperationCount> count_operations(const RunSpec& spec, const GpuDescription& gpu) {
  ATTNSCOPE_TRY(auto report, resolve_and_simulate(spec, gpu));
  OperationCount count{.report = std::move(report)};

  const ResolvedRun& run = count.report.run;
  const AttentionProblem& problem = run.problem;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  PassRun one_entry{problem, run.tiling, options, {}};
  for (const KeyLengthGroup& group : group_batch_by_key_length(problem)) {
    leave_one_entry(one_entry.problem, group);
    WorkCounter counter;
    CountingObserver* const counters[] = {&counter};
    count_head(pass, one_entry, 0, problem.heads_per_kv_head() - 1, counters);
    for (std::size_t launch = 0; launch < pass.launches.size(); ++launch) {
      const Index heads =
          group.count * (pass.launches[launch].once_per_kv_head ? problem.kv_heads : problem.heads);
      for (std::size_t work = 0; work < count.other.size(); ++work) {
        count.other[work] += counter.launches()[launch][work] * heads;
      }
    }
  }
  return count;
}

}  // namespace attnscope
