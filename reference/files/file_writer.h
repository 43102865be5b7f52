/// The one way in which files are written: whole, or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "reference/files/temporary_file.h"
#include "reference/result.h"

namespace attnscope {

/// A file that is written piece by piece, and appears under its name when finish() succeeds.
///
/// The pieces go to a temporary file beside the target, which is synced, renamed to the target and
/// made durable by syncing the folder. Whatever fails, and whenever the process ends, the target is
/// the old file or the new one. A link is followed to the file that it names; the permissions of an
/// old file are kept, a new file's follow the umask. Other names of the old file (hard links) keep
/// the old contents; access control lists are not kept. Devices and pipes are written in place.
class FileWriter {
 public:
  /// failed, with the reason, when the file cannot be created or the old one may not be written.
  static Result<FileWriter> open(const std::filesystem::path& path);
  static FileWriter standard_output();

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  /// Leaves the old file, unless finish() succeeded.
  ~FileWriter();

  /// False when this piece, or one before it, could not be written.
  bool write(std::string_view piece);
  /// Nothing on success; failed, with the reason, when any piece could not be written.
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

/// Nothing when FileWriter::open() would succeed, else the reason. Leaves no trace.
std::error_code check_can_write(const std::filesystem::path& path);
/// The same, the reason in words that continue "cannot be written: "; empty when there is none.
std::string reason_not_writable(const std::filesystem::path& path);

}  // namespace attnscope
