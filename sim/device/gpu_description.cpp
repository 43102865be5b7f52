#include "sim/device/gpu_description.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "reference/json/json_document.h"
#include "reference/json/json_ranges.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "sim/device/read_once.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr double kLargestValue = 1e18;
constexpr double kMostUnits = kMostSms;
constexpr double kMostL2Partitions = 2;
constexpr NumberRange kPerClockRange{1e-3, 1e6};

std::string short_text(const JsonObject& object, std::string_view key) {
  return text_of_at_most(object, key, kMostNameBytes);
}

/// Reads the fields of one description and records the source of each.
class FieldReader {
 public:
  FieldReader(const JsonObject& root, GpuDescription& gpu) : root_(root), gpu_(gpu) {}

  std::string text(std::string_view key) {
    return short_text(documented(root_, key, key), "value");
  }

  Index whole(std::string_view key, double largest = kLargestValue) {
    const JsonObject field = documented(root_, key, key);
    const Index value = field.integer("value");
    check_positive(field, static_cast<double>(value), largest);
    return value;
  }

  Index whole_or_zero(std::string_view key) {
    const JsonObject field = documented(root_, key, key);
    const Index value = field.integer("value");
    if (value != 0) check_positive(field, static_cast<double>(value));
    return value;
  }

  double number(std::string_view key, const NumberRange& range) {
    return number_in(documented(root_, key, key), "value", range);
  }

  /// The member of "matrix_flops_per_s" for one type; null if the GPU has no unit for it.
  std::optional<double> matrix_rate(DType dtype) {
    constexpr std::string_view kGroup = "matrix_flops_per_s";
    const JsonObject field = documented(root_.object(kGroup), to_string(dtype),
                                        fmt::format("{}.{}", kGroup, to_string(dtype)));
    if (field.at("value").is_null()) return std::nullopt;
    return number_in(field, "value", kRateRange);
  }

 private:
  /// The object {value, unit, source, confidence[, note]} of a field; everything but the value is
  /// stored.
  JsonObject documented(const JsonObject& parent, std::string_view key, std::string_view name) {
    JsonObject field = parent.object(key);
    gpu_.provenance.insert_or_assign(
        std::string(name), FieldSource{text_of_at_most(field, "unit", kMostNameBytes),
                                       text_of_at_most(field, "source", kMostNoteBytes),
                                       text_of_at_most(field, "confidence", kMostNameBytes),
                                       optional_text_of_at_most(field, "note", kMostNoteBytes)});
    return field;
  }

  static void check_positive(const JsonObject& field, double value,
                             double largest = kLargestValue) {
    if (value > 0.0 && value <= largest) return;
    throw JsonFieldError("{}: the number must be above 0 and at most {:g}", field.path_of("value"),
                         largest);
  }

  const JsonObject& root_;
  GpuDescription& gpu_;
};

GpuDescription read_description(const JsonObject& root) {
  GpuDescription gpu;
  gpu.name = short_text(root, "name");
  gpu.display_name = one_line(short_text(root, "display_name"));
  gpu.device_name = one_line(optional_text_of_at_most(root, "device_name", kMostNameBytes));
  gpu.chip = short_text(root, "chip");

  FieldReader read(root, gpu);
  gpu.compute_capability = read.text("compute_capability");
  gpu.sm_count = read.whole("sm_count", kMostUnits);
  gpu.l1_shared_bytes_per_sm = read.whole("l1_shared_bytes_per_sm");
  gpu.shared_bytes_per_sm = read.whole("shared_bytes_per_sm");
  gpu.shared_bytes_per_block = read.whole("shared_bytes_per_block");
  gpu.reserved_shared_bytes_per_block = read.whole_or_zero("reserved_shared_bytes_per_block");
  gpu.register_bytes_per_sm = read.whole("register_bytes_per_sm");
  gpu.max_threads_per_sm = read.whole("max_threads_per_sm", kMostUnits);
  gpu.max_blocks_per_sm = read.whole("max_blocks_per_sm", kMostUnits);
  gpu.l2_bytes = read.whole("l2_bytes");
  if (root.has("l2_partitions")) {
    gpu.l2_partitions = static_cast<int>(read.whole("l2_partitions", kMostL2Partitions));
  }
  gpu.hbm_bytes = read.whole("hbm_bytes");
  if (root.has("dram_type")) gpu.dram_type = one_line(read.text("dram_type"));
  gpu.dram_bytes_per_s = read.number("dram_bytes_per_s", kRateRange);
  gpu.boost_clock_hz = read.number("boost_clock_hz", kHertzRange);
  gpu.other_flops_per_s = read.number("other_flops_per_s", kRateRange);
  gpu.exp_per_clock_per_sm = read.number("exp_per_clock_per_sm", kPerClockRange);
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    gpu.matrix_flops_per_s_by_dtype[static_cast<std::size_t>(dtype)] = read.matrix_rate(dtype);
  }

  if (gpu.shared_bytes_per_block + gpu.reserved_shared_bytes_per_block > gpu.shared_bytes_per_sm) {
    throw JsonFieldError(
        "{}: shared_bytes_per_block and reserved_shared_bytes_per_block exceed shared_bytes_per_sm",
        root.path());
  }
  return gpu;
}

}  // namespace

std::string dram_name(const GpuDescription& gpu) {
  if (gpu.dram_type.starts_with("HBM")) return "HBM";
  return gpu.dram_type.empty() ? "DRAM" : gpu.dram_type;
}

