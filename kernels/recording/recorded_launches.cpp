#include "kernels/recording/recorded_launches.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/recording/recorded_numbers.h"
#include "reference/json/json_ranges.h"
#include "reference/message_text.h"

namespace attnscope {

using nlohmann::json;

namespace {

using Extent = std::array<Index, 3>;

/// CUDA's largest grid: the product fits in an Index.
constexpr Extent kMostBlocks = {std::numeric_limits<int>::max(), 65535, 65535};
constexpr Index kMostResources = std::numeric_limits<int>::max();

Extent extent_from_json(const JsonObject& kernel, std::string_view key) {
  const json& counts = kernel.array(key);
  Extent extent{};
  if (counts.size() != extent.size()) {
    throw JsonFieldError("{}: expected {} numbers, found {}", kernel.path_of(key), extent.size(),
                         counts.size());
  }
  for (std::size_t axis = 0; axis < extent.size(); ++axis) {
    const json& count = counts[axis];
    if (!count.is_number_integer() || count < 1 || count > kMostBlocks[axis]) {
      throw JsonFieldError("{}[{}]: {} is not a whole number from 1 to {}", kernel.path_of(key),
                           axis, printable(json_dump(count)), kMostBlocks[axis]);
    }
    extent[axis] = count.get<Index>();
  }
  return extent;
}

json kernel_json(const LaunchShape& kernel) {
  return {{"name", kernel.name},
          {"grid", kernel.grid},
          {"cluster", kernel.cluster},
          {"threads", kernel.threads},
          {"registers", kernel.registers},
          {"shared_bytes", kernel.shared_bytes},
          {"local_bytes", kernel.local_bytes},
          {"resident_blocks", kernel.resident_blocks}};
}

LaunchShape kernel_from_json(const JsonObject& kernel) {
  const auto count = [&](std::string_view key, Index least = 0) {
    return count_in(kernel, key, least, kMostResources);
  };
  return {.name = text_of_at_most(kernel, "name", LaunchShape::kMostNameBytes),
          .grid = extent_from_json(kernel, "grid"),
          .cluster = extent_from_json(kernel, "cluster"),
          .threads = count("threads", 1),
          .registers = count("registers"),
          .shared_bytes = count("shared_bytes"),
          .local_bytes = count("local_bytes"),
          .resident_blocks = count("resident_blocks")};
}

/// Calls `visit` with each object of the list.
template <typename Visit>
void for_each_object(const JsonObject& parent, std::string_view key, const Visit& visit) {
  const json& list = parent.array(key);
  for (std::size_t n = 0; n < list.size(); ++n) {
    visit(JsonObject(list[n], fmt::format("{}[{}]", parent.path_of(key), n)));
  }
}

}  // namespace

json launches_json(const std::vector<LaunchCounters>& launches) {
  json list = json::array();
  for (const LaunchCounters& launch : launches) {
    json& object = list.emplace_back(json{{"name", launch.name},
                                          {"counted", launch.counted},
                                          {"counters", counters_json(launch.counters)}});
    for (const LaunchShape& kernel : launch.kernels) {
      object["kernels"].push_back(kernel_json(kernel));
    }
  }
  return list;
}

std::vector<LaunchCounters> launches_from_json(const JsonObject& row) {
  std::vector<LaunchCounters> launches;
  for_each_object(row, "launches", [&](const JsonObject& launch) {
    LaunchCounters& read = launches.emplace_back();
    read.name = text_of_at_most(launch, "name", kMostNameBytes);
    read.counted = !launch.has("counted") || launch.boolean("counted");
    read.counters = counters_from_json(launch.object("counters"));
    if (!launch.has("kernels")) return;
    for_each_object(launch, "kernels", [&](const JsonObject& kernel) {
      read.kernels.push_back(kernel_from_json(kernel));
    });
  });
  return launches;
}

}  // namespace attnscope
