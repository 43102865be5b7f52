#include "kernels/measure/gpu.h"

#include <fmt/core.h>

#include "kernels/compile/nvrtc_library.h"
#include "kernels/default_tilings.h"
#include "kernels/measure/calibrate/calibration_programs.h"
#include "kernels/measure/measure_backward.h"
#include "kernels/measure/measure_forward.h"
#include "kernels/measure/needed_programs.h"
#include "kernels/measure/trace_pass.h"
#include "kernels/resolve.h"
#include "reference/check.h"

namespace attnscope {

using kernels::MeasuredInputs;

namespace {

/// Checks that Q, K and V (and dO if the pass needs it) have the problem's sizes.
void check_sizes(const ResolvedRun& run, const AttentionInputs& inputs) {
  const AttentionProblem& p = run.problem;
  ATTNSCOPE_CHECK(inputs.Q.size(), ==, p.batch * p.heads * p.N * p.d);
  ATTNSCOPE_CHECK(inputs.K.size(), ==, p.batch * p.kv_heads * p.N_kv * p.d);
  ATTNSCOPE_CHECK(inputs.V.size(), ==, inputs.K.size());
  if (run.pass() == PassKind::backward) ATTNSCOPE_CHECK(inputs.dO.size(), ==, inputs.Q.size());
}

/// A GPU with a session.
class SessionGpu final : public Gpu {
 public:
  explicit SessionGpu(std::unique_ptr<kernels::Session> session)
      : Gpu(session->device(), session->target()), session_(std::move(session)) {}

  std::optional<Error> compile(const ResolvedRun& run, kernels::RunUse use,
                               const kernels::CompileControl& control) override;
  Result<RunResult> run_forward(const ResolvedRun& run, const AttentionInputs& inputs) override;
  Result<GradientRun> run_backward(const ResolvedRun& run, const AttentionInputs& inputs) override;
  RecordingRow record(const ResolvedRun& run, const Protocol& protocol) override;
  RecordingRow record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                          const Protocol& protocol) override;
  Result<KernelTrace> trace(const ResolvedRun& run, Index row_step) override;
  Result<std::vector<MeasuredQuantity>> calibrate(const CalibrationControl& control) override;

 private:
  /// Compiles all programs for this GPU, except those that are cached.
  std::optional<Error> obtain(std::vector<kernels::KernelProgram> programs,
                              const kernels::CompileControl& control);
  RecordingRow measure(const ResolvedRun& run, const MeasuredInputs& inputs,
                       const Protocol& protocol);
  /// The instructions and spilled bytes of the pass's kernels, which must have run.
  void describe_programs(const ResolvedRun& run, Measurement& measurement);

