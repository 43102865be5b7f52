#include "reference/files/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "reference/message_text.h"

namespace attnscope {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

}  // namespace

Result<FileWriter> FileWriter::open(const fs::path& path) {
  FileWriter writer;
  writer.path_ = path;
  std::error_code error;
  const fs::path target = follow_links(path, error);
  if (error) return cannot_write(path, error.value());
  if (is_written_in_place(target)) {
    writer.stream_ = ::open(target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    writer.owns_stream_ = true;
    if (writer.stream_ < 0) return cannot_write(path, errno);
    return writer;
  }
  if (const int reason = writer.file_.create(target)) return cannot_write(path, reason);
  writer.target_ = target;
  return writer;
}

FileWriter FileWriter::standard_output() {
  FileWriter writer;
  writer.path_ = "standard output";
  writer.stream_ = STDOUT_FILENO;
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      file_(std::move(other.file_)),
      stream_(std::exchange(other.stream_, -1)),
      owns_stream_(std::exchange(other.owns_stream_, false)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

FileWriter::~FileWriter() {
  if (owns_stream_ && stream_ >= 0) ::close(stream_);
}

void FileWriter::flush() {
  if (error_ == 0) error_ = write_all(file_.is_open() ? file_.descriptor() : stream_, buffer_);
  buffer_.clear();
}

bool FileWriter::write(std::string_view piece) {
  const bool is_large = piece.size() >= kBufferBytes;  // a tensor: not copied
  if (is_large || buffer_.size() + piece.size() > kBufferBytes) flush();
  if (!is_large) {
    buffer_ += piece;
  } else if (error_ == 0) {
    error_ = write_all(file_.is_open() ? file_.descriptor() : stream_, piece);
  }
  return error_ == 0;
}

std::optional<Error> FileWriter::finish() {
  flush();
  if (file_.is_open()) {
    if (error_ == 0) error_ = file_.sync();
    if (error_ == 0) error_ = file_.replace(target_);
    if (error_ == 0) error_ = sync_folder_of(target_);
    file_.close();
  } else if (owns_stream_ && ::close(std::exchange(stream_, -1)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (error_ == 0) return std::nullopt;
  return cannot_write(path_, error_);
}

std::optional<Error> write_file(const fs::path& path, std::string_view bytes) {
  ATTNSCOPE_TRY(auto writer, FileWriter::open(path));
  writer.write(bytes);
  return writer.finish();
}

std::error_code check_can_write(const fs::path& path) {
  std::error_code error;
  const fs::path target = follow_links(path, error);
  if (error) return error;
  int reason = 0;
  if (!is_written_in_place(target)) {
    reason = TemporaryFile().create(target);
  } else if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) {
    reason = errno;
  }
  return {reason, std::generic_category()};
}

std::string reason_not_writable(const fs::path& path) {
  if (path.empty()) return "the name is empty";
  std::error_code error;
  if (fs::is_directory(path, error)) return "it is a folder";
  // Let the file system check permissions, read-only mounts and name lengths
  const std::error_code reason = check_can_write(path);
  if (reason == std::errc::no_such_file_or_directory) return "its folder does not exist";
  return reason ? reason.message() : "";
}

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
  // After each sync, leave at least ten times its duration for other work
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
