/// State shared by the measurements of one command. A sweep has hundreds of them: the GPU is opened
/// once, since that takes longer than most measurements, and the recording is read once, and again
/// only if another program has written it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "kernels/client/kernel_library.h"

namespace attnscope::cli {

class MeasuringSession {
 public:
  /// The GPU; errors as in KernelLibrary::load().
  Result<std::shared_ptr<KernelLibrary>> library();

  /// An existing file must be a recording.
  std::optional<Error> check_recording(const std::filesystem::path& path);
  /// The recording's writer, valid until the next call; errors as in RecordingWriter::open().
  Result<RecordingWriter*> open_recording(const std::filesystem::path& path,
                                          const Recording& header);
  /// Adds a row to the recording that was opened last.
  std::optional<Error> add(RecordingRow row);

 private:
  /// The state of a file when it was read or written.
  struct SeenFile {
    std::filesystem::path path;
    std::optional<std::filesystem::file_time_type> time;
    std::uintmax_t bytes = 0;
    bool is_still(const std::filesystem::path& other) const;
  };
  static SeenFile see(const std::filesystem::path& path);

  std::shared_ptr<KernelLibrary> library_;
  SeenFile checked_;  ///< the file that was last found to be a recording
  SeenFile written_;
  std::optional<RecordingWriter> writer_;  ///< of written_
};

}  // namespace attnscope::cli
