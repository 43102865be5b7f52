/// Replaces the GPU in tests of programs, on machines with and without one: its measurements echo
/// their inputs. An empty CUDA_VISIBLE_DEVICES hides it like a real one. It matches no shipped GPU,
/// unless ATTNSCOPE_ECHO_GPU names one.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "kernels/measure/gpu.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

namespace {

DeviceInfo echo_device() {
  const char* name = std::getenv("ATTNSCOPE_ECHO_GPU");
  const auto shipped = name != nullptr ? load_gpu(name) : Result<GpuDescription>(failed("none"));
  if (!shipped) return {.name = "Echo", .compute_capability = "9.0", .sm_count = 132};
  const GpuDescription& gpu = shipped.value();
  return {.name = gpu.device_name,
          .compute_capability = gpu.compute_capability,
          .sm_count = gpu.sm_count,
          .l2_bytes = gpu.l2_bytes,
          .memory_bytes = gpu.hbm_bytes};
}

Measurement timed(double min_s, double median_s, double max_s, int n) {
  Measurement measurement;
  measurement.time = {min_s, median_s, max_s, n};
  return measurement;
}

Error refusal() {
  Error error = failed("refused by the echo");
  error.code = ErrorCode::does_not_fit;
  error.field = "Br";
  return error;
}

class EchoGpu final : public Gpu {
 public:
  EchoGpu() : Gpu(echo_device(), {}) {}

  /// Compiles two kernels. With seed 13 a kernel waits until it is cancelled, with seed 17 each
  /// takes 250 ms, and with seed 19 the compiler rejects the source.
  std::optional<Error> compile(const ResolvedRun& run, kernels::RunUse /*use*/,
                               const kernels::CompileControl& control) override {
    constexpr int kKernels = 2;
    if (run.asked.inputs.seed == 19) {
      return failed("cannot compile echo<16> for sm_90a: kernels/echo.cuh(12): error: no echo");
    }
    if (control.progress) control.progress(0, kKernels);
    for (int done = 1; done <= kKernels; ++done) {
      while (run.asked.inputs.seed == 13 && control.cancel != nullptr && !control.cancel->load()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (control.cancel != nullptr && control.cancel->load()) return cancelled();
      if (run.asked.inputs.seed == 17) std::this_thread::sleep_for(std::chrono::milliseconds(250));
      if (control.progress) control.progress(done, kKernels);
    }
    return std::nullopt;
  }

  Result<RunResult> run_forward(const ResolvedRun&, const AttentionInputs&) override {
    return refusal();
  }
  Result<GradientRun> run_backward(const ResolvedRun&, const AttentionInputs&) override {
    return refusal();
  }
  Result<KernelTrace> trace(const ResolvedRun&, Index) override { return refusal(); }

  /// Returns as many repeats as were requested, with these numbers.
  Result<std::vector<MeasuredQuantity>> calibrate(const CalibrationControl& control) override {
    if (control.progress) control.progress("dram_read_bytes_per_s");
    const int n = control.repeats;
    return std::vector<MeasuredQuantity>{
        {"dram_read_bytes_per_s", "bytes/s", "reads of nothing", 4.25e12, 4.0e12, 4.3e12, n},
        {"launch_overhead_s", "s", "an empty echo", 2.25e-6, 2e-6, 3e-6, n},
        {"sm_clock_hz", "Hz", "the echo's clock", 1.5e9, 1.4e9, 1.6e9, n},
        {"l2_capacity_shared_bytes", "bytes", "what an echo keeps", 3e7, 2.9e7, 3.1e7, n},
        {.name = "wgmma_flops_per_cycle_per_sm",
         .unit = "FLOP/cycle/SM",
         .how = "products of nothing",
         .unavailable = "needs compute capability 9.0"}};
  }

  /// The times are the kind of the inputs, their seed and seed + 1 (backward: seed + 2). The SM
  /// clock is N MHz; with seed 23 it is missing.
  RecordingRow record(const ResolvedRun& run, const Protocol&) override {
    const auto kind = static_cast<double>(run.asked.inputs.kind);
    const auto seed = static_cast<double>(run.asked.inputs.seed);
    const double step = run.pass() == PassKind::backward ? 2.0 : 1.0;
    Measurement measurement = timed(kind, seed, seed + step, 1);
    if (seed != 23) measurement.time.sm_clock_hz = 1e6 * static_cast<double>(run.problem.N);
    return {.run = run, .measurement = measurement};
  }

  /// The times are the first values of Q, K and V, with N repeats; the error of dQ is that of dO.
  RecordingRow record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                          const Protocol&) override {
    Measurement measurement = timed(inputs.Q.data.front(), inputs.K.data.front(),
                                    inputs.V.data.front(), static_cast<int>(run.problem.N));
    if (run.pass() == PassKind::backward) {
      measurement.gradients = {.dQ = {.max_abs_error = inputs.dO.data.front()}, .rows_checked = 1};
    }
    return {.run = run, .measurement = measurement};
  }
};

}  // namespace

Result<std::shared_ptr<Gpu>> Gpu::open() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && *visible == '\0') return unavailable("no GPU: the echo is hidden");
  return std::shared_ptr<Gpu>(std::make_shared<EchoGpu>());
}

}  // namespace attnscope
