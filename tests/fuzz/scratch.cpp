#include "tests/fuzz/scratch.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace attnscope::fuzz {

namespace fs = std::filesystem;

namespace {

/// The folder for scratch folders: in memory if there is room, since files are written and synced
/// thousands of times per second.
fs::path parent_folder() {
  constexpr std::uintmax_t kRoomBytes = std::uintmax_t{1} << 30;
  const fs::path memory = "/dev/shm";
  std::error_code error;
  const fs::space_info space = fs::space(memory, error);
  const bool has_room = !error && space.available >= kRoomBytes;
  return has_room && ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory
                                                                : fs::temp_directory_path();
}

class Folder {
 public:
  Folder() {
    std::string name = (parent_folder() / "attnscope-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

}  // namespace

const fs::path& scratch_folder() {
  static const Folder folder;
  return folder.path;
}

}  // namespace attnscope::fuzz
