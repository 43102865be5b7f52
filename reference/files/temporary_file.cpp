#include "reference/files/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

/// Guards the names below, and every step that changes one.
std::mutex& names_mutex() {
  static auto* mutex = new std::mutex;  // outlives all static objects
  return *mutex;
}

/// The temporary names that exist.
std::set<fs::path>& names() {
  static auto* set = new std::set<fs::path>;
  return *set;
}

/// An unpredictable name in the folder of `target`; short, whatever the target's length.
fs::path unique_name_beside(const fs::path& target) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    static std::uint64_t count = 0;
    number = (static_cast<std::uint64_t>(::getpid()) << 32U) + ++count;
  }
  return target.parent_path() / fmt::format(".attnscope-{:016x}", number);
}

constexpr int kMostNames = 100;

/// Whether this user may rename another file to `target`, which is `old`: in a sticky folder, only
/// the owner of the file or of the folder, or root.
bool may_replace(const fs::path& target, const struct stat& old) {
  struct stat folder {};
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (::stat(parent.c_str(), &folder) != 0 || (folder.st_mode & S_ISVTX) == 0) return true;
  const uid_t user = ::geteuid();
  return user == 0 || user == old.st_uid || user == folder.st_uid;
}

/// Gives the open file the owner, the group and the permissions of `old`, as far as this user may.
/// Never widens access: if the owner cannot be kept, the set-user-ID bit is cleared; if the group
/// cannot be kept, its permissions become those of others.
int take_permissions(int descriptor, const struct stat& old) {
  struct stat own {};
  if (::fstat(descriptor, &own) != 0) return errno;
  const auto give = [&](uid_t owner, gid_t group) {
    return ::fchown(descriptor, owner, group) == 0 || errno == EPERM || errno == EINVAL;
  };
  if (own.st_uid != old.st_uid && !give(old.st_uid, static_cast<gid_t>(-1))) return errno;
  if (own.st_gid != old.st_gid && !give(static_cast<uid_t>(-1), old.st_gid)) return errno;
  if (::fstat(descriptor, &own) != 0) return errno;

  mode_t mode = old.st_mode & 07777U;
  if (own.st_uid != old.st_uid) mode &= ~static_cast<mode_t>(S_ISUID);
  if (own.st_gid != old.st_gid) {
    const mode_t everyone = (mode & S_IRWXO) << 3U;
    mode &= ~static_cast<mode_t>(S_ISGID | (S_IRWXG & ~everyone));
  }
  return (own.st_mode & 07777U) == mode || ::fchmod(descriptor, mode) == 0 ? 0 : errno;
}

}  // namespace

int TemporaryFile::create(const fs::path& target) {
  close();
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  // Renaming alone would not check whether the old file may be written
  if (exists && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) return errno;

  if (exists && !may_replace(target, old)) return EPERM;

  const std::lock_guard lock(names_mutex());
  const mode_t mode = exists ? old.st_mode & 0777U : 0666U;
  for (int attempt = 0; attempt < kMostNames && descriptor_ < 0; ++attempt) {
    name_ = unique_name_beside(target);
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) {
    name_.clear();
    return errno;
  }
  names().insert(name_);
  return exists ? take_permissions(descriptor_, old) : 0;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::exchange(other.name_, {})) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  name_ = std::exchange(other.name_, {});
  return *this;
}

int TemporaryFile::write_at(std::size_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    offset += static_cast<std::size_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int TemporaryFile::sync() const {
  return ::fsync(descriptor_) == 0 ? 0 : errno;
}

int TemporaryFile::replace(const fs::path& target) {
  const std::lock_guard lock(names_mutex());
  if (::rename(name_.c_str(), target.c_str()) != 0) return errno;
  names().erase(name_);
  name_.clear();
  return 0;
}

int TemporaryFile::exchange(const fs::path& target, TemporaryFile& previous) {
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0) {
    if (const int error = take_permissions(descriptor_, old)) return error;
  }
  const std::lock_guard lock(names_mutex());
  const fs::path second = unique_name_beside(target);
  bool linked = previous.is_open() && ::link(target.c_str(), second.c_str()) == 0;
  if (linked && !previous.is_at(second)) {  // another process has just replaced the file
    ::unlink(second.c_str());
    linked = false;
  }
  if (linked) {
    names().insert(second);
    previous.name_ = second;
  }
  if (::rename(name_.c_str(), target.c_str()) != 0) {
    const int error = errno;
    if (linked) previous.remove_name();
    return error;
  }
  names().erase(name_);
  name_.clear();
  if (!linked) previous.close();
  return 0;
}

void TemporaryFile::close() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (name_.empty()) return;
  const std::lock_guard lock(names_mutex());
  remove_name();
}

bool TemporaryFile::is_at(const fs::path& path) const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

void TemporaryFile::remove_name() {
  ::unlink(name_.c_str());
  names().erase(name_);
  name_.clear();
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // a pipe whose owner does not want writers to wait
      pollfd stream{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&stream, 1, -1);
      continue;
    }
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int sync_folder_of(const fs::path& file) {
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that cannot be listed cannot be synced either
  if (folder < 0) return errno == EACCES ? 0 : errno;
  const int error = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  return error == EINVAL || error == ENOTSUP ? 0 : error;  // the file system does not sync folders
}

Error cannot_write(const fs::path& file, int reason) {
  return failed("cannot write {}: {}", one_line(file.string()), std::strerror(reason));
}

void remove_temporary_files_for_exit() {
  names_mutex().lock();  // never unlocked
  for (const fs::path& name : names()) ::unlink(name.c_str());
}

}  // namespace attnscope
