/// Snapshots of real runs of the model, for tests of the code that draws them.
#pragma once

#include "sim/snapshot/stepped_run.h"

namespace attnscope::test {

/// A run of a small problem, with values rounded as in a kernel.
struct SampleRequest : RunSpec {
  SampleRequest(std::string name = "flash2") {  // NOLINT: implicit on purpose
    algorithm = std::move(name);
    problem = {.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16};
    set_tiling({16, 16});
    round_to_storage = true;
  }
};

/// The stepped run of one head; throws when the request is rejected.
std::unique_ptr<SteppedRun> sample_run(const SampleRequest& request);

/// The snapshot after `fraction` of the steps, 0 (before the first) to 1 (after the last).
Snapshot sample_snapshot(SteppedRun& run, double fraction, Index query = 37);

/// A problem too large to show values.
SampleRequest huge_request();

/// flash2 with a producer and two consumers, on two row tiles (forward) or column tiles (backward).
SampleRequest agents_request(PassKind pass);

}  // namespace attnscope::test