  std::unique_ptr<kernels::Session> session_;
};

std::optional<Error> SessionGpu::compile(const ResolvedRun& run, kernels::RunUse use,
                                         const kernels::CompileControl& control) {
  if (auto error = kernels::supports(run)) return error;
  return obtain(kernels::needed_programs(run, use, target()), control);
}

std::optional<Error> SessionGpu::obtain(std::vector<kernels::KernelProgram> programs,
                                        const kernels::CompileControl& control) {
  ATTNSCOPE_TRY(const auto architecture, kernels::architecture_here(target().compute_capability));
  for (kernels::KernelProgram& program : programs) program.architecture = architecture;
  return session_->resources().kernels.compiler().obtain_all(programs, control);
}

Result<RunResult> SessionGpu::run_forward(const ResolvedRun& run, const AttentionInputs& inputs) {
  const AttentionProblem& p = run.problem;
  ATTNSCOPE_CHECK(run.pass() == PassKind::forward, ==, true);
  check_sizes(run, inputs);
  RunResult result{HeadTensor(p.batch, p.heads, p.N, p.d), HeadTensor(p.batch, p.heads, p.N, 1)};
  kernels::HostForward host{.Q = inputs.Q.data.data(),
                            .K = inputs.K.data.data(),
                            .V = inputs.V.data.data(),
                            .O = result.O.data.data(),
                            .LSE = result.LSE.data.data()};
  auto error = session_->run([&] { return kernels::run_forward(*session_, run, host); });
  if (error) return *error;
  result.time = host.time;
  return result;
}

Result<GradientRun> SessionGpu::run_backward(const ResolvedRun& run,
                                             const AttentionInputs& inputs) {
  const AttentionProblem& p = run.problem;
  ATTNSCOPE_CHECK(run.pass() == PassKind::backward, ==, true);
  check_sizes(run, inputs);
  const HeadTensor queries(p.batch, p.heads, p.N, p.d);
  const HeadTensor keys(p.batch, p.kv_heads, p.N_kv, p.d);
  GradientRun result{.gradients = {queries, keys, keys}};
  kernels::HostBackward host{.Q = inputs.Q.data.data(),
                             .K = inputs.K.data.data(),
                             .V = inputs.V.data.data(),
                             .dO = inputs.dO.data.data(),
                             .dQ = result.gradients.dQ.data.data(),
                             .dK = result.gradients.dK.data.data(),
                             .dV = result.gradients.dV.data.data()};
  auto error = session_->run([&] { return kernels::run_backward(*session_, run, host); });
  if (error) return *error;
  result.time = host.time;
  return result;
}

RecordingRow SessionGpu::measure(const ResolvedRun& run, const MeasuredInputs& inputs,
                                 const Protocol& protocol) {
  ATTNSCOPE_CHECK(run.pass() == PassKind::both, ==, false);
  RecordingRow row{.run = run};
  row.error = session_->run([&]() -> std::optional<Error> {
    const auto measure_pass =
        run.pass() == PassKind::backward ? kernels::measure_backward : kernels::measure_forward;
    auto measured = measure_pass(*session_, run, inputs, protocol);
    if (!measured) return measured.error();
    row.run = kernels::run_on_gpu(run, target());
    row.measurement = std::move(measured).value();
    describe_programs(row.run, *row.measurement);
    return std::nullopt;
  });
  return row;
}

void SessionGpu::describe_programs(const ResolvedRun& run, Measurement& measurement) {
  const kernels::ProgramTarget& target = this->target();
  const auto architecture = kernels::architecture_here(target.compute_capability);
  std::vector<kernels::LaunchProgram> programs = kernels::programs_of(run, target);
  measurement.instructions = kernels::instructions_of(programs);
  for (kernels::LaunchProgram& launch : programs) {
    if (!architecture || kernels::is_ptx(architecture.value())) {
      measurement.spilled_bytes.reset();
      continue;
    }
    launch.block.program.architecture = architecture.value();
    const auto kernel = session_->resources().kernels.compiler().obtain(launch.block.program);
    if (!kernel) {
      measurement.spilled_bytes.reset();
    } else if (measurement.spilled_bytes) {
      *measurement.spilled_bytes += kernel.value().kernel->resources.spill_stores;
    }
  }
}

RecordingRow SessionGpu::record(const ResolvedRun& run, const Protocol& protocol) {
  return measure(run, {.spec = run.asked.inputs}, protocol);
}

RecordingRow SessionGpu::record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                                    const Protocol& protocol) {
  ATTNSCOPE_CHECK(run.files_hash, !=, 0u);
  check_sizes(run, inputs);
  return measure(run,
                 {.Q = inputs.Q.data.data(),
                  .K = inputs.K.data.data(),
                  .V = inputs.V.data.data(),
                  .dO = inputs.dO.data.data()},
                 protocol);
}

Result<KernelTrace> SessionGpu::trace(const ResolvedRun& run, Index row_step) {
  if (auto error = kernels::supports(run)) return *error;
  const auto plan = kernels::plan_trace(run, row_step, target());
  if (!plan) return plan.error();
  kernels::RawTrace raw;
  auto error = session_->run([&]() -> std::optional<Error> {
    auto traced = kernels::trace_pass(*session_, run, plan.value());
    if (!traced) return traced.error();
    raw = std::move(traced).value();
    return std::nullopt;
  });
  if (error) return *error;
  return kernels::decode(raw, run, empty_recording({}));
}

Result<std::vector<MeasuredQuantity>> SessionGpu::calibrate(const CalibrationControl& control) {
  const auto progress = [&](int done, int all) {
    if (done < all && control.progress) {
      control.progress(fmt::format("compiling {} of {}", done + 1, all));
    }
  };
  if (auto error = obtain(kernels::calibration_programs(target()), {.progress = progress})) {
    return *error;
  }
  std::vector<MeasuredQuantity> calibration;
  auto error = session_->run([&]() -> std::optional<Error> {
    calibration = kernels::calibrate(*session_, control);
    return std::nullopt;
  });
  if (error) return *error;
  return calibration;
}

}  // namespace

Result<std::shared_ptr<Gpu>> Gpu::open() {
  auto session = kernels::Session::open(0);
  if (!session) return session.error();
  return std::shared_ptr<Gpu>(std::make_shared<SessionGpu>(std::move(session).value()));
}

}  // namespace attnscope
