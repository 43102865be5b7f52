/// Suggests a name if a file does not exist.
#pragma once

#include <filesystem>

#include "reference/result.h"

namespace attnscope {

/// Why the path does not name a regular file: "q.npz: no such file; did you mean 'q.npy'?" The most
/// similar name in the same folder, if there is one, is also the error's `accepted`.
Error not_a_file(const std::filesystem::path& path);

}  // namespace attnscope
