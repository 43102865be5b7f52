/// State shared by the measurements of one command, of which a sweep may have hundreds. Opening the
/// GPU takes longer than most measurements, so it is opened only once, and the recording is read
/// again only if another program has written it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "kernels/measure/gpu.h"

namespace attnscope::cli {

class MeasuringSession {
 public:
  /// `given` are the options of the command line that measures; its --json and --csv are outputs.
  explicit MeasuringSession(GivenOptions given) : given_(std::move(given)) {}

  /// Opens the GPU on first use; errors as in Gpu::open().
  Result<std::shared_ptr<Gpu>> gpu();

  /// An error if the file exists but is not a recording, or if an output would replace one of its
  /// mask files.
  std::optional<Error> check_recording(const std::filesystem::path& path);
  /// The recording's writer, valid until the next call; errors as in RecordingWriter::open().
  Result<RecordingWriter*> open_recording(const std::filesystem::path& path,
                                          const Recording& header);
  /// Adds a row to the recording that was opened last; errors as in RecordingWriter::add(). If a
  /// signal then ends the program, its message says how many rows were added, and how to resume.
  std::optional<Error> add(const RecordingRow& row);

 private:
  GivenOptions given_;
  std::shared_ptr<Gpu> gpu_;
  std::filesystem::path checked_path_;
  FileStamp checked_;  ///< the file that was last found to be a recording
  std::filesystem::path written_path_;
  std::optional<RecordingWriter> writer_;  ///< writes written_path_
  int added_ = 0;
};

}  // namespace attnscope::cli
