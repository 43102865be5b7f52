/// Numbers and counters in recordings. Internal to kernels/recording.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "kernels/recording/measurement.h"
#include "reference/json/json_document.h"

namespace attnscope {

/// A number, or text for NaN and infinities: JSON lacks these, and a broken kernel's errors may be
/// such values.
nlohmann::json real_json(double value);
/// Reads what real_json() wrote.
double real_number(const JsonObject& object, std::string_view key);
/// A number, without a decimal point if it is whole, so that byte counts stay readable.
nlohmann::json number_json(double value);

/// A count or a size. Throws JsonFieldError if it is missing, not whole or out of range.
Index count_in(const JsonObject& object, std::string_view key, Index least = 0,
               Index most = std::numeric_limits<Index>::max());

nlohmann::json counters_json(const Counters& counters);
/// Reads what counters_json() wrote. Throws JsonFieldError for a value that the counter cannot
/// have.
Counters counters_from_json(const JsonObject& object);

}  // namespace attnscope
