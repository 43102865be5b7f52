/// Modelled runs beside recorded ones as a table (in JSON: "runs" of schema
/// attnscope.comparison/1).
#pragma once

#include "app/report/compare.h"
#include "app/report/table.h"

namespace attnscope {

/// A row for each run with the list of its lines; in CSV, a row for each line.
Table compared_runs(const std::vector<Comparison>& comparisons);

}  // namespace attnscope
