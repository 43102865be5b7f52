/// Studies as JSON and CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/cli/outputs.h"
#include "app/report/table.h"

namespace attnscope::cli {

/// A document for each row. A column without a key whose cells are JSON is merged into the row.
ordered_json rows_json(const Table& table);

/// The facts, the footnotes that have a key, and a list of rows for each table that has one.
ordered_json study_json(const Study& study);

/// The tables' lines of CSV. If several tables have some, the first column, "table", names them.
std::string study_csv(const Study& study);

/// The study in every form.
Answer answer_of(const Study& study);

}  // namespace attnscope::cli
