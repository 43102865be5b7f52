/// Closed forms of the bytes that thread blocks request, tensor by tensor: computed from the
/// problem and the tiling alone, apart from the schedules, so that the ledger can check one with
/// the other.
#pragma once

#include <string>
#include <vector>

#include "sim/ops/tile_grid.h"

namespace attnscope::app {

/// The bytes of one tensor in one direction, of one head.
struct TrafficFormula {
  Tensor tensor = Tensor::Q;
  bool write = false;
  Index bytes = 0;
  std::string text;  ///< "Tr · N_kv · d · e"
};

/// Every tensor and direction that moves, in the order in which the ledger lists them; empty for an
/// algorithm without closed forms.
std::vector<TrafficFormula> traffic_formulas(std::string_view algorithm,
                                             const AttentionProblem& problem, const Tiling& tiling,
                                             const ScheduleOptions& options);

}  // namespace attnscope::app
