#include "kernels/client/kernel_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "kernels/attnscope_kernels.h"
#include "kernels/client/c_requests.h"
#include "kernels/client/elf_extents.h"
#include "kernels/client/trace_client.h"
#include "reference/check.h"

namespace attnscope {

/// The library's entry points, by dlsym.
struct KernelLibrary::Functions {
  decltype(&attnscope_kernels_version) version;
  decltype(&attnscope_last_message) last_message;
  decltype(&attnscope_last_error_code) last_error_code;
  decltype(&attnscope_last_field) last_field;
  decltype(&attnscope_session_open) session_open;
  decltype(&attnscope_session_close) session_close;
  decltype(&attnscope_session_device) session_device;
  decltype(&attnscope_forward_run_host) run_host;
  decltype(&attnscope_forward_measure) measure;
  decltype(&attnscope_backward_run_host) run_backward_host;
  decltype(&attnscope_backward_measure) measure_backward;
  decltype(&attnscope_forward_measure_host) measure_host;
  decltype(&attnscope_backward_measure_host) measure_backward_host;
  decltype(&attnscope_forward_trace) trace;  ///< both are null in a library without them
  decltype(&attnscope_backward_trace) trace_backward;

  /// The error of the calling thread's last call, which returned `status`.
  Error error_of(attnscope_status status) const;
};

namespace {

constexpr const char* kLibraryName = "libattnscope_kernels.so";
constexpr const char* kLibraryVariable = "ATTNSCOPE_KERNELS_LIBRARY";

/// The absolute path of the library: the variable's file, else beside the program or in ../lib. The
/// loader would search its own folders for a name without a slash.
std::filesystem::path library_path() {
  std::error_code ignored;
  if (const char* named = std::getenv(kLibraryVariable); named != nullptr && *named != '\0') {
    return std::filesystem::absolute(named, ignored);
  }
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto installed = folder / ".." / "lib" / kLibraryName;
  const auto beside = folder / kLibraryName;
  const bool only_installed =
      !std::filesystem::exists(beside, ignored) && std::filesystem::exists(installed, ignored);
  return only_installed ? installed : beside;
}

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

Error::Kind kind_of(attnscope_status status) {
  switch (status) {
    case ATTNSCOPE_INVALID_REQUEST:
      return Error::Kind::invalid_request;
    case ATTNSCOPE_UNAVAILABLE:
      return Error::Kind::unavailable;
    default:
      return Error::Kind::failed;
  }
}

std::optional<double> if_known(double value) {
  return value > 0.0 ? std::optional(value) : std::nullopt;
}

DeviceInfo device_info(const attnscope_device& c) {
  DeviceInfo device;
  device.name = c.name;
  device.compute_capability = c.compute_capability;
  device.sm_count = c.sm_count;
  device.l2_bytes = static_cast<Index>(c.l2_bytes);
  device.memory_bytes = static_cast<Index>(c.memory_bytes);
  device.driver = c.driver;
  device.cuda = c.cuda;
  device.sm_clock_mhz = if_known(c.sm_clock_mhz);
  device.memory_clock_mhz = if_known(c.memory_clock_mhz);
  device.power_limit_w = if_known(c.power_limit_w);
  return device;
}

/// The counters to which this one belongs: the pass's totals, or a launch's, created on its first
/// counter.
Counters& counters_of(Measurement& measurement, const attnscope_counter& counter) {
  if (counter.launch == nullptr) return measurement.counters;
  const auto index = static_cast<std::size_t>(counter.index);
  if (index >= measurement.launches.size()) measurement.launches.resize(index + 1);
  LaunchCounters& launch = measurement.launches[index];
  launch.name = counter.launch;
  launch.counted = counter.counted != 0;
  return launch.counters;
}

GradientError error_of_gradient(const attnscope_gradient_error& c) {
  return {c.max_abs_error, c.rel_fro_error, c.unfused_max_abs_error};
}

Measurement measurement_of(const attnscope_measurement& c) {
  Measurement measurement;
  measurement.time = {c.time_min_s, c.time_median_s, c.time_max_s, c.repeats};
  for (std::uint64_t i = 0; i < c.counter_count; ++i) {
    const attnscope_counter& counter = c.counters[i];
    counters_of(measurement, counter)[counter.name] = counter.value;
  }
  for (std::uint64_t i = 0; i < c.missing_counter_count; ++i) {
    measurement.unavailable_counters[c.missing_counters[i].name] = c.missing_counters[i].reason;
  }
  if (c.rows_checked > 0) {
    Accuracy accuracy;
    accuracy.max_abs_error = c.max_abs_error;
    accuracy.rel_fro_error = c.rel_fro_error;
    accuracy.lse_max_abs_error = c.lse_max_abs_error;
    accuracy.unfused_max_abs_error = c.unfused_max_abs_error;
    accuracy.rows_checked = c.rows_checked;
    accuracy.within_tolerance = c.within_tolerance != 0;
    measurement.accuracy = accuracy;
  }
  if (c.gradient_rows_checked > 0) {
    measurement.gradients = GradientAccuracy{.dQ = error_of_gradient(c.dq),
                                             .dK = error_of_gradient(c.dk),
                                             .dV = error_of_gradient(c.dv),
                                             .rows_checked = c.gradient_rows_checked,
                                             .keys_checked = c.gradient_keys_checked,
                                             .within_tolerance = c.within_tolerance != 0};
  }
  return measurement;
}

/// Checks that Q, K and V have the problem's sizes.
void check_sizes(const AttentionProblem& p, const AttentionInputs& inputs) {
  ATTNSCOPE_CHECK(inputs.Q.size(), ==, p.batch * p.heads * p.N * p.d);
  ATTNSCOPE_CHECK(inputs.K.size(), ==, p.batch * p.kv_heads * p.N_kv * p.d);
  ATTNSCOPE_CHECK(inputs.V.size(), ==, inputs.K.size());
}

}  // namespace

Error KernelLibrary::Functions::error_of(attnscope_status status) const {
  const std::int32_t code = last_error_code();
  const bool is_known = code > 0 && code <= static_cast<std::int32_t>(ErrorCode::cancelled);
  return {kind_of(status), last_message(),
          is_known ? static_cast<ErrorCode>(code) : ErrorCode::other, last_field()};
}

Result<std::shared_ptr<KernelLibrary>> KernelLibrary::load() {
  // Find and open the library
  const std::filesystem::path path = library_path();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return unavailable(
        fmt::format("no {} at {}; build AttnScope where a CUDA compiler (nvcc) is installed, or "
                    "set {}",
                    kLibraryName, path.string(), kLibraryVariable));
  }
  if (const auto reason = why_not_loadable(path)) {
    return unavailable(
        fmt::format("cannot load the kernels' library {}: {}", path.string(), *reason));
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    return unavailable(fmt::format("cannot load the kernels' library: {}", dlerror()));
  }

