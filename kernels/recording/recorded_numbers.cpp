#include "kernels/recording/recorded_numbers.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/json/json_ranges.h"

namespace attnscope {

using nlohmann::json;

json real_json(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

double real_number(const JsonObject& object, std::string_view key) {
  const json& value = object.at(key);
  if (value == "nan" || value == "-nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return object.number(key);
}

json number_json(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) {
    return static_cast<std::int64_t>(value);
  }
  return real_json(value);
}

Index count_in(const JsonObject& object, std::string_view key, Index least, Index most) {
  const Index value = object.integer(key);
  if (value >= least && value <= most) return value;
  throw JsonFieldError("{}: {} is out of range; use {} to {}", object.path_of(key), value, least,
                       most);
}

json counters_json(const Counters& counters) {
  json object = json::object();
  for (const auto& [name, value] : counters) object[name] = number_json(value);
  return object;
}

namespace {

/// The smallest nonzero average over launches or units.
constexpr double kLeastAverage = 1e-9;

double counter_from_json(const JsonObject& object, const std::string& name) {
  const double value = real_number(object, name);
  if (name.find(".pct") != std::string::npos) {
    check_range(object, name, value, kPercentRange);
    return value;
  }
  // Only sums of bytes and sectors are always whole: times and averages may not be
  const bool is_whole = name.ends_with(".sum") && name.find("_duration") == std::string::npos;
  const bool is_count =
      is_whole ? std::trunc(value) == value : value == 0 || value >= kLeastAverage;
  if (is_count && value >= kCountRange.least && value <= kCountRange.most) return value;
  throw JsonFieldError("{}: {} is not a count; use {}", object.path_of(name), value,
                       is_whole
                           ? fmt::format("a whole number from 0 to {:g}", kCountRange.most)
                           : fmt::format("0, or {:g} to {:g}", kLeastAverage, kCountRange.most));
}

}  // namespace

Counters counters_from_json(const JsonObject& object) {
  Counters counters;
  for (const auto& item : object.value().items()) {
    counters[item.key()] = counter_from_json(object, item.key());
  }
  return counters;
}

}  // namespace attnscope
