/// Pictures as PNG files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "reference/result.h"

namespace attnscope::app {

/// Red, green, blue, one byte each, rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Nothing on success; failed when the file cannot be written.
std::optional<Error> write_png(const std::filesystem::path& path, const Image& image);

/// The pixels of the bound OpenGL framebuffer.
Image read_framebuffer(int width, int height);

}  // namespace attnscope::app
