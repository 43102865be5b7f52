#include "reference/files/nearest_file.h"

#include <string>
#include <system_error>
#include <vector>

#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

/// The file in the path's folder whose name is most similar; empty if none is similar.
fs::path nearest_file(const fs::path& path) {
  constexpr std::size_t kMostNames = 10000;  // entries of a folder to examine, so that the answer
                                             // is immediate
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) names.push_back(entry->path().filename().string());
    if (names.size() == kMostNames) break;
  }
  const auto nearest = nearest_name(path.filename().string(), names);
  return nearest ? path.parent_path() / *nearest : fs::path();
}

}  // namespace

Error not_a_file(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return invalid_request("{}: not a regular file", path.string());
  Error missing = invalid_request("{}: no such file", path.string());
  missing.accepted = nearest_file(path).string();
  if (!missing.accepted.empty()) {
    missing.message += fmt::format("; did you mean '{}'?", printable(missing.accepted));
  }
  return missing;
}

}  // namespace attnscope
