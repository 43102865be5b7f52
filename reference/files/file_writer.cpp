#include "reference/files/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "reference/files/file_identity.h"

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

}  // namespace attnscope