bool same_numbers(const GpuDescription& a, const GpuDescription& b) {
  const auto numbers = [](const GpuDescription& gpu) {
    return std::tie(gpu.compute_capability, gpu.sm_count, gpu.l1_shared_bytes_per_sm,
                    gpu.shared_bytes_per_sm, gpu.shared_bytes_per_block,
                    gpu.reserved_shared_bytes_per_block, gpu.register_bytes_per_sm,
                    gpu.max_threads_per_sm, gpu.max_blocks_per_sm, gpu.l2_bytes, gpu.l2_partitions,
                    gpu.hbm_bytes, gpu.dram_bytes_per_s, gpu.boost_clock_hz, gpu.other_flops_per_s,
                    gpu.exp_per_clock_per_sm, gpu.matrix_flops_per_s_by_dtype);
  };
  return numbers(a) == numbers(b);
}

GpuDescription with_what_if(GpuDescription gpu, const WhatIf& what_if, std::string_view source) {
  const auto given = [&](const char* field, const char* unit) {
    gpu.provenance[field] = {unit, std::string(source), "high", ""};
  };
  const auto put = [&](const char* field, const char* unit, const std::optional<Index>& number,
                       Index& target) {
    if (!number) return;
    target = *number;
    given(field, unit);
  };
  put("shared_bytes_per_block", "bytes", what_if.sram_bytes, gpu.shared_bytes_per_block);
  put("l2_bytes", "bytes", what_if.l2_bytes, gpu.l2_bytes);
  gpu.shared_bytes_per_sm = std::max(
      gpu.shared_bytes_per_sm, gpu.shared_bytes_per_block + gpu.reserved_shared_bytes_per_block);

  const double own_sms = static_cast<double>(gpu.sm_count);
  put("sm_count", "SMs", what_if.sm_count, gpu.sm_count);
  const double clock = what_if.sm_clock.value_or(1.0);
  const double sm_rates = clock * static_cast<double>(gpu.sm_count) / own_sms;
  gpu.boost_clock_hz *= clock;
  gpu.other_flops_per_s *= sm_rates;
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const bool on_tensor_cores = dtype != DType::fp32;
    auto& rate = gpu.matrix_flops_per_s_by_dtype[static_cast<std::size_t>(dtype)];
    if (rate) *rate *= sm_rates * (on_tensor_cores ? what_if.matrix_rate.value_or(1.0) : 1.0);
  }
  gpu.exp_per_clock_per_sm *= what_if.exp_rate.value_or(1.0);
  gpu.dram_bytes_per_s *= what_if.dram_rate.value_or(1.0);
  if (what_if.sm_clock) given("boost_clock_hz", "Hz");
  if (what_if.exp_rate) given("exp_per_clock_per_sm", "1/clock/SM");
  if (what_if.dram_rate) given("dram_bytes_per_s", "bytes/s");
  gpu.what_if = what_if;
  return gpu;
}

bool are_one_memory(Index a_bytes, Index b_bytes) {
  constexpr double kTolerance = 0.1;
  const auto a = static_cast<double>(a_bytes), b = static_cast<double>(b_bytes);
  return std::abs(a - b) <= kTolerance * std::max(a, b);
}

std::vector<std::string> list_gpus() {
  return list_assets("gpus");
}

namespace {

Result<GpuDescription> gpu_from(const Result<json>& document, std::string_view source) {
  if (!document) return document.error();
  if (auto error = check_schema(document.value(), "attnscope.gpu", 1, source)) return *error;
  try {
    return read_description(JsonObject(document.value(), std::string(source)));
  } catch (const JsonFieldError& error) {
    return invalid_request(error.what());
  }
}

/// Whether both describe the same GPU: by device name if both have one, else by their numbers.
bool describe_one_gpu(const GpuDescription& a, const GpuDescription& b) {
  if (!a.device_name.empty() && !b.device_name.empty()) return a.device_name == b.device_name;
  return a.compute_capability == b.compute_capability && a.sm_count == b.sm_count &&
         are_one_memory(a.hbm_bytes, b.hbm_bytes);
}

/// Whether a shipped description of the same GPU has different numbers.
bool is_altered(const GpuDescription& gpu) {
  return std::ranges::any_of(list_gpus(), [&](const std::string& name) {
    const auto shipped = load_gpu(name);
    return shipped && describe_one_gpu(gpu, shipped.value()) && !same_numbers(gpu, shipped.value());
  });
}

Result<GpuDescription> read_shipped_gpu(std::string_view name) {
  static ReadOnce<GpuDescription> shipped;
  const auto path = find_asset("gpus", name);
  if (path) {
    if (const auto gpu = shipped.find(path.value())) return *gpu;
  }
  // List the shipped ones and suggest the closest
  const auto names = list_gpus();
  if (!names.empty() && std::ranges::find(names, name) == names.end()) {
    return invalid_request(unknown_name_message("gpu", name, names) + "; a .json path also works");
  }
  if (!path) return path.error();
  ATTNSCOPE_TRY(auto gpu, gpu_from(read_json_file(path.value()), path.value().string()));
  return *shipped.keep(path.value(), std::move(gpu));
}

Result<GpuDescription> read_gpu(std::string_view name_or_path) {
  if (!names_json_path(name_or_path)) return read_shipped_gpu(name_or_path);
  ATTNSCOPE_TRY(const auto path, find_asset("gpus", name_or_path));
  ATTNSCOPE_TRY(auto gpu, gpu_from(read_json_file(path), path.string()));
  gpu.is_altered = is_altered(gpu);
  return gpu;
}

}  // namespace

Result<GpuDescription> parse_gpu(std::string_view text, std::string_view name) {
  return gpu_from(parse_json(text, name), name);
}

Result<GpuDescription> load_gpu(std::string_view name_or_path) {
  auto gpu = read_gpu(name_or_path);
  if (gpu) return gpu;
  Error error = gpu.error();
  error.field = "gpu";
  error.value = name_or_path;
  return error;
}

}  // namespace attnscope
