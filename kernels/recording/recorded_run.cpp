/// The identity of a kernel's run, and its members in a row of a recording.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/recording/recording_json.h"
#include "reference/json/run_json.h"

namespace attnscope {

using nlohmann::json;

namespace {

/// inputs.kind of a user's own tensors.
constexpr std::string_view kFiles = "files";

/// The files' hash in a row; kUnknownFiles where an older version left it out.
std::uint64_t hash_from_json(const JsonObject& inputs) {
  if (!inputs.has("hash")) return kUnknownFiles;
  const std::string text = inputs.string("hash");
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  const bool is_hash = error == std::errc{} && end == text.data() + text.size() && hash != 0;
  if (is_hash) return hash;
  throw JsonFieldError(
      fmt::format("{}: expected 16 hexadecimal digits, not all 0", inputs.path_of("hash")));
}

/// Whether the field is the path of a tensor. A row has no paths, but the hash of all tensors.
bool is_file(const RunField& field) {
  RunSpec spec;
  return field.parse("a.npy", spec) && spec.files.any();
}

/// Members of a row by their place, "problem/seq_len": those of its run and of its measurement.
const std::set<std::string>& known_members() {
  static const std::set<std::string> members = [] {
    std::set<std::string> all = {"kernel",          "inputs/hash",          "time",   "counters",
                                 "launches",        "unavailable_counters", "errors", "failed",
                                 "gradient_errors", "unavailable"};
    for (const RunField& field : run_fields()) {
      if (field.target == FieldTarget::model || field.json_key.empty() || is_file(field)) continue;
      all.insert(fmt::format("{}{}{}", field.json, field.json.empty() ? "" : "/", field.json_key));
    }
    return all;
  }();
  return members;
}

bool knows_members_of(const json& object, const std::string& path) {
  for (const auto& [key, value] : object.items()) {
    const std::string place = path + key;
    const auto& known = known_members();
    if (known.contains(place)) continue;
    const auto below = known.lower_bound(place + "/");
    const bool is_group = below != known.end() && below->starts_with(place + "/");
    if (!is_group || !value.is_object() || !knows_members_of(value, place + "/")) return false;
  }
  return true;
}

}  // namespace

bool knows_fields_of(const json& row) {
  return knows_members_of(row, "");
}

RunSpec identity_of(const ResolvedRun& run) {
  RunSpec spec = run.asked;
  for (const RunField& field : run_fields()) {
    if (field.target == FieldTarget::model) field.parse(field.print(RunSpec{}), spec);
  }
  spec.problem = run.problem;
  spec.block_mask.reset();
  spec.Br.reset();
  spec.Bc.reset();
  if (run.tiling.Br > 0) spec.set_tiling(run.tiling);
  spec.files = {};
  if (run.files_hash != 0) spec.inputs = {};
  return spec;
}

json run_to_json(const ResolvedRun& run) {
  json members;
  store_run(identity_of(run), members);
  members.erase("gpu");  // the file has the device
  members["kernel"] = run.asked.kernel;
  if (run.problem.block_mask) members["block_mask"] = utf8_text(run.problem.block_mask->text());
  if (run.files_hash != 0) members["inputs"]["kind"] = kFiles;
  if (run.files_hash != 0 && run.files_hash != kUnknownFiles) {
    members["inputs"]["hash"] = fmt::format("{:016x}", run.files_hash);
  }
  return members;
}

SharedBlockMask RecordedMasks::mask_of(const RunSpec& spec, const JsonObject& object) {
  const auto refuse = [&](const std::string& why) {
    return JsonFieldError(fmt::format("{}: {}", object.path_of("block_mask"), why));
  };
  const auto tiling = spec.tiling();
  if (!tiling) throw refuse("the row has no tiling that the mask could be drawn over");
  const AttentionProblem& problem = spec.problem;
  SharedBlockMask& mask = drawn_[fmt::format("{} {} {} {} {}", to_string(*spec.block_mask),
                                             problem.N, problem.N_kv, tiling->Br, tiling->Bc)];
  if (mask) return mask;
  auto drawn = make_block_mask(*spec.block_mask, problem.N, problem.N_kv, *tiling,
                               {.ones = tiles_left_, .steps = tiles_left_});
  if (!drawn && drawn.error().code != ErrorCode::too_many) {
    throw refuse(words(drawn.error(), Reader::file));
  }
  if (!drawn) {
    throw refuse(fmt::format("{}; all masks of a file may have {} tiles together",
                             words(drawn.error(), Reader::file), kMostTiles));
  }
  mask = std::move(drawn).value();
  tiles_left_ -=
      std::max(drawing_steps(*spec.block_mask, mask->Tr(), mask->Tc()), mask->nonzeros());
  return mask;
}

ResolvedRun kernel_run_from_json(const JsonObject& object, RecordedMasks& masks) {
  ResolvedRun run;
  RunSpec defaults;
  defaults.kernel = object.has("kernel") ? object.string("kernel") : object.string("algorithm");
  defaults.algorithm = defaults.kernel;
  const bool has_inputs = object.has("inputs");
  if (has_inputs && object.object("inputs").string_or("kind", "") == kFiles) {
    run.files_hash = hash_from_json(object.object("inputs"));
    json drawn = object.value();  // the table of fields knows no kind "files"
    drawn.erase("inputs");
    run.asked = run_from_json(JsonObject(drawn, object.path()), defaults);
  } else {
    run.asked = run_from_json(object, defaults);
  }
  run.problem = run.asked.problem;
  run.tiling = object.has("tiling") ? tiling_from_json(object.object("tiling")) : Tiling{0, 0};
  if (run.asked.block_mask) run.problem.block_mask = masks.mask_of(run.asked, object);
  return run;
}

}  // namespace attnscope
