/// Results that take long to compute, stored on disk and shared by all programs of a user.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

/// $XDG_CACHE_HOME/attnscope/NAME, else ~/.cache/attnscope/NAME; empty if neither is set to an
/// absolute path.
std::filesystem::path user_cache_folder(std::string_view name);

/// A folder of entries, one file each, which several threads and processes may use at once. An
/// entry that is damaged or has a different key or kind counts as missing. An entry that cannot be
/// read or written only costs time: no function here fails.
class DiskCache {
 public:
  /// Describes the entries.
  struct Kind {
    std::string_view format;  ///< first line of every entry: the kind, and its layout number
    std::string_view suffix;  ///< of the files' names
  };

  /// With an empty path, nothing is found or stored. Once the entries take more than `most_bytes`,
  /// the least recently used ones are removed. Small entries are not counted every time, so the
  /// total may exceed the limit by a few percent.
  DiskCache(std::filesystem::path folder, Kind kind, std::uintmax_t most_bytes);

  std::optional<std::string> find(std::string_view key) const;
  void keep(std::string_view key, std::string_view value) const;

 private:
  std::filesystem::path file_of(std::string_view key) const;
  void remove_oldest() const;

  std::filesystem::path folder_;
  Kind kind_;
  std::uintmax_t most_bytes_;
};

}  // namespace attnscope
