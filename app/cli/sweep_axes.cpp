#include "app/cli/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/message_text.h"

namespace attnscope::cli {
namespace {

/// The prefix of cu-seqlens-q and cu-seqlens-k, each of whose values contains commas.
constexpr std::string_view kPackedLengths = "cu-seqlens-";

/// Whether the next piece is part of the same value: the second side of a window or of a
/// local-global block mask, or the seed of a random mask.
bool takes_next(const std::string& piece, const std::string& next) {
  if (piece.starts_with("window:") || piece.starts_with("local-global:")) {
    return next.find_first_of("-0123456789") == 0;
  }
  const bool is_drawn = piece.starts_with("random:") || piece.starts_with("uniform:");
  return is_drawn && !next.empty() && next.find_first_not_of("0123456789") == std::string::npos;
}

/// The prefix of a kernel's switch: "knob.stages".
constexpr std::string_view kKnob = "knob.";

/// Splits the text at the commas between values, but not at commas within a value.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values;
  for (const std::string& piece : split(text)) {
    const bool is_alone = values.empty() || values.back().find(',') != std::string::npos;
    if (is_alone || !takes_next(values.back(), piece)) {
      values.push_back(piece);
    } else {
      values.back() += "," + piece;
    }
  }
  return values;
}

std::vector<std::string> sweepable_keys(const CommandSpec& swept) {
  std::vector<std::string> keys;
  for (const OptionSpec& option : swept.options) {
    const bool is_output = option.files.use == OptionFiles::Use::written;
    const bool is_list = option.name.starts_with(kPackedLengths);
    if (!option.value_name.empty() && !is_output && !is_list) keys.push_back(option.name);
  }
  return keys;
}

}  // namespace

Result<std::vector<SweepAxis>> parse_axes(const std::vector<std::string>& texts,
                                          const CommandSpec& swept) {
  const std::vector<std::string> keys = sweepable_keys(swept);
  std::vector<SweepAxis> axes;
  std::vector<std::string> seen;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return invalid_request(
          "--over '{}' has no values; write --over KEY=V1,V2, as in seq-len=1024,2048",
          printable(text));
    }
    SweepAxis axis{split(text.substr(0, equals), '+'), {}};
    for (const std::string& key : axis.keys) {
      if (key.starts_with(kPackedLengths)) {
        return invalid_request(
            "--over {} cannot be swept: each of its values is a list of numbers; run {} for each",
            key, swept.name);
      }
      const bool is_knob = key.starts_with(kKnob) && key.size() > kKnob.size() &&
                           std::find(keys.begin(), keys.end(), "knob") != keys.end();
      if (!is_knob && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        return invalid_request(unknown_name_message("key of --over", key, keys));
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
        return invalid_request("--over {} was given twice; give all its values in one list", key);
      }
      seen.push_back(key);
    }
    for (const std::string& value : split_values(text.substr(equals + 1))) {
      axis.values.push_back(axis.keys.size() == 1 ? std::vector{value} : split(value, '+'));
      const std::vector<std::string>& parts = axis.values.back();
      if (std::find(parts.begin(), parts.end(), "") != parts.end()) {
        return invalid_request("--over '{}' has an empty value; write --over {}=V1,V2",
                               printable(text), fmt::join(axis.keys, "+"));
      }
      if (parts.size() != axis.keys.size()) {
        return invalid_request(
            "--over {}: '{}' has {} parts for {} keys; join one value per key with +",
            fmt::join(axis.keys, "+"), printable(value), parts.size(), axis.keys.size());
      }
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::string option_text(const std::string& key, const std::string& value) {
  if (!key.starts_with(kKnob)) return fmt::format("--{}={}", key, value);
  return fmt::format("--knob={}={}", key.substr(kKnob.size()), value);
}

Result<std::vector<SweepPoint>> all_points(const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points(1);
  for (const SweepAxis& axis : axes) {
    if (points.size() * axis.values.size() > kMaxSweepPoints) {
      return invalid_request("the sweep has more than {} points; shorten its lists",
                             kMaxSweepPoints);
    }
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const std::vector<std::string>& value : axis.values) {
        longer.push_back(point);
        for (std::size_t k = 0; k < axis.keys.size(); ++k) {
          longer.back().emplace_back(axis.keys[k], value[k]);
        }
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace attnscope::cli
