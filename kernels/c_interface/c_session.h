/// A session of the C interface, and the wrapper of all its calls. Internal to
/// libattnscope_kernels.so.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "kernels/attnscope_kernels.h"
#include "kernels/measure/session.h"
#include "kernels/measure/trace_pass.h"
#include "kernels/recording/measurement.h"

/// The GPU, and the arrays of its last measurement and last trace that are lent to the caller.
struct attnscope_session {
  std::unique_ptr<attnscope::kernels::Session> session;
  attnscope::Measurement measurement;
  std::vector<attnscope_counter> counters;
  std::vector<attnscope_missing_counter> missing_counters;
  attnscope::kernels::RawTrace trace;
};

namespace attnscope::kernels {

/// The status of an outcome. Keeps the message, code and field for the attnscope_last_*()
/// functions.
attnscope_status answer(const std::optional<Error>& error, const attnscope_session* session);

/// Runs the body; no exception leaves the library.
template <typename Body>
attnscope_status guarded(const attnscope_session* session, Body&& body) {
  try {
    return answer(body(), session);
  } catch (const std::exception& failure) {
    return answer(failed(failure.what()), session);
  }
}

std::optional<Error> require_session(const attnscope_session* session);

}  // namespace attnscope::kernels
