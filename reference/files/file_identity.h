/// The file that a path names: follows links, compares files by device and inode, detects changes.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <system_error>

namespace attnscope {

/// The path with all links followed to their target, which need not exist. A descriptor's entry in
/// /proc is not followed. `error` is set if a folder of the path does not exist or the links form a
/// loop; the path is then followed as far as possible.
std::filesystem::path follow_links(const std::filesystem::path& path, std::error_code& error);

/// Whether output to this path must be written in place and cannot be replaced: a device, a pipe, a
/// process's descriptor.
bool is_written_in_place(const std::filesystem::path& path);

/// Identifies a file independently of its path: by device and inode. A file that does not exist is
/// identified by the nearest existing folder and the rest of the path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::filesystem::path rest;
  bool operator==(const FileIdentity&) const = default;
  /// Whether `folder`, which does not exist, would have to be a folder for this file to exist.
  bool is_below(const FileIdentity& folder) const;
};
FileIdentity identity_of(const std::filesystem::path& path);

/// The state of a regular file at one time, to detect whether it has since been changed or
/// replaced. Keeps the file open, so that its inode is not reused.
class FileStamp {
 public:
  FileStamp() = default;
  /// The stamp of the file at the path; empty if that is not a regular file.
  static FileStamp of(const std::filesystem::path& path);
  /// Whether the path names the same file, with the same size and modification time.
  bool is_still(const std::filesystem::path& path) const;

 private:
  std::shared_ptr<const int> descriptor_;  ///< null: empty stamp
  struct stat state_ {};
};

}  // namespace attnscope
