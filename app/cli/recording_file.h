/// The recording that the measurements of this process are added to. A sweep has hundreds of them,
/// so the file is read once, and again only when somebody else has written it.
#pragma once

#include <filesystem>

#include "kernels/recording/recording.h"

namespace attnscope::cli {

/// A file that is there already must be a recording.
std::optional<Error> check_recording_file(const std::filesystem::path& path);

/// The file's writer, valid until the next call; errors as of RecordingWriter::open.
Result<RecordingWriter*> open_recording_file(const std::filesystem::path& path,
                                             const Recording& header);

/// Adds a row to the file that was opened last.
std::optional<Error> add_to_recording_file(RecordingRow row);

}  // namespace attnscope::cli
