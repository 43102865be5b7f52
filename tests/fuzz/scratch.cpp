#include "tests/fuzz/scratch.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace attnscope::fuzz {

namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "attnscope-fuzz-XXXXXX").string();
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
