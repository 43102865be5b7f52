/// The only way in which files are written: completely, or not at all.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "reference/files/file_identity.h"
#include "reference/files/temporary_file.h"
#include "reference/result.h"

namespace attnscope {

/// A file that is written piece by piece and appears under its name when finish() succeeds.
///
/// The pieces go to a temporary file beside the target, which is synced, renamed to the target and
/// made durable by syncing the folder. Whatever fails, and whenever the process ends, the target is
/// either the old file or the new one. A link is followed to its target; an old file's permissions
/// are kept, those of a new file follow the umask. Other names of the old file (hard links) keep
/// the old contents; access control lists are not kept. Devices and pipes are written in place.
class FileWriter {
 public:
  /// Begins a file. failed, with the reason, if it cannot be created or the old file may not be
  /// written.
  static Result<FileWriter> open(const std::filesystem::path& path);
  static FileWriter standard_output();

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  /// Keeps the old file, unless finish() has succeeded.
  ~FileWriter();

  /// Writes a piece; false if it, or one before it, could not be written.
  bool write(std::string_view piece);
  /// Nothing on success; failed, with the reason, if any piece could not be written.
  std::optional<Error> finish();

 private:
  FileWriter() = default;
  void flush();

  std::filesystem::path path_;    ///< as given, for messages
  std::filesystem::path target_;  ///< links followed; empty: written in place
  TemporaryFile file_;
  int stream_ = -1;  ///< written in place
  bool owns_stream_ = false;
  std::string buffer_;
  int error_ = 0;
};

/// Replaces the file's contents with the bytes. Fails as FileWriter does.
std::optional<Error> write_file(const std::filesystem::path& path, std::string_view bytes);

/// Nothing if FileWriter::open() would succeed, else the reason. Leaves no file behind.
std::error_code check_can_write(const std::filesystem::path& path);
/// The same reason, in words that continue "cannot be written: "; empty if there is none.
std::string reason_not_writable(const std::filesystem::path& path);

// A file that grows while in use and is complete at all times.

/// A file whose end changes. Each write() replaces the whole file atomically, but writes only the
/// part that changed. There are two copies, one under the file's name and one under a temporary
/// name; write() updates the second and then exchanges the names. Each appended piece is therefore
/// written twice, once to each copy, and earlier text is not written again.
///
/// A process that is killed leaves the file as of the last completed write(), and perhaps the other
/// copy. Some writes are also synced to the disk, so few that syncing takes at most a tenth of the
/// time: a power failure may lose the last ones. finish() syncs the rest.
class GrowingFile {
 public:
  /// An empty path: nothing is written.
  explicit GrowingFile(std::filesystem::path path) : path_(std::move(path)) {}
  /// Replaces the contents from `begin` on. `begin` is 0, or at most the size. failed if the file
  /// cannot be written; it then has its previous contents.
  std::optional<Error> write(std::size_t begin, std::string_view text);
  /// Syncs the file and removes the other copy.
  std::optional<Error> finish();
  std::size_t size() const { return text_.size(); }

 private:
  /// A file on disk, of which the first `valid_bytes` are those of text_.
  struct Copy {
    TemporaryFile file;
    std::size_t valid_bytes = 0;
    std::size_t size_bytes = 0;
  };
  int update(Copy& copy) const;

  std::filesystem::path path_;
  std::string text_;
  Copy shown_, spare_;
  FileStamp stamp_;  ///< of shown_
  std::chrono::steady_clock::time_point next_sync_;
};

}  // namespace attnscope
