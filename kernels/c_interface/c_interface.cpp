#include <fmt/core.h>

#include <exception>
#include <memory>
#include <string>

#include "kernels/attnscope_kernels.h"
#include "kernels/c_interface/c_structs.h"
#include "kernels/launch.h"
#include "kernels/measure/session.h"
#include "kernels/recording/build_info.h"
#include "kernels/resolved_run.h"
#include "kernels/supports.h"

using namespace attnscope;           // NOLINT: this file translates between the two worlds
using namespace attnscope::kernels;  // NOLINT

struct attnscope_session {
  std::unique_ptr<Session> session;
};

namespace {

thread_local std::string last_message;

TensorView view_of(const attnscope_tensor& tensor) {
  return {tensor.data_dev, tensor.stride_batch, tensor.stride_head, tensor.stride_row};
}

/// The status of an outcome. Keeps the message for attnscope_last_message().
attnscope_status answer(const std::optional<Error>& error, const attnscope_session* session) {
  last_message = error ? words(*error, Reader::file) : "";
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

/// Runs the body; no exception escapes from the library.
template <typename Body>
attnscope_status guarded(const attnscope_session* session, Body&& body) {
  try {
    return answer(body(), session);
  } catch (const std::exception& failure) {
    return answer(failed(failure.what()), session);
  }
}

attnscope_status workspace_of(PassKind pass, const attnscope_problem* problem,
                              const attnscope_kernel* kernel, uint64_t* bytes) {
  return guarded(nullptr, [&]() -> std::optional<Error> {
    if (bytes == nullptr) return invalid_request("bytes is NULL; it receives the size");
    const auto run = read_request(pass, problem, kernel);
    if (!run) return run.error();
    if (auto error = supports(run.value())) return error;
    *bytes = workspace_bytes(run.value());
    return std::nullopt;
  });
}

attnscope_status launch_of(PassKind kind, attnscope_session* session, const attnscope_pass* pass) {
  return guarded(session, [&]() -> std::optional<Error> {
    if (session == nullptr) {
      return invalid_request("session is NULL; attnscope_session_open() returns one");
    }
    attnscope_pass known{};
    if (auto error = read_struct(pass, known, "pass")) return error;
    auto run = read_request(kind, known.problem, known.kernel);
    if (!run) return run.error();
    const PassArguments arguments{.resources = &session->session->resources(),
                                  .run = std::move(run).value(),
                                  .Q = view_of(known.q),
                                  .K = view_of(known.k),
                                  .V = view_of(known.v),
                                  .O = view_of(known.o),
                                  .LSE_dev = known.lse_dev,
                                  .dO = view_of(known.d_o),
                                  .dQ = view_of(known.dq),
                                  .dK = view_of(known.dk),
                                  .dV = view_of(known.dv),
                                  .forward_workspace_dev = known.forward_workspace_dev,
                                  .workspace_dev = known.workspace_dev,
                                  .workspace_bytes = known.workspace_bytes,
                                  .stream = known.stream};
    return session->session->run([&] { return launch(arguments); });
  });
}

}  // namespace

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
  return last_message.c_str();
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

attnscope_status attnscope_forward_workspace(const attnscope_problem* problem,
                                             const attnscope_kernel* kernel, uint64_t* bytes) {
  return workspace_of(PassKind::forward, problem, kernel, bytes);
}

attnscope_status attnscope_backward_workspace(const attnscope_problem* problem,
                                              const attnscope_kernel* kernel, uint64_t* bytes) {
  return workspace_of(PassKind::backward, problem, kernel, bytes);
}

attnscope_status attnscope_forward_launch(attnscope_session* session, const attnscope_pass* pass) {
  return launch_of(PassKind::forward, session, pass);
}

attnscope_status attnscope_backward_launch(attnscope_session* session, const attnscope_pass* pass) {
  return launch_of(PassKind::backward, session, pass);
}
