/// Pictures, for inspection by tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "app/platform/png.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint32_t> pixels;  ///< 0xRRGGBB, rows from the top

  std::uint32_t at(int x, int y) const {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
};
bool operator==(const Picture& a, const Picture& b);

Picture picture_of(const Image& image);

/// Empty when the file is not a picture.
Picture read_picture(const std::filesystem::path& path);

/// The screen that Xvfb keeps in a file of its -fbdir, in the format of xwd, as it is now; empty
/// when it is not such a file.
Picture read_screen(const std::filesystem::path& path);

/// Whether the picture has two pixels of different colours.
bool has_colors(const Picture& picture);

/// The number of different colours. For many pictures has_colors() is enough, which takes no time.
std::size_t count_colors(const Picture& picture);

/// The number of pixels inside the rectangle whose every channel is within `tolerance` of the
/// colour.
int count_near(const Picture& picture, const Rect& rect, std::uint32_t color, int tolerance);

/// The number of pixels inside the rectangle that differ between two pictures of the same size.
int count_different(const Picture& a, const Picture& b, const Rect& rect);

}  // namespace attnscope::app
