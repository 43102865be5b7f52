#include "app/cli/row_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// Writes `text` at `begin` of a file of `size` bytes; false when the file is another one by now,
/// or cannot be written.
bool overwrite_end(const std::string& path, std::size_t size, std::size_t begin,
                   std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat found {};
  bool written = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                 static_cast<std::size_t>(found.st_size) == size;
  written = written && ::pwrite(file, text.data(), text.size(), static_cast<off_t>(begin)) ==
                           static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && written;
}

}  // namespace

std::optional<Error> GrowingFile::write(std::size_t begin, std::string_view text) {
  if (path_.empty()) return std::nullopt;
  const std::size_t size = text_.size();
  text_.resize(begin);
  text_ += text;
  const bool grows = begin > 0 && text_.size() >= size;
  if (grows && overwrite_end(path_, size, begin, text)) return std::nullopt;
  return write_text(path_, text_);
}

std::optional<Error> RowFiles::add(const ordered_json& row) {
  if (auto error = add_to_json(row)) return error;
  return add_to_csv(row);
}

std::optional<Error> RowFiles::add_to_json(const ordered_json& row) {
  constexpr std::string_view kEnd = "\n]\n";
  std::string text = json_text(ordered_json::array({row}));
  if (json_.empty()) return json_.write(0, text);
  text.front() = ',';  // in place of the list's bracket
  return json_.write(json_.size() - kEnd.size(), text);
}

std::optional<Error> RowFiles::add_to_csv(const ordered_json& row) {
  if (table_.add(row)) return csv_.write(0, table_.text());
  return csv_.write(csv_.size(), table_.last_line());
}

}  // namespace attnscope::cli
