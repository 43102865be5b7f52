#include "app/documents/simulated_run.h"

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "kernels/resolve.h"
#include "sim/packed_groups.h"
#include "sim/resolve.h"

namespace attnscope {

namespace {

/// Replaces --tiling kernel with the kernel's tiles on the modelled GPU, because the model does not
/// depend on the kernels.
Result<RunSpec> with_kernel_tiling(RunSpec spec) {
  if (spec.tiling_rule != TilingRule::kernel) return spec;
  RunSpec asked{.problem = spec.problem, .algorithm = spec.algorithm, .pass = spec.pass};
  if (asked.pass == PassKind::both) asked.pass = PassKind::forward;
  if (spec.pass == PassKind::forward) asked.variant.carry = spec.variant.carry;
  const auto gpu = gpu_of(spec);
  if (!gpu) return gpu.error();
  const auto run = kernels::resolve(asked, program_target(gpu.value()));
  if (!run) {
    Error error = run.error();
    error.message = fmt::format("{} kernel: {}", field_name("tiling_rule"), error.message);
    return error;
  }
  spec.tiling_rule = TilingRule::by_default;
  const Tiling& own = run.value().tiling;
  spec.set_tiling({spec.Br.value_or(own.Br), spec.Bc.value_or(own.Bc)});
  return spec;
}

}  // namespace

Result<ModelRun> model_run(RunSpec spec) {
  ATTNSCOPE_TRY(const RunSpec tiled, with_kernel_tiling(std::move(spec)));
  ATTNSCOPE_TRY(auto gpu, gpu_of(tiled));
  ATTNSCOPE_TRY(auto run, resolve(tiled, gpu));
  return ModelRun{std::move(run), std::move(gpu)};
}

Result<SimulationAnswer> count_run(const ModelRun& model) {
  ATTNSCOPE_TRY(auto report, simulate(model.run, model.gpu));
  ATTNSCOPE_TRY(const auto warps, count_warps(model.run, model.gpu));
  return SimulationAnswer{.report = std::move(report), .gpu = model.gpu, .warps = warps};
}

void predict_run(SimulationAnswer& answer) {
  predict_kernel_dram(answer.report, answer.gpu, {}, {.most_transfers = kQuickTransfers});
  predict_kernel_time(answer.report, answer.gpu);
}

Result<AttentionInputs> inputs_of(const ModelRun& model) {
  const RunSpec& spec = model.run.asked;
  ATTNSCOPE_TRY(auto inputs, load_inputs(spec.problem, spec.files, spec.inputs));
  if (model.run.query_heads_per_tile == 1) return inputs;
  return with_packed_groups(spec.problem, std::move(inputs));
}

Result<NumericResult> run_numbers(const ModelRun& model) {
  const RunSpec& spec = model.run.asked;
  ATTNSCOPE_TRY(const auto inputs, inputs_of(model));
  ATTNSCOPE_TRY(NumericResult result, simulate_numbers(model.run, model.gpu, inputs));
  if (model.run.query_heads_per_tile > 1) {
    result.output = with_separate_heads(spec.problem, result.output);
  }
  const bool is_broken = spec.variant.broken.any();
  if (!is_broken && has_nan(result, spec.pass)) return failed("the modelled values contain a NaN");
  return result;
}

}  // namespace attnscope
