/// Recordings: measurements of kernels with their provenance, schema "attnscope.recording/1"; "/2"
/// if a row has the hash of a user's own file, or a kernel's switches. A row's fields follow
/// ResolvedRun and Measurement; recorded_launches.h describes its "launches". Plain C++: programs
/// without CUDA read them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/recording/recording_row.h"
#include "reference/files/file_identity.h"
#include "reference/files/file_lock.h"

namespace attnscope {

/// Whether two rows are of the same run, whatever their results. A row whose run or tensors cannot
/// be identified equals no other row.
bool same_run(const RecordingRow& a, const RecordingRow& b);

/// The row, or a failed one in its place if it could not be read back, for example because its time
/// is 0 s.
RecordingRow readable(RecordingRow row);

/// The current time, in the format of Recording::date.
std::string utc_date();

/// Parses a recording; `name` is the file's name in messages. invalid_request, in one line with the
/// position, for malformed text, another or a newer schema, or a field of the wrong type.
Result<Recording> parse_recording(std::string_view text, std::string_view name);
Result<Recording> read_recording(const std::filesystem::path& path);

/// The text of a recording: the header, then one row per line.
std::string recording_text(const Recording& recording);
std::optional<Error> write_recording(const Recording& recording, const std::filesystem::path& path);

/// Adds rows to a recording file and replaces the file after each, so that stopping a sweep loses
/// no measurement. Several processes may add to one file: each locks it, and rereads it if another
/// has changed it.
class RecordingWriter {
 public:
  /// Opens the file, or creates it with `header` (whose rows are ignored). invalid_request if the
  /// file is of another device, build or protocol; failed if it cannot be written, or another
  /// process keeps it locked.
  static Result<RecordingWriter> open(std::filesystem::path path, Recording header);

  /// The file's row for the same run if it has a measurement, else null. Valid until the next
  /// add().
  const RecordingRow* find_measured(const RecordingRow& run) const;

  /// Locks the file against other processes that add rows. Errors as in FileLock::take().
  Result<FileLock> lock() const { return FileLock::take(path_); }
  /// Adds the row and writes the file, which is locked with the result of lock(). Replaces the row
  /// of the same run, unless that one has a measurement and this one has none. Errors as in open(),
  /// and failed for a row that could not be read back: see readable().
  std::optional<Error> add(RecordingRow row, const FileLock& lock);

  /// The file's contents as last read or written.
  const Recording& recording() const { return recording_; }
  /// Whether the file is unchanged since it was last read or written.
  bool is_current() const { return stamp_.is_still(path_); }

 private:
  RecordingWriter(std::filesystem::path path, Recording recording)
      : path_(std::move(path)), recording_(std::move(recording)) {}
  std::optional<Error> read();
  std::optional<Error> write();

  std::filesystem::path path_;
  Recording recording_;
  FileStamp stamp_;  ///< of the file that recording_ was read from
};

}  // namespace attnscope
