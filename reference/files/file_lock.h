/// A lock between processes.
#pragma once

#include <chrono>
#include <filesystem>

#include "reference/result.h"

namespace attnscope {

/// Excludes every other process that locks the same file, until the destructor runs or the process
/// ends. The lock (flock) is taken on the folder, so it remains valid when the file is replaced,
/// works before the file exists, and leaves no file behind; all files in a folder share it. Hold it
/// only while reading and writing the file. It has no effect on file systems without locks.
class FileLock {
 public:
  /// Takes the lock of the file. failed if the folder cannot be read, or another process holds the
  /// lock for `longest`.
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