  // Check its version before any other call
  auto functions = std::make_unique<Functions>();
  if (!find(handle, "attnscope_kernels_version", functions->version)) {
    return unavailable(fmt::format("{} is not AttnScope's kernels' library", path.string()));
  }
  if (functions->version() != ATTNSCOPE_KERNELS_VERSION) {
    return unavailable(
        fmt::format("{} speaks version {} of its interface, this program {}; build both anew",
                    path.string(), functions->version(), ATTNSCOPE_KERNELS_VERSION));
  }
  Functions& f = *functions;
  const bool complete = find(handle, "attnscope_last_message", f.last_message) &&
                        find(handle, "attnscope_last_error_code", f.last_error_code) &&
                        find(handle, "attnscope_last_field", f.last_field) &&
                        find(handle, "attnscope_session_open", f.session_open) &&
                        find(handle, "attnscope_session_close", f.session_close) &&
                        find(handle, "attnscope_session_device", f.session_device) &&
                        find(handle, "attnscope_forward_run_host", f.run_host) &&
                        find(handle, "attnscope_forward_measure", f.measure) &&
                        find(handle, "attnscope_backward_run_host", f.run_backward_host) &&
                        find(handle, "attnscope_backward_measure", f.measure_backward) &&
                        find(handle, "attnscope_forward_measure_host", f.measure_host) &&
                        find(handle, "attnscope_backward_measure_host", f.measure_backward_host);
  if (!complete) {
    return unavailable(fmt::format("{} lacks entry points; build it anew", path.string()));
  }

