/// Studies as JSON and as the rows of a CSV file, and the studies of accuracy and of recordings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "app/report/compare.h"
#include "app/report/table.h"
#include "sim/accuracy.h"

namespace attnscope {

/// A list with a document for each row. A column without a key whose cells are JSON is merged into
/// the row.
nlohmann::ordered_json rows_json(const Table& table);

/// The facts, the footnotes that have a key and, for each table that has a key, a list of its rows.
nlohmann::ordered_json study_json(const Study& study);

/// A list with a document for each line of CSV. If several tables have lines, the member "table"
/// names the table of each.
nlohmann::ordered_json csv_rows(const Study& study);

/// The accuracy of the algorithms (schema attnscope.accuracy/1). In JSON, an error that is NaN is
/// omitted; "nan_elems" or "has_nan" explains why.
Study accuracy_study(const AccuracyRequest& request, const AccuracyReport& report);

/// Modelled runs beside recorded ones ("runs" of schema attnscope.comparison/1): a row for each run
/// with the list of its lines; in CSV, a row for each line.
Table compared_runs(const std::vector<Comparison>& comparisons);

}  // namespace attnscope
