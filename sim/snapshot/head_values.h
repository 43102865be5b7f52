/// The tensors of one head, and its memory before the first step of a pass.
#pragma once

#include <atomic>

#include "sim/observers/numeric_executor.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

/// The tensors of one head of the request's batch entry.
AttentionInputs inputs_of(const SteppedRequest& request, Index head);

/// Prepares HBM for the pass of a head. The backward pass starts from the state after an unbroken
/// forward pass.
void begin_values(const SteppedRequest& request, const Pass& pass, const ScheduleOptions& options,
                  const AttentionProblem& one_head, NumericExecutor& executor);

/// Runs the other heads of the request's group, and stores their parts of dK and dV in the HBM of
/// the displayed head, since sum_heads reads them all. Does nothing for a pass that does not sum a
/// group. Throws Cancelled once `cancel`, which may be null, is true.
void run_rest_of_group(const SteppedRequest& request, const Pass& pass,
                       const ScheduleOptions& options, const std::atomic<bool>* cancel,
                       NumericExecutor& executor);

}  // namespace attnscope
