/// A problem's score parameters and lists of tiles, with the arrays in device memory. Internal.
#pragma once

#include <memory>
#include <vector>

#include "kernels/forward_parameters.cuh"
#include "kernels/host/device_table.h"
#include "kernels/kernel_parameters.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// The arrays of one launch. Keep it until the launch is enqueued.
class LaunchTables {
 public:
  explicit LaunchTables(DeviceTables& tables) : tables_(tables) {}

  /// score_parameters() with score_arrays() on the current device. Throws CudaError.
  ScoreParameters scores(const AttentionProblem& problem, ScoreUnit unit = ScoreUnit::before_scale);

  /// Lists of tiles on the current device; null where there are none. Throws CudaError.
  const int* lists(const std::vector<int>& lists);

 private:
  template <typename Element>
  const Element* upload(const std::vector<Element>& elements);

  DeviceTables& tables_;
  std::vector<std::shared_ptr<const DeviceBuffer>> held_;
};

}  // namespace attnscope::kernels
