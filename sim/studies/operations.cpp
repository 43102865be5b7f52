#include "sim/studies/operations.h"

#include "sim/schedule/catalog.h"

namespace attnscope {

double OperationCount::products() const {
  const AttentionProblem& problem = report.problem;
  const double one = 2.0 * static_cast<double>(problem.batch * problem.heads) *
                     static_cast<double>(problem.N) * static_cast<double>(problem.N_kv) *
                     static_cast<double>(problem.d);
  return static_cast<double>(report.matmul_flops) / one;
}

double OperationCount::other_share(const GpuDescription& gpu) const {
  const double matrix_rate =
      gpu.matrix_flops_per_s(report.problem.dtype).value_or(gpu.other_flops_per_s);
  return static_cast<double>(report.non_matmul_flops) / gpu.other_flops_per_s /
         (static_cast<double>(report.matmul_flops) / matrix_rate);
}

Result<OperationCount> count_operations(const SimulationRequest& request) {
  auto report = simulate(request);
  if (!report) return report.error();
  OperationCount count{.report = std::move(report).value()};

  const AttentionProblem& problem = request.problem;
  const ScheduleOptions options = schedule_options(request, count.report.tiling);
  const Pass pass = make_pass(*find_algorithm(request.algorithm), request.pass, options);
  const PassRun run{problem, count.report.tiling, options, {}};
  // Heads are alike, but for the key lengths of batch entries
  const bool alike = !problem.has_key_lengths();
  for (Index batch = 0; batch < (alike ? 1 : problem.batch); ++batch) {
    WorkCounter counter;
    Observer* const observers[] = {&counter};
    run_head(pass, run, batch, problem.heads_per_kv_head() - 1, observers);
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
