#include "app/documents/time_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/report/time_words.h"

namespace attnscope {

using nlohmann::ordered_json;

namespace {

/// The seconds of each part of the time, by the part's name.
ordered_json parts_json(const PartSeconds& parts) {
  ordered_json json = ordered_json::object();
  for (std::size_t n = 0; n < kTimeParts; ++n) {
    json[std::string(to_string(static_cast<TimePart>(n)))] = parts[n];
  }
  return json;
}

}  // namespace

ordered_json time_bound_json(const SimulationReport& report) {
  return {{"bound_s", report.bound_s},
          {"bound_kind", "modelled"},
          {"bound_basis", "lower bound at the datasheet's peak rates"},
          {"bound_by", to_string(report.bound_by)}};
}

ordered_json time_json(const SimulationReport& report, const GpuDescription& gpu) {
  ordered_json json = time_bound_json(report);
  if (report.time) {
    json["predicted_s"] = report.time->seconds;
    json["primitives_s"] = report.time->primitives_s;
    json["clock_hz"] = report.time->clock_hz;
    json["parts"] = parts_json(report.time->parts());
    json["launches"] = ordered_json::array();
    for (const LaunchTime& launch : report.time->launches) {
      json["launches"].push_back({{"name", launch.name},
                                  {"predicted_s", launch.seconds},
                                  {"parts", parts_json(launch.parts)}});
    }
  }
  const std::string reason = words(why_not_calibrated(report, gpu), Reader::file);
  json["calibrated"] = reason.empty();
  if (!reason.empty()) json["calibration_reason"] = reason;
  if (time_basis(report, gpu) == TimeBasis::what_if) json["what_if"] = true;
  return json;
}

Lines time_lines(const SimulationReport& report, const GpuDescription& gpu) {
  Lines lines;
  if (const auto& time = report.time) {
    lines.push_back({"time, predicted", fmt::format("{} at {}", seconds_text(time->seconds),
                                                    clock_text(time->clock_hz))});
    lines.push_back({"  of this", parts_text(*time)});
    if (time->uncalibrated.empty() && time->primitives_s != time->seconds) {
      lines.push_back({"  from rates of units alone", seconds_text(time->primitives_s)});
    }
  }
  if (!report.time || time_basis(report, gpu) != TimeBasis::calibrated) {
    lines.push_back({report.time ? "  based on" : "time, predicted",
                     time_basis_text(report, gpu, Reader::command_line)});
  }
  lines.push_back({"time, lower bound", seconds_text(report.bound_s)});
  lines.push_back({"bound by", std::string(to_string(report.bound_by))});
  return lines;
}

}  // namespace attnscope
