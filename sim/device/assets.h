/// Finds the shipped data (device descriptions, recordings, traces, scenes) and the files that the
/// fields of a run name. No CUDA, no OpenGL: the app and the command line both use it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"
#include "reference/run_fields.h"

namespace attnscope {

/// The folder `assets/`: the environment variable ATTNSCOPE_ASSETS if set, else the first `assets`
/// or `share/attnscope/assets` found from the program's folder upwards, else that of the source
/// tree from which the program was built. Unavailable, with the paths tried, if none exists.
Result<std::filesystem::path> find_assets_dir();

/// Names of the files NAME.json of assets/FOLDER, sorted; empty if there are none. A name has no
/// dot: h200.calibration.json is an asset with the extension ".calibration.json".
std::vector<std::string> list_assets(std::string_view folder, std::string_view extension = ".json");

/// The kind of the shipped file at this path, such as "a recording"; nothing for other files.
std::optional<std::string_view> shipped_as(const std::filesystem::path& path);

/// Whether the text is the path of a file, rather than the name of a shipped one: it contains '/'
/// or ends in ".json".
bool names_json_path(std::string_view name_or_path);

/// A file named by the user, either by path or by the stem of a file in assets/FOLDER. Invalid
/// request, with the list of shipped names, if neither exists.
Result<std::filesystem::path> find_asset(std::string_view folder, std::string_view name_or_path);

/// Whether this text of the field is a path, rather than a name or a pattern.
bool names_path(const RunField& field, const std::string& text);

/// The file that is read for this text of the field; nothing if the text names none.
std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text);

}  // namespace attnscope
