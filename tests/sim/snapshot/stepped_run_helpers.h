/// Runs of one head on the H200, for tests that step through them.
#pragma once

#include <gtest/gtest.h>

#include "sim/snapshot/stepped_run.h"
#include "tests/support/model_request.h"

namespace attnscope::test {

/// The run to step through: see SteppedRequest.
struct WalkRequest : ModelRequest {
  std::optional<AttentionInputs> given_inputs = std::nullopt;
  Index batch = 0, head = 0;
  Index most_scores = kMaxShownScores;
};

inline WalkRequest request_for(std::string_view algorithm, Index N, Index d, Tiling tiling,
                               Mask mask = Mask::none()) {
  WalkRequest request;
  request.problem = {.N = N, .N_kv = N, .d = d, .dtype = DType::fp16, .mask = mask};
  request.algorithm = algorithm;
  request.set_tiling(tiling);
  request.separate_heads = true;
  request.round_to_storage = true;
  request.gpu_description = load_gpu("h200").value();
  return request;
}

inline Result<std::unique_ptr<SteppedRun>> create_run(
    const WalkRequest& request, const std::function<void(double)>& progress = {},
    const std::atomic<bool>* cancel = nullptr) {
  const auto run = resolve(request);
  if (!run) return run.error();
  return SteppedRun::create({.run = run.value(),
                             .gpu = request.gpu_description,
                             .given_inputs = request.given_inputs,
                             .batch = request.batch,
                             .head = request.head,
                             .most_scores = request.most_scores},
                            progress, cancel);
}

inline std::unique_ptr<SteppedRun> make_run(const WalkRequest& request) {
  auto run = create_run(request);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return std::move(run).value();
}

/// A run with only the values of a row tile, as in a large problem.
inline std::unique_ptr<SteppedRun> make_sliced_run(WalkRequest request) {
  request.most_scores = 0;
  return make_run(request);
}

}  // namespace attnscope::test
