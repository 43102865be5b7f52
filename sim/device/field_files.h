/// Files that the fields of a run name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reference/run_fields.h"

namespace attnscope {

/// The file that is read for this text of the field; nothing where the text names none.
std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text);

}  // namespace attnscope
