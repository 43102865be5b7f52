#include "reference/files/file_identity.h"

#include <fcntl.h>
#include <unistd.h>

namespace attnscope {

namespace fs = std::filesystem;

fs::path follow_links(const fs::path& path, std::error_code& error) {
  constexpr int kMostLinks = 40;  // as in the Linux kernel
  fs::path place = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path folder =
        fs::canonical(place.has_parent_path() ? place.parent_path() : ".", error);
    if (error) return place;
    place = folder / place.filename();
    if (folder.string().starts_with("/proc/")) return place;
    std::error_code is_no_link;
    const fs::path target = fs::read_symlink(place, is_no_link);
    if (is_no_link) return place;
    place = folder / target;  // an absolute target replaces the folder
  }
  error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return place;
}

bool is_written_in_place(const fs::path& path) {
  std::error_code error;
  const fs::path place = follow_links(path, error);
  if (error) return false;
  struct stat found {};
  if (::stat(place.c_str(), &found) != 0 || S_ISDIR(found.st_mode)) return false;
  return !S_ISREG(found.st_mode) || place.string().starts_with("/proc/");
}

FileIdentity identity_of(const fs::path& path) {
  std::error_code error;
  fs::path place = follow_links(path, error);
  if (error) place = fs::absolute(place, error).lexically_normal();
  struct stat found {};
  fs::path rest;
  while (::stat(place.c_str(), &found) != 0) {
    if (!place.has_relative_path()) return {0, 0, rest};
    rest = place.filename() / rest;
    place = place.parent_path();
  }
  return {found.st_dev, found.st_ino, rest};
}

bool FileIdentity::is_below(const FileIdentity& folder) const {
  const bool share_folder = device == folder.device && inode == folder.inode;
  if (!share_folder || folder.rest.empty() || rest == folder.rest) return false;
  return rest.string().starts_with(folder.rest.string());  // folder.rest ends with a separator
}

FileStamp FileStamp::of(const fs::path& path) {
  FileStamp stamp;
  const int descriptor = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) return stamp;
  stamp.descriptor_ = std::shared_ptr<const int>(new int(descriptor), [](const int* open) {
    ::close(*open);
    delete open;
  });
  const bool is_file = ::fstat(descriptor, &stamp.state_) == 0 && S_ISREG(stamp.state_.st_mode);
  if (!is_file) stamp.descriptor_.reset();
  return stamp;
}

bool FileStamp::is_still(const fs::path& path) const {
  struct stat now {};
  return descriptor_ && ::stat(path.c_str(), &now) == 0 && now.st_dev == state_.st_dev &&
         now.st_ino == state_.st_ino && now.st_size == state_.st_size &&
         now.st_mtim.tv_sec == state_.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == state_.st_mtim.tv_nsec;
}

}  // namespace attnscope
