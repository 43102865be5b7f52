/// Why a choice was rejected, and the nearest one that is accepted.
#pragma once

#include "app/jobs/step_simulator.h"

namespace attnscope::app {

/// The field where the rejected change was made, and the nearest choice that check_choice()
/// accepts, found by changing only one field of `choice`: that field, else the one that `error`
/// names, else any other. Call it on the worker's thread: it may need thousands of checks.
Refusal refuse(const RunSpec& choice, const Error& error, const RunSpec& last_valid,
               GpuCatalog& gpus, const WorkControl& control);

}  // namespace attnscope::app
