/// Files that the fields of a run name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reference/run_fields.h"

namespace attnscope {

/// Whether this text of the field is a path, and not a name or a pattern.
bool names_path(const RunField& field, const std::string& text);

/// The file that is read for this text of the field; nothing where the text names none.
std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text);

}  // namespace attnscope
