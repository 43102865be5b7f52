#include "reference/files/disk_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "reference/files/packed_bytes.h"
#include "reference/files/temporary_file.h"
#include "reference/fnv1a.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

std::uint64_t hash_of(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  return hash.value();
}

std::string entry_bytes(std::string_view format, std::string_view key, std::string_view value) {
  std::string bytes(format);
  append_all(bytes, key, value);
  append(bytes, hash_of(bytes));
  return bytes;
}

std::optional<std::string> value_in(std::string_view bytes, std::string_view format,
                                    std::string_view key) {
  if (!bytes.starts_with(format) || bytes.size() < format.size() + sizeof(std::uint64_t)) {
    return std::nullopt;
  }
  const std::string_view hashed = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  std::string_view stored = bytes.substr(hashed.size());
  if (take<std::uint64_t>(stored) != hash_of(hashed)) return std::nullopt;
  std::string_view rest = hashed.substr(format.size());
  const auto own_key = take_block(rest);
  const auto value = take_block(rest);
  if (!value || !rest.empty() || *own_key != key) return std::nullopt;
  return std::string(*value);
}

/// Creates folders that only the user can access, as the XDG Base Directory Specification requires.
void create_folders(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) || !folder.has_relative_path()) return;
  create_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

/// Whether to count the folder's entries after storing one of this size. Counting takes longer than
/// writing a small entry, so it is done only after some, chosen by the hash of their keys: about
/// once per 1/64 of the folder's size limit.
bool is_counted_after(std::uint64_t key_hash, std::uintmax_t entry_bytes,
                      std::uintmax_t most_bytes) {
  const std::uintmax_t entries = most_bytes / 64 / entry_bytes;
  return entries == 0 || key_hash % entries == 0;
}

}  // namespace

fs::path user_cache_folder(std::string_view name) {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value != nullptr ? value : "";
    return path.is_absolute() ? path : fs::path();
  };
  const fs::path given = absolute("XDG_CACHE_HOME");
  if (!given.empty()) return given / "attnscope" / name;
  const fs::path home = absolute("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "attnscope" / name;
}

DiskCache::DiskCache(fs::path folder, Kind kind, std::uintmax_t most_bytes)
    : folder_(std::move(folder)), kind_(kind), most_bytes_(most_bytes) {}

fs::path DiskCache::file_of(std::string_view key) const {
  return folder_ / (hash_text(hash_of(key)) + std::string(kind_.suffix));
}

std::optional<std::string> DiskCache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path file = file_of(key);
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > most_bytes_ || error) {
    return std::nullopt;
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  auto value = value_in(bytes, kind_.format, key);
  if (value) fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  return value;
}

void DiskCache::keep(std::string_view key, std::string_view value) const {
  if (folder_.empty()) return;
  create_folders(folder_);
  // Replaces the entry itself: if it is a link, its target does not change
  TemporaryFile file;
  const fs::path entry = file_of(key);
  const std::string bytes = entry_bytes(kind_.format, key, value);
  const bool is_kept =
      file.create(entry) == 0 && file.write_at(0, bytes) == 0 && file.replace(entry) == 0;
  if (is_kept && is_counted_after(hash_of(key), bytes.size(), most_bytes_)) remove_oldest();
}

void DiskCache::remove_oldest() const {
  struct Entry {
    fs::path path;
    std::uintmax_t bytes;
    fs::file_time_type used;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // removed by another process
    const Entry entry{at->path(), at->file_size(gone), at->last_write_time(gone)};
    if (gone) continue;
    const bool is_left_over =  // left by a killed process
        at->path().filename().string().starts_with(".attnscope-") &&
        entry.used < fs::file_time_type::clock::now() - std::chrono::hours(1);
    if (is_left_over) fs::remove(at->path(), gone);
    if (at->path().extension() != kind_.suffix) continue;
    total += entry.bytes;
    entries.push_back(entry);
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= most_bytes_) return;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace attnscope
