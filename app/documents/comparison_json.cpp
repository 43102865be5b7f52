#include "app/documents/comparison_json.h"

#include <nlohmann/json.hpp>

#include "app/documents/simulation_json.h"

namespace attnscope {

using nlohmann::ordered_json;

ordered_json comparison_line_json(const ComparisonLine& line) {
  ordered_json json = {{"level", to_string(line.level)}, {"quantity", line.quantity}};
  if (!line.launch.empty()) json["launch"] = line.launch;
  json["unit"] = line.unit;
  if (line.modelled) json["modelled"] = *line.modelled;
  if (line.recorded) json["recorded"] = *line.recorded;
  if (!line.unavailable.empty()) json["unavailable"] = line.unavailable;
  if (line.gap_percent) json["gap_percent"] = *line.gap_percent;
  if (line.transition) {
    json["transition"] = true;
    json["least"] = line.transition->first;
    json["most"] = line.transition->second;
  }
  if (!line.uncalibrated.empty()) {
    json["calibrated"] = false;
    json["calibration_reason"] = line.uncalibrated;
  }
  if (!line.in_place_of_gap.empty()) json["in_place_of_gap"] = line.in_place_of_gap;
  if (!line.reason.empty()) json["reason"] = line.reason;
  return json;
}

ordered_json comparison_json(const Comparison& comparison) {
  ordered_json run = run_identity(comparison.run.run);
  if (!comparison.unavailable.empty()) {
    run["unavailable"] = comparison.unavailable;
  } else {
    if (!comparison.stands_alone.empty()) run["no_gap"] = comparison.stands_alone;
    run["lines"] = ordered_json::array();
  }
  for (const ComparisonLine& line : comparison.lines) {
    run["lines"].push_back(comparison_line_json(line));
  }
  return run;
}

}  // namespace attnscope
