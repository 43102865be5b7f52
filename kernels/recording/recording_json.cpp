#include "kernels/recording/recording_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/recording/recorded_launches.h"
#include "kernels/recording/recorded_numbers.h"
#include "reference/block_pattern.h"
#include "reference/json/json_ranges.h"

namespace attnscope {

using nlohmann::json;

namespace {

/// A number that is not negative, or NaN or infinity, which broken kernels produce.
double error_from_json(const JsonObject& object, std::string_view key) {
  const double value = real_number(object, key);
  if (!(value < 0)) return value;
  throw JsonFieldError("{}: {} is not an error; it must be at least 0", object.path_of(key), value);
}

double error_or(const JsonObject& object, std::string_view key, double fallback) {
  return object.has(key) ? error_from_json(object, key) : fallback;
}

/// A count or a size; `fallback` if it is missing.
Index count_or(const JsonObject& object, std::string_view key, Index fallback, Index least = 0,
               Index most = std::numeric_limits<Index>::max()) {
  return object.has(key) ? count_in(object, key, least, most) : fallback;
}

int int_or(const JsonObject& object, std::string_view key, int fallback, int least = 0) {
  return static_cast<int>(count_or(object, key, fallback, least, std::numeric_limits<int>::max()));
}

/// Nothing if the field is missing.
std::optional<double> number_or_none(const JsonObject& object, std::string_view key,
                                     const NumberRange& range) {
  if (!object.has(key)) return std::nullopt;
  return number_in(object, key, range);
}

void set_if_known(json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = number_json(*value);
}

json device_json(const DeviceInfo& device) {
  json object = {{"name", device.name},
                 {"compute_capability", device.compute_capability},
                 {"driver", device.driver},
                 {"cuda", device.cuda}};
  const auto set_unless_zero = [&](const char* key, Index value) {
    if (value != 0) object[key] = value;
  };
  set_unless_zero("sm_count", device.sm_count);
  set_unless_zero("l2_bytes", device.l2_bytes);
  set_unless_zero("memory_bytes", device.memory_bytes);
  json clocks = json::object();
  set_if_known(clocks, "sm_mhz", device.sm_clock_mhz);
  set_if_known(clocks, "memory_mhz", device.memory_clock_mhz);
  object["clocks"] = clocks;
  set_if_known(object, "power_limit_w", device.power_limit_w);
  return object;
}

DeviceInfo device_from_json(const JsonObject& object) {
  DeviceInfo device;
  const auto text_or_none = [&](std::string_view key) {
    return optional_text_of_at_most(object, key, kMostNameBytes);
  };
  device.name = text_of_at_most(object, "name", kMostNameBytes);
  device.compute_capability = text_or_none("compute_capability");
  device.sm_count = count_or(object, "sm_count", 0, 1, kMostSms);
  device.l2_bytes = count_or(object, "l2_bytes", 0, 1);
  device.memory_bytes = count_or(object, "memory_bytes", 0, 1);
  device.driver = text_or_none("driver");
  device.cuda = text_or_none("cuda");
  if (object.has("clocks")) {
    const JsonObject clocks = object.object("clocks");
    device.sm_clock_mhz = number_or_none(clocks, "sm_mhz", kMegahertzRange);
    device.memory_clock_mhz = number_or_none(clocks, "memory_mhz", kMegahertzRange);
  }
  device.power_limit_w = number_or_none(object, "power_limit_w", kWattsRange);
  return device;
}

json protocol_json(const Protocol& protocol) {
  json object = {{"warm_ups", protocol.warm_ups},
                 {"cache", to_string(protocol.cache)},
                 {"counters", protocol.counters},
                 {"checked_rows", protocol.checked_rows},
                 {"time_budget_s", number_json(protocol.time_budget_s)}};
  if (protocol.repeats > 0) object["repeats"] = protocol.repeats;
  return object;
}

Protocol protocol_from_json(const JsonObject& object) {
  Protocol protocol;
  protocol.warm_ups = int_or(object, "warm_ups", 0);
  protocol.repeats = int_or(object, "repeats", 0, 1);
  const std::string cache = object.string_or("cache", "cold");
  const auto state = parse_name<CacheState>(cache);
  if (!state) {
    throw JsonFieldError("{}: \"{}\" is not a cache state; use cold or warm",
                         object.path_of("cache"), cache);
  }
  protocol.cache = *state;
  protocol.counters = object.has("counters") ? object.boolean("counters") : true;
  protocol.checked_rows = int_or(object, "checked_rows", 0);
  protocol.time_budget_s =
      object.has("time_budget_s") ? zero_or_number_in(object, "time_budget_s", kSecondsRange) : 0.0;
  return protocol;
}

json accuracy_json(const Accuracy& accuracy) {
  json object = {{"max_abs_error", real_json(accuracy.max_abs_error)},
                 {"rel_fro_error", real_json(accuracy.rel_fro_error)},
                 {"lse_max_abs_error", real_json(accuracy.lse_max_abs_error)},
                 {"rows_checked", accuracy.rows_checked},
                 {"within_tolerance", accuracy.within_tolerance}};
  if (accuracy.unfused_max_abs_error) {
    object["unfused_max_abs_error"] = real_json(*accuracy.unfused_max_abs_error);
  }
  return object;
}

Accuracy accuracy_from_json(const JsonObject& object) {
  Accuracy accuracy;
  accuracy.max_abs_error = error_from_json(object, "max_abs_error");
  accuracy.rel_fro_error = error_from_json(object, "rel_fro_error");
  accuracy.lse_max_abs_error = error_or(object, "lse_max_abs_error", 0.0);
  if (object.has("unfused_max_abs_error")) {
    accuracy.unfused_max_abs_error = error_from_json(object, "unfused_max_abs_error");
  }
  accuracy.rows_checked = count_or(object, "rows_checked", 0);
  accuracy.within_tolerance = object.has("within_tolerance") && object.boolean("within_tolerance");
  return accuracy;
}

json gradient_error_json(const GradientError& error) {
  return {{"max_abs_error", real_json(error.max_abs_error)},
          {"rel_fro_error", real_json(error.rel_fro_error)},
          {"unfused_max_abs_error", real_json(error.unfused_max_abs_error)}};
}

GradientError gradient_error_from_json(const JsonObject& object) {
  return {error_from_json(object, "max_abs_error"), error_or(object, "rel_fro_error", 0.0),
          error_or(object, "unfused_max_abs_error", 0.0)};
}

json gradients_json(const GradientAccuracy& accuracy) {
  return {
      {"dQ", gradient_error_json(accuracy.dQ)}, {"dK", gradient_error_json(accuracy.dK)},
      {"dV", gradient_error_json(accuracy.dV)}, {"rows_checked", accuracy.rows_checked},
      {"keys_checked", accuracy.keys_checked},  {"within_tolerance", accuracy.within_tolerance}};
}

GradientAccuracy gradients_from_json(const JsonObject& object) {
  return {.dQ = gradient_error_from_json(object.object("dQ")),
          .dK = gradient_error_from_json(object.object("dK")),
          .dV = gradient_error_from_json(object.object("dV")),
          .rows_checked = count_or(object, "rows_checked", 0),
          .keys_checked = count_or(object, "keys_checked", 0),
          .within_tolerance = object.has("within_tolerance") && object.boolean("within_tolerance")};
}

void add_measurement(json& row, const Measurement& measurement) {
  const TimeStatistics& time = measurement.time;
  row["time"] = {
      {"min_s", time.min_s}, {"median_s", time.median_s}, {"max_s", time.max_s}, {"n", time.n}};
  set_if_known(row["time"], "sm_clock_hz", time.sm_clock_hz);
  row["counters"] = counters_json(measurement.counters);
  row["launches"] = launches_json(measurement.launches);
  if (!measurement.unavailable_counters.empty()) {
    row["unavailable_counters"] = measurement.unavailable_counters;
  }
  if (measurement.accuracy) row["errors"] = accuracy_json(*measurement.accuracy);
  if (measurement.gradients) row["gradient_errors"] = gradients_json(*measurement.gradients);
  if (!measurement.spilled_bytes) row["spilled_bytes"] = nullptr;
  if (measurement.spilled_bytes > 0) row["spilled_bytes"] = *measurement.spilled_bytes;
  if (!measurement.instructions.empty()) row["instructions"] = measurement.instructions;
}

Measurement measurement_from_json(const JsonObject& row) {
  Measurement measurement;
  const JsonObject time = row.object("time");
  measurement.time = {number_in(time, "min_s", kSecondsRange),
                      number_in(time, "median_s", kSecondsRange),
                      number_in(time, "max_s", kSecondsRange), int_or(time, "n", 1, 1),
                      number_or_none(time, "sm_clock_hz", kHertzRange)};
  if (!(measurement.time.min_s <= measurement.time.median_s &&
        measurement.time.median_s <= measurement.time.max_s)) {
    throw JsonFieldError("{}: min_s, median_s and max_s are not in ascending order", time.path());
  }
  if (row.has("counters")) measurement.counters = counters_from_json(row.object("counters"));
  if (row.has("launches")) measurement.launches = launches_from_json(row);
  if (row.has("unavailable_counters")) {
    const JsonObject reasons = row.object("unavailable_counters");
    for (const auto& item : reasons.value().items()) {
      measurement.unavailable_counters[item.key()] = reasons.string(item.key());
    }
  }
  if (row.has("errors")) measurement.accuracy = accuracy_from_json(row.object("errors"));
  if (row.has("gradient_errors")) {
    measurement.gradients = gradients_from_json(row.object("gradient_errors"));
  }
  if (row.value().contains("spilled_bytes") && row.value().at("spilled_bytes").is_null()) {
    measurement.spilled_bytes.reset();
  } else {
    measurement.spilled_bytes = count_or(row, "spilled_bytes", 0);
  }
  measurement.instructions = optional_text_of_at_most(row, "instructions", kMostNameBytes);
  return measurement;
}

/// `known` merged over the source, so that unknown fields survive at every depth except in
/// `replaced`.
json keep_unknown(const std::shared_ptr<const json>& source, const json& known,
                  const std::vector<std::string_view>& replaced) {
  if (!source) return known;
  json merged = *source;
  for (const std::string_view key : replaced) merged.erase(std::string(key));
  merged.update(known, /*merge_objects=*/true);
  return merged;
}

/// The members of a row other than its run.
constexpr std::array<std::string_view, 10> kResults = {
    "time",   "counters",        "launches",      "unavailable_counters",
    "errors", "gradient_errors", "spilled_bytes", "instructions",
    "failed", "unavailable"};

std::string schema_of(int version) {
  return fmt::format("{}/{}", kRecordingSchema, version);
}

/// The oldest version whose readers interpret every row correctly; the file's own version is kept
/// if it has one.
int version_of(const Recording& recording) {
  const auto& source = recording.source;
  const bool was_newest = source && source->value("schema", "") == schema_of(kRecordingVersion);
  const auto is_newer = [](const RecordingRow& row) {
    const auto& mask = row.run.problem.block_mask;
    const bool has_hash = row.run.files_hash != 0 && row.run.files_hash != kUnknownFiles;
    return has_hash || (mask && names_mask_file(mask->text())) || !row.run.asked.switches.empty();
  };
  return was_newest || std::ranges::any_of(recording.rows, is_newer) ? kRecordingVersion : 1;
}

}  // namespace

json header_to_json(const Recording& recording) {
  const json known = {{"schema", schema_of(version_of(recording))},
                      {"device", device_json(recording.device)},
                      {"build",
                       {{"version", recording.build.version},
                        {"commit", recording.build.commit},
                        {"local_changes", recording.build.local_changes}}},
                      {"date", recording.date},
                      {"protocol", protocol_json(recording.protocol)}};
  return keep_unknown(recording.source, known, {"rows"});
}

json row_to_json(const RecordingRow& row) {
  if (!row.unidentified.empty() && row.source) return *row.source;
  json known = run_to_json(row.run);
  if (row.measurement) add_measurement(known, *row.measurement);
  if (row.error) {
    const bool lacking = row.error->kind == Error::Kind::unavailable;
    known[lacking ? "unavailable" : "failed"] = words(*row.error, Reader::file);
  }
  std::vector<std::string_view> replaced(kResults.begin(), kResults.end());
  constexpr std::array<std::string_view, 4> kOptional = {"tiling", "deterministic", "block_mask",
                                                         kMaskHash};
  for (const std::string_view key : kOptional) {
    if (!known.contains(key)) replaced.push_back(key);
  }
  return keep_unknown(row.source, known, replaced);
}

RecordingRow row_without_mask(const JsonObject& object) {
  RecordingRow row;
  row.run = kernel_run_from_json(object);
  row.unidentified = unidentified_part(object.value(), kResults);

  // A row holds a measurement or the reason why it has none
  if (object.has("unavailable")) {
    row.error = unavailable(object.string("unavailable"));
  } else if (object.has("failed")) {
    row.error = failed(object.string("failed"));
  } else {
    row.measurement = measurement_from_json(object);
  }
  return row;
}

RecordingRow row_from_json(const JsonObject& object, RecordedMasks& masks) {
  RecordingRow row = row_without_mask(object);
  if (!row.run.asked.block_mask) return row;
  auto mask = masks.mask_of(row.run.asked, object);
  if (mask) {
    row.run.problem.block_mask = std::move(mask).value();
  } else {
    row.unidentified = words(mask.error(), Reader::file);
    row.measurement.reset();
    row.error = unavailable("recorded with " + row.unidentified);
  }
  return row;
}

Recording recording_from_json(json document, std::string_view name) {
  const JsonObject object(document, std::string(name));
  Recording recording;
  recording.device = device_from_json(object.object("device"));
  if (object.has("build")) {
    const JsonObject build = object.object("build");
    recording.build = {
        optional_text_of_at_most(build, "version", kMostNameBytes),
        build.has("commit") ? text_of_at_most(build, "commit", kMostNameBytes) : "unknown",
        build.has("local_changes") && build.boolean("local_changes")};
  }
  recording.date = optional_text_of_at_most(object, "date", kMostNameBytes);
  if (object.has("protocol")) recording.protocol = protocol_from_json(object.object("protocol"));
  const std::size_t row_count = object.array("rows").size();
  RecordedMasks masks;
  for (std::size_t r = 0; r < row_count; ++r) {
    json& row = document["rows"][r];
    recording.rows.push_back(
        row_from_json(JsonObject(row, fmt::format("{}: rows[{}]", name, r)), masks));
    recording.rows.back().source = std::make_shared<const json>(std::move(row));
  }
  document.erase("rows");
  recording.source = std::make_shared<const json>(std::move(document));
  return recording;
}

}  // namespace attnscope
