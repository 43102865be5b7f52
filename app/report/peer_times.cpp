#include "app/report/peer_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "reference/json/json_document.h"
#include "reference/json/json_ranges.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope {

namespace {

using nlohmann::json;

/// The libraries' names in the file and on the screen; the file also has AttnScope's own kernels.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPeers{
    {{"pytorch flash2", "PyTorch flash2"}, {"cudnn", "cuDNN"}}};

constexpr NumberRange kMilliseconds{1e-6, 1e9};
constexpr NumberRange kSize{1, 1e9};

Index size_in(const JsonObject& object, std::string_view key) {
  return static_cast<Index>(number_in(object, key, kSize));
}

AttentionProblem problem_of(const JsonObject& row, DType dtype) {
  AttentionProblem problem;
  problem.batch = size_in(row, "batch");
  problem.heads = size_in(row, "heads");
  problem.kv_heads = size_in(row, "kv_heads");
  problem.N = problem.N_kv = size_in(row, "N");
  problem.d = size_in(row, "d");
  problem.dtype = dtype;
  if (row.boolean("causal")) problem.mask = Mask::causal();
  return problem;
}

/// The GPU, provenance and precision that all times in the file share.
struct Header {
  std::string gpu, how;
  DType dtype = DType::bf16;
};

Header header_of(const JsonObject& root) {
  const JsonObject protocol = root.object("protocol");
  const auto line = [](const JsonObject& object, std::string_view key) {
    return one_line(text_of_at_most(object, key, kMostNameBytes));
  };
  Header header{.gpu = line(root, "device")};
  const std::string dtype = line(protocol, "dtype");
  const auto parsed = parse_name<DType>(dtype);
  if (!parsed) {
    throw JsonFieldError("{}: '{}' is not a type; use {}", protocol.path_of("dtype"),
                         printable(dtype), alternatives(enum_names(DType{})));
  }
  header.dtype = *parsed;
  header.how =
      fmt::format("recorded on {}, {}, PyTorch {}, cuDNN {}, {} L2", header.gpu, line(root, "date"),
                  line(root, "torch"), root.integer("cudnn"), line(protocol, "cache"));
  return header;
}

void add_times(const JsonObject& row, const Header& header, std::vector<PeerTime>& times) {
  const JsonObject passes = row.object("passes");
  for (const bool backward : {false, true}) {
    const std::string_view pass = backward ? "backward" : "forward";
    if (!passes.has(pass)) continue;
    const JsonObject medians = passes.object(pass).object("median_ms");
    for (const auto& [key, name] : kPeers) {
      if (!medians.has(key)) continue;
      times.push_back({.name = std::string(name),
                       .gpu = header.gpu,
                       .how = header.how,
                       .problem = problem_of(row, header.dtype),
                       .backward = backward,
                       .time_s = 1e-3 * number_in(medians, key, kMilliseconds)});
    }
  }
}

}  // namespace

Result<std::vector<PeerTime>> read_peer_times(const std::filesystem::path& path) {
  ATTNSCOPE_TRY(const json document, read_json_file(path));
  if (auto error = check_schema(document, "attnscope.peers", 1, path.string())) return *error;
  try {
    const JsonObject root(document, path.string());
    const Header header = header_of(root);
    std::vector<PeerTime> times;
    const json& rows = root.array("rows");
    for (std::size_t k = 0; k < rows.size(); ++k) {
      add_times(JsonObject(rows[k], fmt::format("{}[{}]", root.path_of("rows"), k)), header, times);
    }
    return times;
  } catch (const JsonFieldError& error) {
    return invalid_request(error.what());
  }
}

std::vector<PeerTime> load_shipped_peer_times(std::vector<std::string>& problems) {
  constexpr std::string_view kFolder = "recordings/peers";
  std::vector<PeerTime> all;
  for (const std::string& name : list_assets(kFolder)) {
    const Result<std::filesystem::path> path = find_asset(kFolder, name);
    if (!path) continue;
    auto times = read_peer_times(path.value());
    if (times) std::ranges::move(times.value(), std::back_inserter(all));
    if (!times) problems.push_back(words(times.error(), Reader::screen));
  }
  return all;
}

}  // namespace attnscope
