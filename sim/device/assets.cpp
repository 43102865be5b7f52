#include "sim/device/assets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "reference/block_pattern.h"
#include "reference/files/file_identity.h"
#include "reference/files/nearest_file.h"
#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

bool folder_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

bool names_json_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

Result<fs::path> find_assets_dir() {
  // A folder chosen by the user is final: if it is invalid, report an error rather than search
  // elsewhere
  if (const char* chosen = std::getenv("ATTNSCOPE_ASSETS"); chosen != nullptr && *chosen != 0) {
    if (folder_exists(chosen)) return fs::path(chosen);
    return unavailable(
        "ATTNSCOPE_ASSETS is {}, which is not a folder; set it to AttnScope's assets folder",
        chosen);
  }

  // From the program upwards: a build tree inside the sources, or an installation
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    for (fs::path folder = program.parent_path();; folder = folder.parent_path()) {
      for (const char* candidate : {"assets", "share/attnscope/assets"}) {
        if (folder_exists(folder / candidate / "scenes")) return folder / candidate;
      }
      if (folder == folder.parent_path()) break;
    }
  }

  if (folder_exists(ATTNSCOPE_SOURCE_ASSETS)) return fs::path(ATTNSCOPE_SOURCE_ASSETS);
  return unavailable("no assets folder above {} or at {}; set ATTNSCOPE_ASSETS to the folder",
                     program.string(), ATTNSCOPE_SOURCE_ASSETS);
}

std::vector<std::string> list_assets(std::string_view folder, std::string_view extension) {
  std::vector<std::string> names;
  const Result<fs::path> assets = find_assets_dir();
  if (!assets) return names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(assets.value() / folder, error)) {
    std::error_code unknown;
    std::string name = entry.path().filename().string();
    if (!name.ends_with(extension) || !fs::is_regular_file(entry.path(), unknown)) continue;
    name.resize(name.size() - extension.size());
    if (name.find('.') == name.npos) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string_view> shipped_as(const fs::path& path) {
  const Result<fs::path> assets = find_assets_dir();
  if (!assets) return std::nullopt;
  struct Kind {
    std::string_view folder, extension, words;
  };
  constexpr Kind kKinds[] = {{"gpus", ".json", "the description of a GPU"},
                             {"gpus", ".calibration.json", "the calibration of a GPU"},
                             {"scenes", ".json", "a scene"},
                             {"lessons", ".json", "a lesson"},
                             {"recordings", ".json", "a recording"},
                             {"recordings/peers", ".json", "a recording"},
                             {"recordings/traces", ".json", "a recorded trace"}};
  const FileIdentity identity = identity_of(path);
  for (const auto& [folder, extension, words] : kKinds) {
    for (const std::string& name : list_assets(folder, extension)) {
      const fs::path file = assets.value() / folder / fmt::format("{}{}", name, extension);
      if (identity_of(file) == identity) return words;
    }
  }
  return std::nullopt;
}

namespace {

/// The shipped names of the folder, or the command that lists many of them.
std::string known_names(std::string_view folder) {
  constexpr std::size_t kLongest = 200;
  std::string names = fmt::format("{}", fmt::join(list_assets(folder), ", "));
  const bool is_listed = folder == "lessons" || folder == "scenes";
  if (is_listed && names.size() > kLongest) {
    names = folder == "lessons" ? "see attnscope-cli lesson list" : "see attnscope-cli list scenes";
  }
  return names;
}

}  // namespace

Result<fs::path> find_asset(std::string_view folder, std::string_view name_or_path) {
  // A name is a stem in the shipped folder; anything with a separator or an extension is a path
  const fs::path given(name_or_path);
  const bool looks_like_path = given.has_parent_path() || given.extension() == ".json";
  if (looks_like_path) {
    std::error_code error;
    if (fs::is_regular_file(given, error)) return given;
    Error missing = not_a_file(given);
    missing.message += fmt::format("; shipped {}: {}", folder, known_names(folder));
    return missing;
  }

  ATTNSCOPE_TRY(const auto assets, find_assets_dir());
  const fs::path shipped = assets / folder / (given.string() + ".json");
  std::error_code error;
  if (!given.empty() && fs::is_regular_file(shipped, error)) return shipped;
  Error unknown = invalid_request("'{}' is neither one of the {} ({}) nor a path ending in .json",
                                  name_or_path, folder, known_names(folder));
  unknown.accepted = nearest_name(name_or_path, list_assets(folder)).value_or("");
  if (!unknown.accepted.empty()) {
    unknown.message += fmt::format("; did you mean '{}'?", unknown.accepted);
  }
  return unknown;
}

bool names_path(const RunField& field, const std::string& text) {
  switch (field.file) {
    case FieldFile::none:
      return false;
    case FieldFile::npy:
      return !text.empty();
    case FieldFile::npy_or_pattern:
      return names_mask_file(text);
    case FieldFile::gpu:
      return names_json_path(text);
  }
  return false;
}

std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text) {
  const bool is_shipped = field.file == FieldFile::gpu && !text.empty() && !names_json_path(text);
  if (is_shipped) {
    const auto path = find_asset("gpus", text);
    if (!path) return std::nullopt;
    return path.value();
  }
  if (!names_path(field, text)) return std::nullopt;
  return text;
}

}  // namespace attnscope
