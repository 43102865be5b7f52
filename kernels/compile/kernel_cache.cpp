#include "kernels/compile/kernel_cache.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "reference/files/temporary_file.h"

namespace attnscope::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFormat = "attnscope kernel 2\n";
constexpr std::string_view kSuffix = ".kernel";

/// FNV-1a.
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

template <typename Number>
void append(std::string& bytes, Number number) {
  static_assert(std::is_trivially_copyable_v<Number>);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_block(std::string& bytes, std::string_view block) {
  append(bytes, static_cast<std::uint64_t>(block.size()));
  bytes += block;
}

/// Takes what was appended off the front of the bytes; nothing when they are too few.
template <typename Number>
std::optional<Number> take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

std::optional<std::string_view> take_block(std::string_view& bytes) {
  const auto size = take<std::uint64_t>(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view block = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return block;
}

std::string entry_bytes(const std::string& key, const CompiledKernel& kernel) {
  std::string bytes(kFormat);
  append_block(bytes, key);
  append_block(bytes, kernel.cubin);
  append_block(bytes, kernel.ptx);
  append_block(bytes, kernel.entry);
  append(bytes, kernel.resources);
  append(bytes, kernel.compile_s);
  append(bytes, hash_of(bytes));
  return bytes;
}

std::optional<CompiledKernel> kernel_in(std::string_view bytes, const std::string& key) {
  if (!bytes.starts_with(kFormat) || bytes.size() < kFormat.size() + sizeof(std::uint64_t)) {
    return std::nullopt;
  }
  const std::string_view hashed = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  std::string_view stored = bytes.substr(hashed.size());
  if (take<std::uint64_t>(stored) != hash_of(hashed)) return std::nullopt;
  std::string_view rest = hashed.substr(kFormat.size());
  const auto own_key = take_block(rest);
  const auto cubin = take_block(rest);
  const auto ptx = take_block(rest);
  const auto entry = take_block(rest);
  const auto resources = take<KernelResources>(rest);
  const auto compile_s = take<double>(rest);
  if (!compile_s || !rest.empty() || *own_key != key) return std::nullopt;
  return CompiledKernel{std::string(*cubin), std::string(*ptx), std::string(*entry), *resources,
                        *compile_s};
}

/// Folders of the user alone, as the XDG Base Directory Specification asks for.
void create_folders(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) || !folder.has_relative_path()) return;
  create_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

}  // namespace

std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build) {
  std::string key;
  append_block(key, nvrtc_build);
  append_block(key, program.expression);
  append_block(key, program.text);
  for (const std::string& option : compiler_options(program)) append_block(key, option);
  const std::vector<std::string_view> roots(program.sources.begin(), program.sources.end());
  for (const SourceFile& file : include_closure(roots)) {
    append_block(key, file.path);
    append_block(key, file.text);
  }
  return key;
}

fs::path default_cache_folder() {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path path = value != nullptr ? value : "";
    return path.is_absolute() ? path : fs::path();
  };
  const fs::path given = absolute("XDG_CACHE_HOME");
  if (!given.empty()) return given / "attnscope" / "kernels";
  const fs::path home = absolute("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "attnscope" / "kernels";
}

KernelCache::KernelCache(fs::path folder, std::uintmax_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

fs::path KernelCache::file_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}{}", hash_of(key), kSuffix);
}

std::optional<CompiledKernel> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path file = file_of(key);
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > most_bytes_ || error) {
    return std::nullopt;
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  auto kernel = kernel_in(bytes, key);
  if (kernel) fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  return kernel;
}

void KernelCache::keep(const std::string& key, const CompiledKernel& kernel) const {
  if (folder_.empty()) return;
  create_folders(folder_);
  // Replaces the entry itself: if that is a link, what it names stays as it is
  TemporaryFile file;
  const fs::path entry = file_of(key);
  const bool is_kept = file.create(entry) == 0 && file.write_at(0, entry_bytes(key, kernel)) == 0 &&
                       file.replace(entry) == 0;
  if (is_kept) remove_oldest();
}

void KernelCache::remove_oldest() const {
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
    const bool is_left_over =  // by a process that was killed
        at->path().filename().string().starts_with(".attnscope-") &&
        entry.used < fs::file_time_type::clock::now() - std::chrono::hours(1);
    if (is_left_over) fs::remove(at->path(), gone);
    if (at->path().extension() != kSuffix) continue;
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

}  // namespace attnscope::kernels
