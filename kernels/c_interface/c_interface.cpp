#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "kernels/attnscope_kernels.h"
#include "kernels/launch.h"
#include "kernels/measure/session.h"
#include "kernels/recording/build_info.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/json/run_json.h"

using namespace attnscope;           // NOLINT: this file translates between the two worlds
using namespace attnscope::kernels;  // NOLINT

struct attnscope_session {
  std::unique_ptr<Session> session;
};

struct attnscope_run {
  ResolvedRun run;
  std::size_t workspace_bytes;
};

namespace {

thread_local std::string last_message;

TensorView view_of(const attnscope_tensor& tensor) {
  return {tensor.data_dev, tensor.stride_batch, tensor.stride_head, tensor.stride_row};
}

/// Runs the body, keeps the message of its error for attnscope_last_message(), and returns its
/// status. No exception escapes from the library.
template <typename Body>
attnscope_status guarded(const attnscope_session* session, const Body& body) {
  std::optional<Error> error;
  try {
    error = body();
  } catch (const JsonFieldError& failure) {
    error = invalid_request("{}", failure.what());
  } catch (const std::exception& failure) {
    error = failed("{}", failure.what());
  }
  last_message = error ? words(*error, Reader::file) : "";
  if (!error) return ATTNSCOPE_OK;
  if (session != nullptr && session->session->lost()) return ATTNSCOPE_LOST;
  if (error->kind == Error::Kind::invalid_request) return ATTNSCOPE_INVALID_REQUEST;
  return error->kind == Error::Kind::unavailable ? ATTNSCOPE_UNAVAILABLE : ATTNSCOPE_FAILED;
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
    ATTNSCOPE_TRY(auto opened, Session::open(device));
    *session = new attnscope_session{std::move(opened)};
    return std::nullopt;
  });
}

void attnscope_session_close(attnscope_session* session) {
  delete session;
}

attnscope_status attnscope_run_create(const char* json, attnscope_run** run) {
  return guarded(nullptr, [&]() -> std::optional<Error> {
    if (run == nullptr) return invalid_request("run is NULL; it receives the new run");
    *run = nullptr;
    if (json == nullptr) return invalid_request("json is NULL; it describes the run");
    ATTNSCOPE_TRY(const auto document, parse_json(json, "the run"));
    const JsonObject root(document, "");
    check_run_members(root);
    ATTNSCOPE_TRY(auto described, resolve(run_from_json(root)));
    const std::size_t bytes = workspace_bytes(described);
    *run = new attnscope_run{std::move(described), bytes};
    return std::nullopt;
  });
}

void attnscope_run_destroy(attnscope_run* run) {
  delete run;
}

uint64_t attnscope_run_workspace(const attnscope_run* run) {
  return run == nullptr ? 0 : run->workspace_bytes;
}

attnscope_status attnscope_run_launch(attnscope_session* session, const attnscope_run* run,
                                      const attnscope_pass* pass) {
  return guarded(session, [&]() -> std::optional<Error> {
    if (run == nullptr) return invalid_request("run is NULL; attnscope_run_create() returns one");
    if (pass == nullptr) return invalid_request("pass is NULL");
    if (pass->struct_size != sizeof *pass) {
      return invalid_request("pass.struct_size is {}; it must be sizeof the struct, {}",
                             pass->struct_size, sizeof *pass);
    }
    if (session == nullptr) {
      return invalid_request("session is NULL; attnscope_session_open() returns one");
    }
    const PassArguments arguments{.resources = &session->session->resources(),
                                  .run = run->run,
                                  .Q = view_of(pass->q),
                                  .O = view_of(pass->o),
                                  .K = view_of(pass->k),
                                  .V = view_of(pass->v),
                                  .LSE_dev = pass->lse_dev,
                                  .dO = view_of(pass->d_o),
                                  .dQ = view_of(pass->dq),
                                  .dK = view_of(pass->dk),
                                  .dV = view_of(pass->dv),
                                  .forward_workspace_dev = pass->forward_workspace_dev,
                                  .workspace_dev = pass->workspace_dev,
                                  .workspace_bytes = pass->workspace_bytes,
                                  .stream = pass->stream};
    return session->session->run([&] { return launch(arguments); });
  });
}
