/// Checks a shared library's file before the loader maps it: accessing a segment beyond the end of
/// a truncated file raises SIGBUS.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attnscope {

/// Nothing when the file is a shared library for this machine whose program table, section table,
/// segments and sections all lie within the file; else the reason why it is not.
std::optional<std::string> why_not_loadable(const std::filesystem::path& path);

}  // namespace attnscope
