/// The folder of the sources: tests read the documents and the code there.
#pragma once

#include <filesystem>

namespace attnscope {

inline const std::filesystem::path kSourceRoot = ATTNSCOPE_SOURCE_DIR;

}  // namespace attnscope