  find(handle, "attnscope_forward_trace", f.trace);
  find(handle, "attnscope_backward_trace", f.trace_backward);

  // Open the first GPU
  auto library = std::shared_ptr<KernelLibrary>(new KernelLibrary);
  library->functions_ = std::move(functions);
  const Functions& call = *library->functions_;
  attnscope_session* session = nullptr;
  attnscope_status status = call.session_open(0, &session);
  if (status != ATTNSCOPE_OK) return call.error_of(status);
  library->session_ = session;

  attnscope_device device{};
  device.struct_size = sizeof device;
  status = call.session_device(session, &device);
  if (status != ATTNSCOPE_OK) return call.error_of(status);
  library->device_ = device_info(device);
  return library;
}

KernelLibrary::~KernelLibrary() {
  if (session_ != nullptr) functions_->session_close(session_);
}

Result<RunResult> KernelLibrary::run_forward(const ResolvedRun& run,
                                             const AttentionInputs& inputs) {
  const AttentionProblem& problem = run.problem;
  const auto [B, H, N] = std::tuple(problem.batch, problem.heads, problem.N);
  check_sizes(problem, inputs);
  RunResult result{HeadTensor(B, H, N, problem.d), HeadTensor(B, H, N, 1)};

  const CProblem c_problem(problem);
  const attnscope_kernel c_kernel_value = c_kernel(run);
  attnscope_forward_host forward{};
  forward.struct_size = sizeof forward;
  forward.problem = &c_problem.value();
  forward.kernel = &c_kernel_value;
  forward.q = inputs.Q.data.data();
  forward.k = inputs.K.data.data();
  forward.v = inputs.V.data.data();
  forward.o = result.O.data.data();
  forward.lse = result.LSE.data.data();
  const attnscope_status status = functions_->run_host(session_, &forward);
  if (status != ATTNSCOPE_OK) return functions_->error_of(status);
  result.time_s = forward.time_s;
  return result;
}

Result<GradientRun> KernelLibrary::run_backward(const ResolvedRun& run,
                                                const AttentionInputs& inputs) {
  const AttentionProblem& problem = run.problem;
  check_sizes(problem, inputs);
  ATTNSCOPE_CHECK(inputs.dO.size(), ==, inputs.Q.size());
  const HeadTensor queries(problem.batch, problem.heads, problem.N, problem.d);
  const HeadTensor keys(problem.batch, problem.kv_heads, problem.N_kv, problem.d);
  GradientRun result{.gradients = {queries, keys, keys}};

  const CProblem c_problem(problem);
  const attnscope_kernel c_kernel_value = c_kernel(run);
  attnscope_backward_host backward{};
  backward.struct_size = sizeof backward;
  backward.problem = &c_problem.value();
  backward.kernel = &c_kernel_value;
  backward.q = inputs.Q.data.data();
  backward.k = inputs.K.data.data();
  backward.v = inputs.V.data.data();
  backward.d_o = inputs.dO.data.data();
  backward.dq = result.gradients.dQ.data.data();
  backward.dk = result.gradients.dK.data.data();
  backward.dv = result.gradients.dV.data.data();
  const attnscope_status status = functions_->run_backward_host(session_, &backward);
  if (status != ATTNSCOPE_OK) return functions_->error_of(status);
  result.time_s = backward.time_s;
  return result;
}

