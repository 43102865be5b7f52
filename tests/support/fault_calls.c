/* Preloaded into a program under test: makes the n-th call that changes files fail, or ends the
 * program there, according to ATTNSCOPE_FAULT:
 *   fail:N  the call does nothing and fails: the disk is full, or the device has an error
 *   kill:N  the program is killed before the call
 *   cut:N   the program is killed after the call, a write after half of its bytes
 *   read:N  the n-th read of a file fails instead
 *   sync:N  the n-th fsync fails instead
 *   term:N  SIGTERM reaches the program before the call, which follows unless that ends it
 * At a normal end the number of calls is written to the file ATTNSCOPE_FAULT_COUNT. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum action { RUN, FAIL, KILL, CUT };

static atomic_long calls;
static atomic_long reads;
static atomic_long syncs;

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
}

/* Counts a call; kills the program before it if that is requested. */
static enum action next_action(void) {
  const char* fault = getenv("ATTNSCOPE_FAULT");
  const char* colon = fault != NULL ? strchr(fault, ':') : NULL;
  const long call = ++calls;
  if (colon == NULL || fault[0] == 'r' || fault[0] == 's' || atol(colon + 1) != call) return RUN;
  if (fault[0] == 'f') return FAIL;
  if (fault[0] == 'c') return CUT;
  if (fault[0] == 't') {
    syscall(SYS_kill, getpid(), SIGTERM);
    usleep(50000); /* longer than the program takes to end without waiting for it */
    return RUN;
  }
  die();
  return KILL;
}

#define CHANGE(error, ...)                    \
  do {                                        \
    const enum action action = next_action(); \
    if (action == FAIL) {                     \
      errno = (error);                        \
      return -1;                              \
    }                                         \
    const long result = (__VA_ARGS__);        \
    if (action == CUT) die();                 \
    return (int)result;                       \
  } while (0)

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  const int writes = (flags & O_ACCMODE) != O_RDONLY;
  if (!writes) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  CHANGE(ENOSPC, syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

ssize_t read(int file, void* bytes, size_t size) {
  struct stat status;
  const int is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const char* fault = getenv("ATTNSCOPE_FAULT");
  if (is_file && fault != NULL && fault[0] == 'r' && atol(fault + strlen("read:")) == ++reads) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_read, file, bytes, size);
}
ssize_t write(int file, const void* bytes, size_t size) {
  const enum action action = next_action();
  if (action == FAIL) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t written = syscall(SYS_write, file, bytes, action == CUT ? size / 2 : size);
  if (action == CUT) die();
  return written;
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  const enum action action = next_action();
  if (action == FAIL) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t written =
      syscall(SYS_pwrite64, file, bytes, action == CUT ? size / 2 : size, offset);
  if (action == CUT) die();
  return written;
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off_t offset)
    __attribute__((alias("pwrite")));

int fsync(int file) {
  const char* fault = getenv("ATTNSCOPE_FAULT");
  if (++syncs, fault != NULL && fault[0] == 's' && atol(fault + strlen("sync:")) == syncs) {
    errno = EIO;
    return -1;
  }
  CHANGE(EIO, syscall(SYS_fsync, file));
}
int ftruncate(int file, off_t size) {
  CHANGE(EIO, syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off_t size) __attribute__((alias("ftruncate")));
int fchmod(int file, mode_t mode) {
  CHANGE(EPERM, syscall(SYS_fchmod, file, mode));
}
int fchown(int file, uid_t owner, gid_t group) {
  CHANGE(EPERM, syscall(SYS_fchown, file, owner, group));
}
int flock(int file, int operation) {
  CHANGE(ENOLCK, syscall(SYS_flock, file, operation));
}
int mkdir(const char* path, mode_t mode) {
  CHANGE(ENOSPC, syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int link(const char* from, const char* to) {
  CHANGE(EPERM, syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int rename(const char* from, const char* to) {
  CHANGE(EIO, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) {
  CHANGE(EIO, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

__attribute__((destructor)) static void write_count(void) {
  const char* path = getenv("ATTNSCOPE_FAULT_COUNT");
  if (path == NULL) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char digits[20];
  size_t at = sizeof digits;
  const char* fault = getenv("ATTNSCOPE_FAULT");
  const char kind = fault != NULL ? fault[0] : 0;
  for (long rest = kind == 'r'   ? reads
                   : kind == 's' ? syncs
                                 : calls;
       rest > 0 || at == sizeof digits; rest /= 10) {
    digits[--at] = (char)('0' + rest % 10);
  }
  syscall(SYS_write, file, digits + at, sizeof digits - at);
  syscall(SYS_close, file);
}
