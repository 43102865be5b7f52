/// Snapshots of real runs of the model, for tests of what draws them.
#pragma once

#include "reference/block_pattern.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope::test {

struct SampleRequest {
  std::string algorithm = "flash2";
  AttentionProblem problem{.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = {}};
  Tiling tiling{16, 16};
  Carry carry = Carry::problem;
  bool allow_overflow = false;
  PassKind pass = PassKind::forward;
  std::optional<BlockPattern> block_mask;
  ScheduleVariant variant;
};

/// The run of a head; throws when the request is refused.
std::unique_ptr<SteppedRun> sample_run(const SampleRequest& request);

/// The snapshot after `fraction` of the steps, 0 (before the first) to 1 (after the last).
Snapshot sample_snapshot(SteppedRun& run, double fraction, Index query = 37);

/// A problem too large to show values.
SampleRequest huge_request();

}  // namespace attnscope::test
