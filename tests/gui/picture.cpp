#include "tests/gui/picture.h"

#include <stb_image.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <vector>

namespace attnscope::app {

namespace {

struct Box {
  int x0, y0, x1, y1;
};

Box clipped(const Picture& picture, const Rect& rect) {
  return {std::max(0, static_cast<int>(rect.min.x)), std::max(0, static_cast<int>(rect.min.y)),
          std::min(picture.width, static_cast<int>(rect.max.x)),
          std::min(picture.height, static_cast<int>(rect.max.y))};
}

template <typename Counts>
int count_in(const Picture& picture, const Rect& rect, const Counts& counts) {
  const Box box = clipped(picture, rect);
  int count = 0;
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) count += counts(x, y) ? 1 : 0;
  }
  return count;
}

/// The picture with three bytes per pixel.
Picture picture_of_bytes(int width, int height, const unsigned char* rgb) {
  Picture picture{width, height, {}};
  picture.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (std::uint32_t& pixel : picture.pixels) {
    pixel = (std::uint32_t{rgb[0]} << 16) | (std::uint32_t{rgb[1]} << 8) | rgb[2];
    rgb += 3;
  }
  return picture;
}

}  // namespace

Picture picture_of(const Image& image) {
  return picture_of_bytes(image.width, image.height, image.rgb.data());
}

Picture read_picture(const std::filesystem::path& path) {
  int width = 0, height = 0, channels = 0;
  unsigned char* data = stbi_load(path.c_str(), &width, &height, &channels, 3);
  if (data == nullptr) return {};
  Picture picture = picture_of_bytes(width, height, data);
  stbi_image_free(data);
  return picture;
}

Picture read_screen(const std::filesystem::path& path) {
  // The header is a list of big-endian words; after it come its name and the colours of a palette
  constexpr std::size_t kWords = 25, kWidth = 4, kHeight = 5, kBitsPerPixel = 11;
  constexpr std::size_t kBytesPerLine = 12, kColors = 19;
  constexpr std::streamoff kBytesPerColor = 12;
  std::ifstream file(path, std::ios::binary);
  std::array<std::uint8_t, 4 * kWords> bytes{};
  file.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  const auto word = [&](std::size_t n) {
    const std::uint8_t* const at = &bytes[4 * n];
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
           at[3];
  };
  const std::uint32_t width = word(kWidth), height = word(kHeight);
  if (!file || word(kBitsPerPixel) != 32 || word(kBytesPerLine) != 4 * width) return {};
  Picture picture{static_cast<int>(width), static_cast<int>(height), {}};
  picture.pixels.resize(std::size_t{width} * height);
  file.seekg(word(0) + kBytesPerColor * word(kColors));
  file.read(reinterpret_cast<char*>(picture.pixels.data()),
            static_cast<std::streamsize>(4 * picture.pixels.size()));
  if (!file) return {};
  for (std::uint32_t& pixel : picture.pixels) pixel &= 0xFFFFFFU;
  return picture;
}

bool operator==(const Picture& a, const Picture& b) {
  return a.width == b.width && a.height == b.height && a.pixels == b.pixels;
}

bool has_colors(const Picture& picture) {
  const auto& pixels = picture.pixels;
  return std::adjacent_find(pixels.begin(), pixels.end(), std::not_equal_to<>()) != pixels.end();
}

std::size_t count_colors(const Picture& picture) {
  std::vector<bool> seen(std::size_t{1} << 24U);
  std::size_t count = 0;
  for (const std::uint32_t pixel : picture.pixels) {
    count += seen[pixel] ? 0 : 1;
    seen[pixel] = true;
  }
  return count;
}

int count_near(const Picture& picture, const Rect& rect, std::uint32_t color, int tolerance) {
  return count_in(picture, rect, [&](int x, int y) {
    const std::uint32_t pixel = picture.at(x, y);
    for (const int shift : {0, 8, 16}) {
      const int difference =
          static_cast<int>((pixel >> shift) & 0xFF) - static_cast<int>((color >> shift) & 0xFF);
      if (std::abs(difference) > tolerance) return false;
    }
    return true;
  });
}

int count_different(const Picture& a, const Picture& b, const Rect& rect) {
  return count_in(a, rect, [&](int x, int y) { return a.at(x, y) != b.at(x, y); });
}

}  // namespace attnscope::app
