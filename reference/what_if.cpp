#include "reference/what_if.h"

#include <utility>

#include "reference/message_text.h"

namespace attnscope {

std::optional<Error> validate(const WhatIf& what_if) {
  const std::pair<std::string_view, std::optional<double>> multiples[] = {
      {"sm_clock", what_if.sm_clock},
      {"dram_rate", what_if.dram_rate},
      {"l2_rate", what_if.l2_rate},
      {"matrix_rate", what_if.matrix_rate},
      {"exp_rate", what_if.exp_rate}};
  for (const auto& [key, multiple] : multiples) {
    if (!multiple || (*multiple >= kLeastMultiple && *multiple <= kMostMultiple)) continue;
    return invalid_field(ErrorCode::out_of_range, key, "{} must be from {} to {}, but is {}",
                         field_name(key), kLeastMultiple, kMostMultiple, *multiple);
  }
  return std::nullopt;
}

}  // namespace attnscope
