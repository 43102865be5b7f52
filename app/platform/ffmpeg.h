/// Animations as MP4 files, made by the program ffmpeg if it is installed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "app/platform/png.h"
#include "reference/files/temporary_file.h"

namespace attnscope::app {

/// Passes pictures to ffmpeg. The file appears under its name when finish() succeeds.
class FfmpegWriter {
 public:
  /// unavailable if ffmpeg is not on PATH; failed when it cannot be started.
  static Result<std::unique_ptr<FfmpegWriter>> open(const std::filesystem::path& path, int width,
                                                    int height, int frames_per_second);
  /// Stops ffmpeg, unless finish() was called.
  ~FfmpegWriter();
  FfmpegWriter(const FfmpegWriter&) = delete;
  FfmpegWriter& operator=(const FfmpegWriter&) = delete;

  /// Adds a picture of the animation's size.
  void add(const Image& image);
  /// failed, with ffmpeg's own message, if it could not encode the pictures.
  std::optional<Error> finish();

 private:
  explicit FfmpegWriter(std::filesystem::path path) : path_(std::move(path)) {}
  std::optional<Error> start(int width, int height, int frames_per_second);
  int close_and_wait();

  std::filesystem::path path_;
  TemporaryFile video_, log_;  ///< in the folder for temporary files
  int pictures_ = -1;          ///< the socket from which ffmpeg reads
  pid_t child_ = -1;
};

}  // namespace attnscope::app
