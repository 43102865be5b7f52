#include "reference/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "reference/files/file_identity.h"
#include "reference/files/temporary_file.h"
#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::microseconds kRetry{500};
constexpr std::chrono::microseconds kPause{1000};  ///< longer than kRetry

}  // namespace

Result<FileLock> FileLock::take(const fs::path& file, std::chrono::milliseconds longest) {
  std::error_code error;
  const fs::path target = follow_links(file, error);
  if (error) return cannot_write(file, error.value());
  const int descriptor = ::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) {
    return failed(
        "cannot write {}: its folder is not readable, so it cannot be locked; make the folder "
        "readable or choose another",
        one_line(file.string()));
  }
  if (descriptor < 0) return cannot_write(file, errno);
  FileLock lock(descriptor);

  const auto end = std::chrono::steady_clock::now() + longest;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const bool has_no_locks = errno == ENOLCK || errno == ENOSYS || errno == ENOTSUP;
    if (has_no_locks) return lock;
    if (errno != EWOULDBLOCK && errno != EINTR) return cannot_write(file, errno);
    if (std::chrono::steady_clock::now() >= end) {
      return failed(
          "cannot write {}: another process holds a lock on its folder (waited {} s); end that "
          "process, or choose another folder",
          one_line(file.string()), std::chrono::duration<double>(longest).count());
    }
    std::this_thread::sleep_for(kRetry);
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  std::this_thread::sleep_for(kPause);  // a waiting process gets the next turn
}

}  // namespace attnscope
