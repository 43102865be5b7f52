/// Animations as GIF files. Each frame has its own 256 colours, and leaves out unchanged pixels.
#pragma once

#include <filesystem>
#include <optional>

#include "app/platform/png.h"
#include "reference/files/file_writer.h"

namespace attnscope::app {

/// The file appears under its name when finish() succeeds.
class GifWriter {
 public:
  /// An endless animation of pictures of this size, each shown for `delay_cs` hundredths of a
  /// second. failed when the file cannot be created.
  static Result<GifWriter> open(const std::filesystem::path& path, int width, int height,
                                int delay_cs);

  /// Adds a picture of the animation's size.
  void add(const Image& image);
  /// failed, with the reason, when a part of the file could not be written.
  std::optional<Error> finish();

 private:
  GifWriter(FileWriter file, int width, int height, int delay_cs);

  FileWriter file_;
  int width_, height_, delay_cs_;
  Image last_;  ///< empty before the first picture
};

// The two halves of a frame, for tests.

/// At most 255 colours for the pixels of the picture where `changed` is set, and the index of each
/// pixel's nearest colour; 255 for unchanged pixels.
struct IndexedPicture {
  std::vector<std::uint8_t> palette;  ///< red, green, blue of 256 colours; the last one is unused
  std::vector<std::uint8_t> pixels;
};
IndexedPicture with_palette(const Image& image, const std::vector<bool>& changed);

/// The indices, 8 bits each, as the data of a GIF image: LZW codes in blocks of at most 255 bytes.
std::string lzw_blocks(const std::vector<std::uint8_t>& pixels);

}  // namespace attnscope::app
