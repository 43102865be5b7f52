#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/attnscope_kernels.h"
#include "kernels/c_interface/c_session.h"
#include "kernels/c_interface/c_structs.h"
#include "kernels/measure/measure_backward.h"
#include "kernels/measure/measure_forward.h"
#include "kernels/recording/build_info.h"

using namespace attnscope;           // NOLINT: this file translates between the two worlds
using namespace attnscope::kernels;  // NOLINT

namespace {

struct LastError {
  std::string message;
  std::string field;
  ErrorCode code = ErrorCode::other;
};
thread_local LastError last;

static_assert(static_cast<int>(ErrorCode::other) == ATTNSCOPE_ERROR_OTHER);
static_assert(static_cast<int>(ErrorCode::not_understood) == ATTNSCOPE_ERROR_NOT_UNDERSTOOD);
static_assert(static_cast<int>(ErrorCode::out_of_range) == ATTNSCOPE_ERROR_OUT_OF_RANGE);
static_assert(static_cast<int>(ErrorCode::unknown_name) == ATTNSCOPE_ERROR_UNKNOWN_NAME);
static_assert(static_cast<int>(ErrorCode::missing) == ATTNSCOPE_ERROR_MISSING);
static_assert(static_cast<int>(ErrorCode::not_applicable) == ATTNSCOPE_ERROR_NOT_APPLICABLE);
static_assert(static_cast<int>(ErrorCode::contradiction) == ATTNSCOPE_ERROR_CONTRADICTION);
static_assert(static_cast<int>(ErrorCode::does_not_fit) == ATTNSCOPE_ERROR_DOES_NOT_FIT);
static_assert(static_cast<int>(ErrorCode::too_many) == ATTNSCOPE_ERROR_TOO_MANY);
static_assert(static_cast<int>(ErrorCode::cancelled) == ATTNSCOPE_ERROR_CANCELLED);

template <std::size_t n>
void copy_text(char (&to)[n], const std::string& text) {
  const std::size_t length = std::min(text.size(), n - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

TensorView view_of(const attnscope_tensor& tensor) {
  return {tensor.data_dev, tensor.stride_batch, tensor.stride_head, tensor.stride_row};
}

attnscope_gradient_error c_error(const GradientError& error) {
  return {error.max_abs_error, error.rel_fro_error, error.unfused_max_abs_error};
}

/// Lends the session's last measurement to the caller.
attnscope_measurement lend(attnscope_session& session) {
  const Measurement& from = session.measurement;
  session.counters.clear();
  session.missing_counters.clear();
  for (const auto& [name, value] : from.counters) {
    session.counters.push_back({nullptr, name.c_str(), value, 1, 0});
  }
  int32_t index = 0;
  for (const LaunchCounters& launch : from.launches) {
    for (const auto& [name, value] : launch.counters) {
      session.counters.push_back(
          {launch.name.c_str(), name.c_str(), value, launch.counted ? 1 : 0, index});
    }
    ++index;
  }
  for (const auto& [name, reason] : from.unavailable_counters) {
    session.missing_counters.push_back({name.c_str(), reason.c_str()});
  }

  attnscope_measurement to{};
  to.repeats = from.time.n;
  to.time_min_s = from.time.min_s;
  to.time_median_s = from.time.median_s;
  to.time_max_s = from.time.max_s;
  to.counters = session.counters.data();
  to.counter_count = session.counters.size();
  to.missing_counters = session.missing_counters.data();
  to.missing_counter_count = session.missing_counters.size();
  if (from.accuracy) {
    to.rows_checked = from.accuracy->rows_checked;
    to.max_abs_error = from.accuracy->max_abs_error;
    to.rel_fro_error = from.accuracy->rel_fro_error;
    to.lse_max_abs_error = from.accuracy->lse_max_abs_error;
    to.unfused_max_abs_error = from.accuracy->unfused_max_abs_error.value_or(0.0);
    to.within_tolerance = from.accuracy->within_tolerance ? 1 : 0;
  }
  if (from.gradients) {
    to.gradient_rows_checked = from.gradients->rows_checked;
    to.gradient_keys_checked = from.gradients->keys_checked;
    to.dq = c_error(from.gradients->dQ);
    to.dk = c_error(from.gradients->dK);
    to.dv = c_error(from.gradients->dV);
    to.within_tolerance = from.gradients->within_tolerance ? 1 : 0;
  }
  return to;
}

/// The tiling of a run on the current GPU.
Tiling tiling_of(const ResolvedRun& run) {
  if (const auto asked = asked_tiling(run)) return *asked;
  return *default_tiling(kernel_of(run), run.pass(), run.problem);
}

/// Shared start of all calls on the caller's tensors: `work` receives the caller's struct and the
/// run that it requests.
template <typename Struct, typename Work>
attnscope_status with_request(attnscope_session* session, PassKind pass, const Struct* given,
                              const char* name, const Work& work) {
  return guarded(session, [&]() -> std::optional<Error> {
    if (auto error = require_session(session)) return error;
    Struct known{};
    if (auto error = read_struct(given, known, name)) return error;
    const auto run = read_request(pass, known.problem, known.kernel);
    if (!run) return run.error();
    return work(known, run.value());
  });
}

/// Shared code of all measuring calls. The request is read first: it can be rejected without a GPU.
template <typename ReadInputs>
attnscope_status measure_pass(attnscope_session* session, PassKind pass,
                              const attnscope_problem* problem, const attnscope_kernel* kernel,
                              const ReadInputs& read, const attnscope_protocol* protocol,
                              attnscope_measurement* measurement) {
  return guarded(session, [&]() -> std::optional<Error> {
    const auto run = read_request(pass, problem, kernel);
    if (!run) return run.error();
    const Result<MeasuredInputs> inputs = read();
    if (!inputs) return inputs.error();
    const auto how = read_protocol(protocol);
    if (!how) return how.error();
    if (auto error = check_output_struct(measurement, "measurement")) return error;
    if (auto error = require_session(session)) return error;

    // Measurements of several threads run one after the other, and each lends its result before the
    // next
    return session->session->run([&]() -> std::optional<Error> {
      const auto measure = pass == PassKind::backward ? measure_backward : measure_forward;
      auto measured = measure(*session->session, run.value(), inputs.value(), how.value());
      if (!measured) return measured.error();
      session->measurement = std::move(measured).value();
      const Tiling tiling = tiling_of(run.value());
      attnscope_measurement filled = lend(*session);
      filled.block_rows = tiling.Br;
      filled.block_cols = tiling.Bc;
      return write_struct(filled, measurement, "measurement");
    });
  });
}

}  // namespace

namespace attnscope::kernels {

attnscope_status answer(const std::optional<Error>& error, const attnscope_session* session) {
  last = error ? LastError{words(*error, Reader::file), error->field, error->code} : LastError{};
  if (!error) return ATTNSCOPE_OK;
  if (session != nullptr && session->session->lost()) return ATTNSCOPE_LOST;
  switch (error->kind) {
    case Error::Kind::invalid_request:
      return ATTNSCOPE_INVALID_REQUEST;
    case Error::Kind::unavailable:
      return ATTNSCOPE_UNAVAILABLE;
    case Error::Kind::failed:
      break;
  }
  return ATTNSCOPE_FAILED;
}

std::optional<Error> require_session(const attnscope_session* session) {
  if (session != nullptr) return std::nullopt;
  return invalid_request("session is NULL; attnscope_session_open() gives one");
}

}  // namespace attnscope::kernels

uint32_t attnscope_kernels_version(void) {
  return ATTNSCOPE_KERNELS_VERSION;
}

const char* attnscope_kernels_commit(void) {
  return build_info().commit.c_str();
}

int32_t attnscope_kernels_has_local_changes(void) {
  return build_info().local_changes ? 1 : 0;
}

const char* attnscope_last_message(void) {
  return last.message.c_str();
}

int32_t attnscope_last_error_code(void) {
  return static_cast<int32_t>(last.code);
}

const char* attnscope_last_field(void) {
  return last.field.c_str();
}

attnscope_status attnscope_session_open(int32_t device, attnscope_session** session) {
  return guarded(nullptr, [&]() -> std::optional<Error> {
    if (session == nullptr) return invalid_request("session is NULL; it receives the new session");
    *session = nullptr;
    auto opened = Session::open(device);
    if (!opened) return opened.error();
    auto handle = std::make_unique<attnscope_session>();
    handle->session = std::move(opened).value();
    *session = handle.release();
    return std::nullopt;
  });
}

void attnscope_session_close(attnscope_session* session) {
  delete session;
}

attnscope_status attnscope_session_device(attnscope_session* session, attnscope_device* device) {
  return guarded(session, [&]() -> std::optional<Error> {
    if (auto error = require_session(session)) return error;
    const DeviceInfo& info = session->session->device();
    attnscope_device filled{};
    filled.sm_count = static_cast<int32_t>(info.sm_count);
    copy_text(filled.name, info.name);
    copy_text(filled.driver, info.driver);
    copy_text(filled.cuda, info.cuda);
    copy_text(filled.compute_capability, info.compute_capability);
    filled.l2_bytes = static_cast<uint64_t>(info.l2_bytes);
    filled.memory_bytes = static_cast<uint64_t>(info.memory_bytes);
    filled.sm_clock_mhz = info.sm_clock_mhz.value_or(0.0);
    filled.memory_clock_mhz = info.memory_clock_mhz.value_or(0.0);
    filled.power_limit_w = info.power_limit_w.value_or(0.0);
    return write_struct(filled, device, "device");
  });
}

attnscope_status attnscope_forward_workspace(const attnscope_problem* problem,
                                             const attnscope_kernel* kernel, uint64_t* bytes) {
  return guarded(nullptr, [&]() -> std::optional<Error> {
    if (bytes == nullptr) return invalid_request("bytes is NULL; it receives the size");
    const auto run = read_request(PassKind::forward, problem, kernel);
    if (!run) return run.error();
    const ResolvedRun& r = run.value();
    if (auto error = supports(r)) return error;
    *bytes = workspace_bytes(kernel_of(r), r.problem, asked_tiling(r), r.asked.variant.carry);
    return std::nullopt;
  });
}

attnscope_status attnscope_forward_launch(attnscope_session* session,
                                          const attnscope_forward* forward) {
  return with_request(
      session, PassKind::forward, forward, "forward",
      [&](const attnscope_forward& known, const ResolvedRun& r) -> std::optional<Error> {
        ForwardArguments arguments;
        arguments.resources = &session->session->resources();
        arguments.problem = r.problem;
        arguments.tiling = asked_tiling(r);
        arguments.carry = r.asked.variant.carry;
        arguments.Q = view_of(known.q);
        arguments.K = view_of(known.k);
        arguments.V = view_of(known.v);
        arguments.O = view_of(known.o);
        arguments.LSE_dev = known.lse_dev;
        arguments.workspace_dev = known.workspace_dev;
        arguments.workspace_bytes = known.workspace_bytes;
        arguments.stream = known.stream;
        return session->session->run([&] { return launch_forward(kernel_of(r), arguments); });
      });
}

attnscope_status attnscope_forward_run_host(attnscope_session* session,
                                            attnscope_forward_host* forward) {
  return with_request(
      session, PassKind::forward, forward, "forward",
      [&](const attnscope_forward_host& known, const ResolvedRun& r) -> std::optional<Error> {
        const bool complete = known.q && known.k && known.v && known.o && known.lse;
        if (!complete) return invalid_request("q, k, v, o and lse must not be NULL");

        HostForward host{known.q, known.k, known.v, known.o, known.lse};
        auto error = session->session->run([&] { return run_forward(*session->session, r, host); });
        if (!error) forward->time_s = host.time_s;
        return error;
      });
}

attnscope_status attnscope_forward_measure(attnscope_session* session,
                                           const attnscope_problem* problem,
                                           const attnscope_kernel* kernel, int32_t input_kind,
                                           uint64_t seed, const attnscope_protocol* protocol,
                                           attnscope_measurement* measurement) {
  return measure_pass(
      session, PassKind::forward, problem, kernel, [&] { return read_inputs(input_kind, seed); },
      protocol, measurement);
}

attnscope_status attnscope_forward_measure_host(attnscope_session* session,
                                                const attnscope_problem* problem,
                                                const attnscope_kernel* kernel,
                                                const attnscope_host_inputs* inputs,
                                                const attnscope_protocol* protocol,
                                                attnscope_measurement* measurement) {
  return measure_pass(
      session, PassKind::forward, problem, kernel,
      [&] { return read_inputs(inputs, /*with_dO=*/false); }, protocol, measurement);
}

attnscope_status attnscope_backward_workspace(const attnscope_problem* problem,
                                              const attnscope_kernel* kernel, uint64_t* bytes) {
  return guarded(nullptr, [&]() -> std::optional<Error> {
    if (bytes == nullptr) return invalid_request("bytes is NULL; it receives the size");
    const auto run = read_request(PassKind::backward, problem, kernel);
    if (!run) return run.error();
    if (auto error = supports(run.value())) return error;
    *bytes = backward_workspace_bytes(kernel_of(run.value()), run.value().problem,
                                      asked_tiling(run.value()));
    return std::nullopt;
  });
}

attnscope_status attnscope_backward_launch(attnscope_session* session,
                                           const attnscope_backward* backward) {
  return with_request(
      session, PassKind::backward, backward, "backward",
      [&](const attnscope_backward& known, const ResolvedRun& r) -> std::optional<Error> {
        BackwardArguments arguments;
        arguments.resources = &session->session->resources();
        arguments.problem = r.problem;
        arguments.tiling = asked_tiling(r);
        arguments.deterministic = r.asked.deterministic;
        arguments.Q = view_of(known.q);
        arguments.K = view_of(known.k);
        arguments.V = view_of(known.v);
        arguments.O = view_of(known.o);
        arguments.dO = view_of(known.d_o);
        arguments.dQ = view_of(known.dq);
        arguments.dK = view_of(known.dk);
        arguments.dV = view_of(known.dv);
        arguments.LSE_dev = known.lse_dev;
        arguments.forward_workspace_dev = known.forward_workspace_dev;
        arguments.workspace_dev = known.workspace_dev;
        arguments.workspace_bytes = known.workspace_bytes;
        arguments.stream = known.stream;
        return session->session->run([&] { return launch_backward(kernel_of(r), arguments); });
      });
}

attnscope_status attnscope_backward_run_host(attnscope_session* session,
                                             attnscope_backward_host* backward) {
  return with_request(
      session, PassKind::backward, backward, "backward",
      [&](const attnscope_backward_host& known, const ResolvedRun& r) -> std::optional<Error> {
        const bool complete =
            known.q && known.k && known.v && known.d_o && known.dq && known.dk && known.dv;
        if (!complete) return invalid_request("q, k, v, d_o, dq, dk and dv must not be NULL");

        HostBackward host{known.q, known.k, known.v, known.d_o, known.dq, known.dk, known.dv};
        auto error =
            session->session->run([&] { return run_backward(*session->session, r, host); });
        if (!error) backward->time_s = host.time_s;
        return error;
      });
}

attnscope_status attnscope_backward_measure(attnscope_session* session,
                                            const attnscope_problem* problem,
                                            const attnscope_kernel* kernel, int32_t input_kind,
                                            uint64_t seed, const attnscope_protocol* protocol,
                                            attnscope_measurement* measurement) {
  return measure_pass(
      session, PassKind::backward, problem, kernel, [&] { return read_inputs(input_kind, seed); },
      protocol, measurement);
}

attnscope_status attnscope_backward_measure_host(attnscope_session* session,
                                                 const attnscope_problem* problem,
                                                 const attnscope_kernel* kernel,
                                                 const attnscope_host_inputs* inputs,
                                                 const attnscope_protocol* protocol,
                                                 attnscope_measurement* measurement) {
  return measure_pass(
      session, PassKind::backward, problem, kernel,
      [&] { return read_inputs(inputs, /*with_dO=*/true); }, protocol, measurement);
}
