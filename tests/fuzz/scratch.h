/// The folder in which fuzzed functions write.
#pragma once

#include <filesystem>

namespace attnscope::fuzz {

/// A fresh folder for this process, removed when the process ends normally.
const std::filesystem::path& scratch_folder();

}  // namespace attnscope::fuzz
