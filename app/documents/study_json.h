/// Studies as JSON, and as the rows of a CSV file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/report/table.h"

namespace attnscope {

/// A document for each row. A column without a key whose cells are JSON is merged into the row.
nlohmann::ordered_json rows_json(const Table& table);

/// The facts, the footnotes that have a key and, for each table that has a key, a list of its rows.
nlohmann::ordered_json study_json(const Study& study);

/// A document for each line of CSV. If several tables have lines, the member "table" names the
/// table of each.
nlohmann::ordered_json csv_rows(const Study& study);

}  // namespace attnscope
