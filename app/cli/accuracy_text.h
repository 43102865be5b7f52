/// The answer of attnscope-cli accuracy, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/accuracy.h"

namespace attnscope::cli {

/// The document of schema attnscope.accuracy/1. An error that is not a number is absent, and
/// "nan_elems" or "has_nan" says why.
nlohmann::ordered_json accuracy_json(const AccuracyRequest& request, const AccuracyReport& report);

/// A line of CSV for each row of the document, "table" its first column.
std::vector<nlohmann::ordered_json> accuracy_rows(const nlohmann::ordered_json& document);

std::string accuracy_text(const AccuracyRequest& request, const AccuracyReport& report);

}  // namespace attnscope::cli
