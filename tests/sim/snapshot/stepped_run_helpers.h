/// Runs of one head on the H200, for tests that walk them.
#pragma once

#include <gtest/gtest.h>

#include "sim/snapshot/stepped_run.h"

namespace attnscope::test {

inline SteppedRequest request_for(std::string_view algorithm, Index N, Index d, Tiling tiling,
                                  Mask mask = Mask::none()) {
  SteppedRequest request;
  request.simulation.problem = {.N = N, .N_kv = N, .d = d, .dtype = DType::fp16, .mask = mask};
  request.simulation.algorithm = algorithm;
  request.simulation.tiling = tiling;
  request.simulation.gpu = load_gpu("h200").value();
  return request;
}

inline std::unique_ptr<SteppedRun> make_run(const SteppedRequest& request) {
  auto run = SteppedRun::create(request);
  EXPECT_TRUE(run.ok()) << run.error().message;
  return std::move(run).value();
}

}  // namespace attnscope::test
