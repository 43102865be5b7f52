#include "reference/json/json_ranges.h"

namespace attnscope {

void check_range(const JsonObject& object, std::string_view key, double value,
                 const NumberRange& range) {
  if (value >= range.least && value <= range.most) return;
  throw JsonFieldError("{}: {} is out of range; use {:g} to {:g}", object.path_of(key), value,
                       range.least, range.most);
}

double number_in(const JsonObject& object, std::string_view key, const NumberRange& range) {
  const double value = object.number(key);
  check_range(object, key, value, range);
  return value;
}

double zero_or_number_in(const JsonObject& object, std::string_view key, const NumberRange& range) {
  const double value = object.number(key);
  if (value == 0 || (value >= range.least && value <= range.most)) return value;
  throw JsonFieldError("{}: {} is out of range; use 0, or {:g} to {:g}", object.path_of(key), value,
                       range.least, range.most);
}

std::string text_of_at_most(const JsonObject& object, std::string_view key, std::size_t bytes) {
  std::string text = object.string(key);
  if (text.size() <= bytes) return text;
  throw JsonFieldError("{}: a string of {} bytes is too long; use at most {}", object.path_of(key),
                       text.size(), bytes);
}

std::string optional_text_of_at_most(const JsonObject& object, std::string_view key,
                                     std::size_t bytes) {
  return object.has(key) ? text_of_at_most(object, key, bytes) : "";
}

}  // namespace attnscope
