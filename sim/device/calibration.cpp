#include "sim/device/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "reference/json/json_document.h"
#include "reference/json/json_ranges.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "sim/device/read_once.h"

namespace attnscope {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kSchema = "attnscope.calibration";
constexpr std::string_view kExtension = ".calibration.json";
constexpr NumberRange kQuantityRange{1e-15, 1e18};
constexpr Index kMostRepeats = 1'000'000;
constexpr std::size_t kMostQuantities = 4000;

/// One line of text, which must not be empty.
std::string line_of(const JsonObject& object, std::string_view key, std::size_t most_bytes) {
  std::string text = one_line(text_of_at_most(object, key, most_bytes));
  if (text.empty()) throw JsonFieldError("{}: the text is empty", object.path_of(key));
  return text;
}

/// A name such as "dram_read_bytes_per_s".
std::string identifier_of(const JsonObject& object, std::string_view key) {
  std::string text = line_of(object, key, kMostNameBytes);
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (text.find_first_not_of(kLetters) == text.npos) return text;
  throw JsonFieldError("{}: '{}' is not a name; use lowercase letters, digits and '_'",
                       object.path_of(key), printable(text));
}

Index whole_in(const JsonObject& object, std::string_view key, Index most) {
  const Index value = object.integer(key);
  check_range(object, key, static_cast<double>(value), {1, static_cast<double>(most)});
  return value;
}

MeasuredQuantity read_quantity(const JsonObject& object) {
  MeasuredQuantity quantity;
  quantity.name = identifier_of(object, "name");
  quantity.unit = line_of(object, "unit", kMostNameBytes);
  quantity.how = line_of(object, "how", kMostNoteBytes);
  if (object.has("unavailable")) {
    quantity.unavailable = line_of(object, "unavailable", kMostNoteBytes);
    return quantity;
  }
  quantity.value = number_in(object, "value", kQuantityRange);
  quantity.min = number_in(object, "min", {kQuantityRange.least, quantity.value});
  quantity.max = number_in(object, "max", {quantity.value, kQuantityRange.most});
  quantity.n = static_cast<int>(whole_in(object, "n", kMostRepeats));
  return quantity;
}

CalibratedDevice read_device(const JsonObject& object) {
  return {.name = line_of(object, "name", kMostNameBytes),
          .compute_capability = line_of(object, "compute_capability", kMostNameBytes),
          .sm_count = whole_in(object, "sm_count", kMostSms),
          .driver = one_line(optional_text_of_at_most(object, "driver", kMostNameBytes)),
          .cuda = one_line(optional_text_of_at_most(object, "cuda", kMostNameBytes))};
}

std::vector<MeasuredQuantity> read_quantities(const JsonObject& root) {
  std::vector<MeasuredQuantity> quantities;
  const json& list = root.array("quantities");
  if (list.empty() || list.size() > kMostQuantities) {
    throw JsonFieldError("{}: {} quantities; there must be 1 to {}", root.path_of("quantities"),
                         list.size(), kMostQuantities);
  }
  for (std::size_t k = 0; k < list.size(); ++k) {
    const JsonObject object(list[k], fmt::format("{}[{}]", root.path_of("quantities"), k));
    MeasuredQuantity quantity = read_quantity(object);
    if (std::ranges::find(quantities, quantity.name, &MeasuredQuantity::name) != quantities.end()) {
      throw JsonFieldError("{}: quantity '{}' appears twice", object.path_of("name"),
                           quantity.name);
    }
    quantities.push_back(std::move(quantity));
  }
  return quantities;
}

Result<Calibration> calibration_from(const Result<json>& document, std::string_view source) {
  if (!document) return document.error();
  if (auto error = check_schema(document.value(), kSchema, 1, source)) return *error;
  try {
    const JsonObject root(document.value(), std::string(source));
    const JsonObject build = root.object("build");
    return Calibration{.device = read_device(root.object("device")),
                       .date = line_of(root, "date", kMostNameBytes),
                       .commit = line_of(build, "commit", kMostNameBytes),
                       .local_changes = build.boolean_or("local_changes", false),
                       .quantities = read_quantities(root)};
  } catch (const JsonFieldError& error) {
    return invalid_request(error.what());
  }
}

ordered_json quantity_json(const MeasuredQuantity& quantity) {
  ordered_json object = {{"name", quantity.name}};
  if (quantity.is_available()) {
    object.update({{"value", quantity.value},
                   {"min", quantity.min},
                   {"max", quantity.max},
                   {"n", quantity.n}});
  } else {
    object["unavailable"] = quantity.unavailable;
  }
  object.update({{"unit", quantity.unit}, {"how", quantity.how}});
  return object;
}

}  // namespace

const MeasuredQuantity* Calibration::find(std::string_view name) const {
  const auto found = std::ranges::find(quantities, name, &MeasuredQuantity::name);
  return found != quantities.end() && found->is_available() ? &*found : nullptr;
}

Result<Calibration> parse_calibration(std::string_view text, std::string_view name) {
  return calibration_from(parse_json(text, name), name);
}

std::string calibration_text(const Calibration& calibration) {
  const auto line = [](const ordered_json& value) {
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  };
  const CalibratedDevice& device = calibration.device;
  const ordered_json device_json = {{"name", device.name},
                                    {"compute_capability", device.compute_capability},
                                    {"sm_count", device.sm_count},
                                    {"driver", device.driver},
                                    {"cuda", device.cuda}};
  const ordered_json build = {{"commit", calibration.commit},
                              {"local_changes", calibration.local_changes}};
  std::string text = fmt::format(
      "{{\n  \"schema\": \"{}/1\",\n  \"device\": {},\n  \"date\": {},\n  \"build\": {},\n"
      "  \"quantities\": [",
      kSchema, line(device_json), line(calibration.date), line(build));
  const char* separator = "\n";
  for (const MeasuredQuantity& quantity : calibration.quantities) {
    text += fmt::format("{}    {}", separator, line(quantity_json(quantity)));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

Result<std::shared_ptr<const Calibration>> load_calibration(std::string_view gpu_name) {
  static ReadOnce<Calibration> shipped;
  ATTNSCOPE_TRY(const auto assets, find_assets_dir());
  const auto path = assets / "gpus" / fmt::format("{}{}", gpu_name, kExtension);
  if (auto calibration = shipped.find(path)) return calibration;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::shared_ptr<const Calibration>();
  ATTNSCOPE_TRY(auto calibration, calibration_from(read_json_file(path), path.string()));
  return shipped.keep(path, std::move(calibration));
}

std::vector<std::string> list_calibrations() {
  return list_assets("gpus", kExtension);
}

}  // namespace attnscope
