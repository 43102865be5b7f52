/// The kernels' sources, embedded when AttnScope was built: what the app shows is what is compiled.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace attnscope::kernels {

struct SourceFile {
  std::string_view path;  ///< root-relative, as #include names it: "kernels/device/place.cuh"
  std::string_view text;
};

/// Every embedded file.
std::span<const SourceFile> embedded_sources();

/// Text of the file with this path; nothing when it is not embedded.
std::optional<std::string_view> kernel_source(std::string_view path);

/// The files, and every file that they include directly or indirectly, each once, in the order in
/// which a compiler first meets them. Throws CheckFailure for a file that is not embedded.
std::vector<SourceFile> include_closure(std::span<const std::string_view> paths);

}  // namespace attnscope::kernels
