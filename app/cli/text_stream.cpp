#include "app/cli/text_stream.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "reference/nearest_name.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

Result<TextStream> TextStream::open(const std::string& path) {
  TextStream stream;
  stream.name_ = path == "-" ? "standard output" : printable(path);
  std::error_code error;
  if (path == "-") {
    stream.file_ = stdout;
    return stream;
  }
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
  const bool special = fs::exists(place, error) && !fs::is_regular_file(place, error);
  if (!special) {
    stream.target_ = place;
    stream.temporary_ = fmt::format("{}.writing-{}", place.string(), ::getpid());
  }
  stream.file_ = std::fopen(special ? place.c_str() : stream.temporary_.c_str(), "wb");
  if (stream.file_ != nullptr) return stream;
  stream.temporary_.clear();
  return failed(fmt::format("cannot write {}: {}", stream.name_, std::strerror(errno)));
}

TextStream::TextStream(TextStream&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      name_(std::move(other.name_)),
      error_(other.error_) {}

TextStream::~TextStream() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  std::error_code error;
  if (!temporary_.empty()) fs::remove(temporary_, error);
}

bool TextStream::write(std::string_view piece) {
  if (error_ != 0) return false;
  errno = 0;
  if (std::fwrite(piece.data(), 1, piece.size(), file_) == piece.size()) return true;
  error_ = errno != 0 ? errno : EIO;
  return false;
}

std::optional<Error> TextStream::finish() {
  errno = 0;
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (file_ != stdout && std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (error_ == 0 && !temporary_.empty()) {
    std::error_code error;
    fs::rename(temporary_, target_, error);
    error_ = error.value();
    if (!error) temporary_.clear();
  }
  if (error_ == 0) return std::nullopt;
  return failed(fmt::format("cannot write {}: {}", name_, std::strerror(error_)));
}

}  // namespace attnscope::cli
