/// One process at a time.
#pragma once

#include <chrono>
#include <filesystem>

#include "reference/result.h"

namespace attnscope {

/// Holds off every other process that takes the lock of the same file; released by the destructor
/// and by the end of the process. The lock is the folder's (flock), so that it survives the
/// replacement of the file and leaves no file behind: files of one folder share it. Hold it only to
/// read and write the file. Where the file system has no locks, it holds off nobody.
class FileLock {
 public:
  /// failed when the folder cannot be read, or another process keeps the lock for `longest`.
  static Result<FileLock> take(const std::filesystem::path& file,
                               std::chrono::milliseconds longest = std::chrono::seconds(10));

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace attnscope
