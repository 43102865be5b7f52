#include "reference/files/growing_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

int GrowingFile::update(Copy& copy) const {
  const int error =
      copy.file.write_at(copy.valid_bytes, std::string_view(text_).substr(copy.valid_bytes));
  if (error != 0) return error;
  const bool is_longer = copy.size_bytes > text_.size();
  if (is_longer && ::ftruncate(copy.file.descriptor(), static_cast<off_t>(text_.size())) != 0) {
    return errno;
  }
  copy.valid_bytes = copy.size_bytes = text_.size();
  return 0;
}

std::optional<Error> GrowingFile::write(std::size_t begin, std::string_view text) {
  if (path_.empty()) return std::nullopt;
  text_.resize(begin);
  text_ += text;
  for (Copy* copy : {&shown_, &spare_}) copy->valid_bytes = std::min(copy->valid_bytes, begin);

  std::error_code broken_path;
  const fs::path target = follow_links(path_, broken_path);
  if (broken_path) return cannot_write(path_, broken_path.value());
  if (!stamp_.is_still(target)) {
    const bool was_written = shown_.file.is_open();
    shown_ = {};
    std::error_code unknown;
    if (was_written && fs::exists(target, unknown)) {
      return failed("cannot write {}: another program has changed it", one_line(path_.string()));
    }
  }
  const auto drop_spare = [&](int reason) {
    spare_ = {};
    return cannot_write(path_, reason);
  };
  if (!spare_.file.is_open()) {
    spare_ = {};
    if (const int reason = spare_.file.create(target)) return drop_spare(reason);
  }
  if (const int reason = update(spare_)) return drop_spare(reason);

  using Clock = std::chrono::steady_clock;
  // After each sync, at least ten times its duration is left for work
  constexpr int kShare = 10;
  const auto start = Clock::now();
  const bool syncs = start >= next_sync_;
  if (syncs) {
    if (const int reason = spare_.file.sync()) return drop_spare(reason);
  }
  if (const int reason = spare_.file.exchange(target, shown_.file)) return drop_spare(reason);
  std::swap(shown_, spare_);
  stamp_ = FileStamp::of(target);
  if (!syncs) return std::nullopt;
  const int reason = sync_folder_of(target);
  const auto end = Clock::now();
  next_sync_ = end + kShare * (end - start);
  if (reason != 0) return cannot_write(path_, reason);
  return std::nullopt;
}

std::optional<Error> GrowingFile::finish() {
  spare_ = {};
  if (!shown_.file.is_open()) return std::nullopt;
  std::error_code broken_path;
  const fs::path target = follow_links(path_, broken_path);
  if (!stamp_.is_still(target)) {
    shown_ = {};
    return failed("cannot write {}: another program has changed it", one_line(path_.string()));
  }
  int reason = broken_path ? broken_path.value() : shown_.file.sync();
  if (reason == 0) reason = sync_folder_of(target);
  shown_ = {};
  if (reason != 0) return cannot_write(path_, reason);
  return std::nullopt;
}

}  // namespace attnscope
