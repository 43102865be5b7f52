#include "app/platform/png.h"

#include <GL/gl.h>
#include <stb_image_write.h>

#include <cstring>
#include <string>

#include "reference/files/file_writer.h"

namespace attnscope::app {

std::optional<Error> write_png(const std::filesystem::path& path, const Image& image) {
  // Surfaces and letters repeat exactly, so PNG's filters, which suit photographs, make the files
  // larger and account for half of the encoding time
  [[maybe_unused]] static const int filter = stbi_write_force_png_filter = 0;
  // Encode into memory first: the library does not report a full disk
  std::string bytes;
  const auto append = [](void* to, void* data, int size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                          static_cast<std::size_t>(size));
  };
  if (stbi_write_png_to_func(append, &bytes, image.width, image.height, 3, image.rgb.data(),
                             image.width * 3) == 0) {
    return failed("cannot write {}: the picture is empty", path.string());
  }
  return write_file(path, bytes);
}

Image read_framebuffer(int width, int height) {
  const auto row_bytes = static_cast<std::size_t>(width) * 3;
  std::vector<std::uint8_t> bottom_up(row_bytes * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, bottom_up.data());

  // OpenGL counts rows from the bottom
  Image image{width, height, std::vector<std::uint8_t>(bottom_up.size())};
  for (int y = 0; y < height; ++y) {
    const auto from = static_cast<std::size_t>(height - 1 - y) * row_bytes;
    const auto to = static_cast<std::size_t>(y) * row_bytes;
    std::memcpy(image.rgb.data() + to, bottom_up.data() + from, row_bytes);
  }
  return image;
}

}  // namespace attnscope::app
