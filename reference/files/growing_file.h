/// A file that grows while it is in use and is complete at every moment.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "reference/files/file_identity.h"
#include "reference/files/temporary_file.h"
#include "reference/result.h"

namespace attnscope {

/// A file whose end changes. Each write() replaces the whole file in one step, at the cost of
/// writing only what changed. There are two copies, one under the file's name and one under a
/// temporary name; write() updates the second and then exchanges the names. Each appended piece is
/// therefore written twice, once to each copy, and earlier text is not written again.
///
/// A process that is killed leaves the file as of the last completed write(), and perhaps the other
/// copy. Some writes are also synced to the disk, so few that syncing takes at most a tenth of the
/// time: a power failure may lose the last ones. finish() syncs the rest.
class GrowingFile {
 public:
  /// An empty path: nothing is written.
  explicit GrowingFile(std::filesystem::path path) : path_(std::move(path)) {}
  /// Replaces the contents from `begin` on. `begin` is 0, or at most the size. failed when the file
  /// cannot be written; it then has its previous contents.
  std::optional<Error> write(std::size_t begin, std::string_view text);
  /// Syncs the file and removes the other copy.
  std::optional<Error> finish();
  std::size_t size() const { return text_.size(); }

 private:
  /// A file on the disk, of which the first `valid_bytes` are those of text_.
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
