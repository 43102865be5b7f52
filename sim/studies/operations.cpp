#include "sim/studies/operations.h"

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
  auto report = resolve_and_simulate(spec, gpu);
  if (!report) return report.error();
  OperationCount count{.report = std::move(report).value()};

  const ResolvedRun& run = count.report.run;
  const AttentionProblem& problem = run.problem;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const PassRun pass_run{problem, run.tiling, options, {}};
  // Heads have equal counts, except when batch entries have key lengths
  const bool alike = !problem.has_key_lengths();
  for (Index batch = 0; batch < (alike ? 1 : problem.batch); ++batch) {
    WorkCounter counter;
    Observer* const observers[] = {&counter};
    run_head(pass, pass_run, batch, problem.heads_per_kv_head() - 1, observers);
    for (std::size_t launch = 0; launch < pass.launches.size(); ++launch) {
      const Index heads =
          (alike ? problem.batch : 1) *
          (pass.launches[launch].once_per_kv_head ? problem.kv_heads : problem.heads);
      for (std::size_t work = 0; work < count.other.size(); ++work) {
        count.other[work] += counter.launches()[launch][work] * heads;
      }
    }
  }
  return count;
}

}  // namespace attnscope
