#include "reference/score_function.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace attnscope {

std::vector<double> standard_alibi_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)));
  }
  return slopes;
}

std::string to_string(const ScoreFunction& score) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (score.soft_cap) add(fmt::format("softcap {}", *score.soft_cap));
  if (score.has_alibi()) add("alibi");
  if (score.has_dropout()) {
    add(fmt::format("dropout {} (seed {})", score.dropout.probability, score.dropout.seed));
  }
  return text.empty() ? "none" : text;
}

std::optional<Error> validate(const ScoreFunction& score, std::int64_t heads) {
  if (score.soft_cap && !(*score.soft_cap > 0 && std::isfinite(*score.soft_cap))) {
    return invalid_field(ErrorCode::out_of_range, "softcap",
                         "{} is {}; it must be a number above 0, for example 30",
                         field_name("softcap"), *score.soft_cap);
  }
  if (score.has_alibi()) {
    const auto count = static_cast<std::int64_t>(score.alibi_slopes.size());
    if (count != heads) {
      return invalid_field(ErrorCode::contradiction, "alibi",
                           "{} has {} slopes for {} heads; it needs one for each query head",
                           field_name("alibi"), count, heads);
    }
    const auto is_finite = [](double slope) { return std::isfinite(slope); };
    if (!std::all_of(score.alibi_slopes.begin(), score.alibi_slopes.end(), is_finite)) {
      return invalid_field(ErrorCode::out_of_range, "alibi",
                           "{} has a slope that is not finite; every slope must be a finite number",
                           field_name("alibi"));
    }
  }
  const double probability = score.dropout.probability;
  if (!(probability >= 0 && probability < 1)) {
    return invalid_field(ErrorCode::out_of_range, "dropout",
                         "{} is {}; it must be at least 0 and less than 1", field_name("dropout"),
                         probability);
  }
  if (score.dropout.first_batch < 0 || score.dropout.first_head < 0) {
    return invalid_field(ErrorCode::out_of_range, "dropout_first_batch",
                         "dropout starts at batch entry {} and head {}; neither may be negative",
                         score.dropout.first_batch, score.dropout.first_head);
  }
  return std::nullopt;
}

}  // namespace attnscope
