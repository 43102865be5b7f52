/// The closed forms of the bytes that a pass requests, shown beside the counts in the ledger.
#pragma once

#include <string>
#include <vector>

#include "reference/run_spec.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

/// The bytes of one tensor of one head in one direction.
struct TrafficFormula {
  Tensor tensor = Tensor::Q;
  bool write = false;
  Index bytes = 0;
  std::string text;          ///< "Tr · N_kv · d · e"
  bool per_kv_head = false;  ///< true: bytes of one KV head; false: of one query head
};

/// The inputs of the closed forms.
struct FormulaRequest {
  ResolvedRun run;
  ScheduleOptions options;
  Index b = 0;  ///< batch entry
};

/// Every tensor and direction with traffic, in the order in which the ledger lists them. They
/// follow from the algorithm's SoftmaxForm and splits_keys. Empty for an algorithm that is not in
/// the catalog, and for a variant. Both passes: their sums.
std::vector<TrafficFormula> traffic_formulas(const FormulaRequest& request);

}  // namespace attnscope::app