template <typename CallPass>
Result<std::pair<Measurement, Tiling>> KernelLibrary::measure(const ResolvedRun& run,
                                                              const Protocol& protocol,
                                                              const CallPass& call_pass) {
  ATTNSCOPE_CHECK(run.pass() == PassKind::both, ==, false);
  const CProblem c_problem(run.problem);
  const attnscope_kernel c_kernel_value = c_kernel(run);
  const attnscope_protocol c_protocol_value = c_protocol(protocol);
  attnscope_measurement measurement{};
  measurement.struct_size = sizeof measurement;
  const attnscope_status status =
      call_pass(&c_problem.value(), &c_kernel_value, &c_protocol_value, &measurement);
  if (status != ATTNSCOPE_OK) return functions_->error_of(status);
  return std::pair{measurement_of(measurement),
                   Tiling{measurement.block_rows, measurement.block_cols}};
}

namespace {

/// The row with what was measured; an error is a row as well.
RecordingRow row_of(const ResolvedRun& run, Result<std::pair<Measurement, Tiling>> measured) {
  RecordingRow row{.run = run};
  if (measured) {
    row.run.tiling = measured.value().second;
    row.measurement = std::move(measured).value().first;
  } else {
    row.error = measured.error();
  }
  return row;
}

}  // namespace

RecordingRow KernelLibrary::record(const ResolvedRun& run, const Protocol& protocol) {
  const InputSpec& inputs = run.asked.inputs;
  const auto call_pass = [&](const auto* p, const auto* kernel, const auto* how,
                             auto* measurement) {
    const auto call =
        run.pass() == PassKind::backward ? functions_->measure_backward : functions_->measure;
    return call(session_, p, kernel, static_cast<std::int32_t>(inputs.kind), inputs.seed, how,
                measurement);
  };
  return row_of(run, measure(run, protocol, call_pass));
}

RecordingRow KernelLibrary::record_own(const ResolvedRun& run, const AttentionInputs& inputs,
                                       const Protocol& protocol) {
  check_sizes(run.problem, inputs);
  ATTNSCOPE_CHECK(run.files_hash, !=, 0u);
  if (run.pass() == PassKind::backward) ATTNSCOPE_CHECK(inputs.dO.size(), ==, inputs.Q.size());
  attnscope_host_inputs host{};
  host.struct_size = sizeof host;
  host.q = inputs.Q.data.data();
  host.k = inputs.K.data.data();
  host.v = inputs.V.data.data();
  host.d_o = inputs.dO.data.data();
  const auto call_pass = [&](const auto* p, const auto* kernel, const auto* how,
                             auto* measurement) {
    const auto call = run.pass() == PassKind::backward ? functions_->measure_backward_host
                                                       : functions_->measure_host;
    return call(session_, p, kernel, &host, how, measurement);
  };
  return row_of(run, measure(run, protocol, call_pass));
}

Result<KernelTrace> KernelLibrary::trace(const ResolvedRun& run, Index row_step) {
  if (functions_->trace == nullptr || functions_->trace_backward == nullptr) {
    return unavailable(fmt::format("{} has no instrumented kernels; build it anew", kLibraryName));
  }
  const CProblem c_problem(run.problem);
  const attnscope_kernel c_kernel_value = c_kernel(run);
  const auto kind = static_cast<std::int32_t>(run.asked.inputs.kind);
  const std::uint64_t seed = run.asked.inputs.seed;
  attnscope_trace records{};
  records.struct_size = sizeof records;
  const attnscope_status status =
      run.pass() == PassKind::backward
          ? functions_->trace_backward(session_, &c_problem.value(), &c_kernel_value, kind, seed,
                                       &records)
          : functions_->trace(session_, &c_problem.value(), &c_kernel_value, kind, seed, row_step,
                              &records);
  if (status != ATTNSCOPE_OK) return functions_->error_of(status);

  KernelTrace trace;
  trace.header = empty_recording({});
  trace.run = run;
  if (auto error = add_records(records, trace)) return *error;
  return trace;
}

Recording KernelLibrary::empty_recording(const Protocol& protocol) const {
  Recording recording;
  recording.device = device_;
  recording.build = build_info();
  recording.date = utc_date();
  recording.protocol = protocol;
  return recording;
}

}  // namespace attnscope
