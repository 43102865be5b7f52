#include "kernels/recording/recorded_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/recording/recording_row.h"
#include "reference/fnv1a.h"
#include "reference/json/json_ranges.h"
#include "reference/json/run_json.h"

namespace attnscope {

using nlohmann::json;

namespace {

/// inputs.kind of a user's own tensors.
constexpr std::string_view kFiles = "files";

/// Reads a hash that hash_text() wrote.
std::uint64_t hash_from_json(const JsonObject& object, std::string_view key) {
  const std::string text = object.string(key);
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  const bool is_hash = error == std::errc{} && end == text.data() + text.size() && hash != 0;
  if (is_hash) return hash;
  throw JsonFieldError("{}: expected 16 hexadecimal digits, not all 0", object.path_of(key));
}

/// Whether the field is a tensor's path. A row has no paths but the hash of all tensors.
bool is_file(const RunField& field) {
  RunSpec spec;
  return field.parse("a.npy", spec) && spec.files.any();
}

/// The members that identify a run, by path: "problem/seq_len".
const std::set<std::string>& known_members() {
  static const std::set<std::string> members = [] {
    std::set<std::string> all = {"kernel", "inputs/hash", std::string(kMaskHash)};
    for (const RunField& field : run_fields()) {
      if (field.target == FieldTarget::model || field.json_key.empty() || is_file(field)) continue;
      all.insert(fmt::format("{}{}{}", field.json, field.json.empty() ? "" : "/", field.json_key));
    }
    return all;
  }();
  return members;
}

bool knows_members_of(const json& object, const std::string& path,
                      std::span<const std::string_view> others = {}) {
  for (const auto& [key, value] : object.items()) {
    const std::string place = path + key;
    const auto& known = known_members();
    if (std::ranges::find(others, place) != others.end()) continue;
    if (known.contains(place)) continue;
    const auto below = known.lower_bound(place + "/");
    const bool is_group = below != known.end() && below->starts_with(place + "/");
    if (!is_group || !value.is_object() || !knows_members_of(value, place + "/")) return false;
  }
  return true;
}

}  // namespace

std::string unidentified_part(const json& object, std::span<const std::string_view> others) {
  const bool knows = knows_members_of(object, "", others);
  return knows ? "" : "settings unknown to this version";
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
  members.erase("gpu");  // the file already names the device
  members["kernel"] = run.asked.kernel;
  if (const auto& mask = run.problem.block_mask) {
    const bool is_file = names_mask_file(mask->text());
    // The recording may be read from another folder
    members["block_mask"] =
        utf8_text(is_file ? std::filesystem::absolute(mask->text()).string() : mask->text());
    if (is_file) members[kMaskHash] = hash_text(mask->hash());
  }
  if (run.files_hash != 0) members["inputs"]["kind"] = kFiles;
  if (run.files_hash != 0 && run.files_hash != kUnknownFiles) {
    members["inputs"]["hash"] = hash_text(run.files_hash);
  }
  return members;
}

const Result<SharedBlockMask>& RecordedMasks::drawn(const RunSpec& spec, const Tiling& tiling) {
  const BlockPattern& pattern = *spec.block_mask;
  const AttentionProblem& problem = spec.problem;
  const auto [place, is_new] =
      drawn_.try_emplace(fmt::format("{} {} {} {} {}", to_string(pattern), problem.N, problem.N_kv,
                                     tiling.Br, tiling.Bc),
                         SharedBlockMask());
  Result<SharedBlockMask>& mask = place->second;
  if (!is_new) return mask;
  const Index Tr = ceil_div(problem.N, tiling.Br), Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index steps = drawing_steps(pattern, Tr, Tc);
  auto made = make_block_mask(pattern, problem.N, problem.N_kv, tiling,
                              {.ones = tiles_left_, .steps = tiles_left_});
  if (made) {
    tiles_left_ -= std::max(steps, made.value()->nonzeros());
    mask = SharedBlockMask(std::move(made).value());
    return mask;
  }
  // Work done before the rejection counts, too
  const bool is_too_large = made.error().code == ErrorCode::too_many;
  std::error_code ignored;
  const bool has_begun = steps <= tiles_left_ && (pattern.kind != BlockPattern::Kind::file ||
                                                  std::filesystem::exists(pattern.path, ignored));
  if (has_begun) tiles_left_ = is_too_large ? 0 : tiles_left_ - steps;
  if (is_too_large) {
    mask =
        failed("a block mask that exceeds the limit of {} tiles for all block masks in a recording",
               kMostTiles);
  } else {
    mask = failed("a block mask that cannot be drawn ({})", words(made.error(), Reader::file));
  }
  return mask;
}

Result<SharedBlockMask> RecordedMasks::mask_of(const RunSpec& spec, const JsonObject& row) {
  const auto tiling = spec.tiling();
  if (!tiling) {
    throw JsonFieldError("{}: the row has no tiling, which the mask needs",
                         row.path_of("block_mask"));
  }
  const bool is_file = spec.block_mask->kind == BlockPattern::Kind::file;
  const bool has_hash = row.has(kMaskHash);
  const std::uint64_t hash = has_hash ? hash_from_json(row, kMaskHash) : 0;
  if (is_file && !has_hash) return failed("a block mask file without a hash of its contents");
  const Result<SharedBlockMask>& mask = drawn(spec, *tiling);
  if (mask && has_hash && mask.value()->hash() != hash) {
    return failed("a block mask that differs from the one now in {}", mask.value()->text());
  }
  return mask;
}

ResolvedRun kernel_run_from_json(const JsonObject& object) {
  ResolvedRun run;
  RunSpec defaults;
  const std::string_view named_by = object.has("kernel") ? "kernel" : "algorithm";
  defaults.kernel = text_of_at_most(object, named_by, kMostNameBytes);
  defaults.algorithm = defaults.kernel;
  const bool is_own =
      object.has("inputs") && object.object("inputs").string_or("kind", "") == kFiles;
  if (is_own) {
    const JsonObject inputs = object.object("inputs");
    run.files_hash = inputs.has("hash") ? hash_from_json(inputs, "hash") : kUnknownFiles;
  }
  // "files" is not a kind of field in the table
  run.asked = run_from_json(object, defaults, is_own ? "inputs" : "");
  run.problem = run.asked.problem;
  run.tiling = object.has("tiling") ? tiling_from_json(object.object("tiling")) : Tiling{0, 0};
  return run;
}

}  // namespace attnscope
