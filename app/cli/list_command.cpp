/// attnscope-cli list algorithms|kernels|gpus|recordings|scenes

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/report/report_text.h"
#include "kernels/recording/recording.h"
#include "kernels/resolve.h"
#include "reference/json/json_document.h"
#include "reference/message_text.h"
#include "reference/tiling.h"
#include "sim/device/assets.h"
#include "sim/tiling_rules.h"

namespace attnscope::cli {

namespace {

ordered_json list_algorithms() {
  ordered_json rows = ordered_json::array();
  for (const Algorithm& algorithm : algorithms()) {
    rows.push_back({{"name", algorithm.name},
                    {"title", algorithm.title},
                    {"summary", algorithm.summary},
                    {"source", algorithm.source}});
  }
  return rows;
}

/// The kernel's default tilings for all head dimensions that it takes: "d=1-32: 128x64; d=33-64:
/// 128x128".
std::string tilings_text(const kernels::KernelInfo& kernel, DType dtype) {
  std::string text;
  std::optional<Tiling> tiling;  // the tiling of head dimensions from `first` to d - 1
  Index first = 1;
  for (Index d = 1; d <= kMaxKernelHeadDim + 1; ++d) {
    AttentionProblem problem;
    problem.dtype = dtype;
    problem.d = d;
    const auto next = kernels::own_tiling(kernel.name, PassKind::forward, problem);
    if (next == tiling) continue;
    if (tiling) {
      const std::string range =
          first == d - 1 ? std::to_string(first) : fmt::format("{}-{}", first, d - 1);
      text += fmt::format("{}d={}: {}x{}", text.empty() ? "" : "; ", range, tiling->Br, tiling->Bc);
    }
    tiling = next;
    first = d;
  }
  return text;
}

ordered_json list_kernels() {
  ordered_json rows = ordered_json::array();
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    rows.push_back({{"name", kernel.name},
                    {"algorithm", kernel.name},
                    {"idea", kernel.idea},
                    {"source", kernel.forward.source},
                    {"default_tilings_bf16", tilings_text(kernel, DType::bf16)},
                    {"default_tilings_fp32", tilings_text(kernel, DType::fp32)}});
  }
  return rows;
}

/// The tiling by the paper's rule on this device: "64x326".
std::string tiling_text(const GpuDescription& gpu, Index d) {
  const Tiling tiling = paper_tiling(gpu, DType::fp16, d);
  return fmt::format("{}x{}", tiling.Br, tiling.Bc);
}

/// The rows of files; the row of a file that cannot be read contains the error.
ordered_json list_files(const std::vector<std::string>& names,
                        Result<ordered_json> (*row_of)(const std::string& name)) {
  ordered_json rows = ordered_json::array();
  for (const std::string& name : names) {
    const auto row = row_of(name);
    rows.push_back(
        row ? row.value()
            : ordered_json{{"name", name}, {"error", words(row.error(), Reader::command_line)}});
  }
  return rows;
}

Result<ordered_json> gpu_row(const std::string& name) {
  ATTNSCOPE_TRY(const GpuDescription gpu, load_gpu(name));
  ordered_json row = {{"name", gpu.name},
                      {"display_name", gpu.display_name},
                      {"sm_count", gpu.sm_count},
                      {"shared_bytes_per_block", gpu.shared_bytes_per_block},
                      {"register_bytes_per_sm", gpu.register_bytes_per_sm},
                      {"paper_tiling_fp16_d64", tiling_text(gpu, 64)},
                      {"paper_tiling_fp16_d128", tiling_text(gpu, 128)},
                      {"l2_bytes", gpu.l2_bytes},
                      {"hbm_bytes", gpu.hbm_bytes},
                      {"dram_bytes_per_s", gpu.dram_bytes_per_s}};
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const auto rate = gpu.matrix_flops_per_s(dtype);
    if (rate) row[fmt::format("matrix_flops_per_s_{}", to_string(dtype))] = *rate;
  }
  return row;
}

Result<ordered_json> recording_row(const std::string& name) {
  ATTNSCOPE_TRY(const auto path, find_asset("recordings", name));
  ATTNSCOPE_TRY(const auto recording, read_recording(path));
  return ordered_json{{"name", name},
                      {"device", recording.device.name},
                      {"driver", recording.device.driver},
                      {"date", recording.date},
                      {"commit", recording.build.commit},
                      {"rows", recording.rows.size()}};
}

Result<ordered_json> scene_row(const std::string& name) {
  ATTNSCOPE_TRY(const auto path, find_asset("scenes", name));
  ATTNSCOPE_TRY(const auto scene, read_json_file(path));
  if (!scene.is_object()) return failed("not a scene");
  return ordered_json{{"name", name},
                      {"title", scene.value("title", name)},
                      {"algorithm", scene.value("algorithm", "")}};
}

struct Listing {
  std::string name;
  ordered_json (*rows)();
};

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all = {
      {"algorithms", list_algorithms},
      {"kernels", list_kernels},
      {"gpus", [] { return list_files(list_gpus(), gpu_row); }},
      {"recordings", [] { return list_files(list_assets("recordings"), recording_row); }},
      {"scenes", [] { return list_files(list_assets("scenes"), scene_row); }}};
  return all;
}

/// A cell as text: quantities with their units, according to the suffix of the key.
std::string cell_text(const std::string& key, const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  const auto names = [&](std::string_view part) { return key.find(part) != std::string::npos; };
  if (names("bytes_per_s") && !names("per_sm")) return bytes_text(value.get<double>()) + "/s";
  if (names("hbm_bytes")) return bytes_text(value.get<double>());
  if (names("bytes")) return capacity_text(value.get<Index>());
  if (names("flops_per_s")) return flops_text(value.get<double>()) + "/s";
  return value.dump();
}

/// One table of all rows, with the keys of the longest row as its header.
std::string rows_text(const ordered_json& rows) {
  if (rows.empty()) return "none\n";
  Lines lines(1);
  for (const auto& row : rows) {
    if (row.size() <= lines[0].size()) continue;
    lines[0].clear();
    for (const auto& [key, value] : row.items()) lines[0].push_back(key);
  }
  for (const auto& row : rows) {
    auto& line = lines.emplace_back();
    if (row.contains("error")) {
      line = {row.at("name").get<std::string>(),
              fmt::format("unavailable: {}", row.at("error").get<std::string>())};
      continue;
    }
    for (const std::string& key : lines[0]) {
      const auto cell = row.find(key);
      line.push_back(cell == row.end() ? "-" : cell_text(key, *cell));
    }
  }
  return table_text(lines, lines[0].size());
}

Result<Answer> answer_list(const GivenOptions& given) {
  std::vector<std::string> names;
  for (const Listing& listing : listings()) names.push_back(listing.name);
  const auto wanted = given.text(kOperand);
  if (!wanted) {
    return invalid_request("list needs the name of a list; known: {}", fmt::join(names, ", "));
  }
  const auto listing = std::ranges::find(listings(), *wanted, &Listing::name);
  if (listing == listings().end()) {
    return invalid_request(unknown_name_message("list", *wanted, names));
  }
  if (const auto assets = find_assets_dir(); !assets) return assets.error();
  const ordered_json rows = listing->rows();
  return Answer{json_text({{"schema", "attnscope.list/1"}, {listing->name, rows}}), csv_text(rows),
                rows_text(rows)};
}

}  // namespace

CommandSpec list_command() {
  return answering({.name = "list",
                    .summary = "Lists algorithms, kernels, gpus, recordings or scenes.",
                    .operand = "algorithms|kernels|gpus|recordings|scenes"},
                   answer_list);
}

}  // namespace attnscope::cli
