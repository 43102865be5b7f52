/// A file under a temporary name beside the one that it replaces: the building block of
/// FileWriter and GrowingFile.
#pragma once

#include <filesystem>
#include <string_view>

#include "reference/result.h"

namespace attnscope {

/// A file, open for writing, that the destructor removes unless it has replaced its target.
/// Functions that return an int return 0, or the errno of the failure.
class TemporaryFile {
 public:
  /// Creates a file with a unique name in the folder of `target`, with the owner and permissions of
  /// the file at `target`, as far as this user may set them, or those of a new file. `target` is a
  /// result of follow_links().
  int create(const std::filesystem::path& target);

  TemporaryFile() = default;
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile() { close(); }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  /// Its temporary name; empty once it has its final name.
  const std::filesystem::path& name() const { return name_; }
  /// Writes the bytes at the offset.
  int write_at(std::size_t offset, std::string_view bytes) const;
  /// Waits until the bytes are on disk.
  int sync() const;
  /// Renames the file to `target`, which it replaces. The file stays open.
  int replace(const std::filesystem::path& target);
  /// Like replace(), but keeps the old file at `target`, which `previous` has open, under a
  /// temporary name owned by `previous`. Closes `previous` instead if the file system has no hard
  /// links, or if another process has replaced the file at `target` in the meantime.
  int exchange(const std::filesystem::path& target, TemporaryFile& previous);
  /// Closes the file; removes it if it still has its temporary name.
  void close();

 private:
  /// Whether `path` names the open file.
  bool is_at(const std::filesystem::path& path) const;
  /// Deletes the file. The caller holds the mutex of all temporary names.
  void remove_name();

  int descriptor_ = -1;
  std::filesystem::path name_;
};

/// Writes all bytes at the descriptor's position. 0, or the errno.
int write_all(int descriptor, std::string_view bytes);

/// Waits until the names in the folder of `file` are on disk. 0, or the errno.
int sync_folder_of(const std::filesystem::path& file);

/// "cannot write FILE: No space left on device".
Error cannot_write(const std::filesystem::path& file, int reason);

/// Removes every temporary file and blocks all later renames, so that every file under its final
/// name stays complete. For the thread that handles a signal and then ends the process.
void remove_temporary_files_for_exit();

}  // namespace attnscope
