#include "app/cli/measuring_session.h"

#include "reference/check.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

MeasuringSession::SeenFile MeasuringSession::see(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return {path, std::nullopt};
  return {path, time, fs::file_size(path, error)};
}

bool MeasuringSession::SeenFile::is_still(const fs::path& other) const {
  const SeenFile now = see(other);
  return time && path == other && time == now.time && bytes == now.bytes;
}

Result<std::shared_ptr<KernelLibrary>> MeasuringSession::library() {
  if (library_) return library_;
  auto library = KernelLibrary::load();
  if (library) library_ = library.value();
  return library;
}

std::optional<Error> MeasuringSession::check_recording(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) || checked_.is_still(path)) return std::nullopt;
  SeenFile seen = see(path);
  if (const auto existing = read_recording(path); !existing) return existing.error();
  checked_ = std::move(seen);
  return std::nullopt;
}

Result<RecordingWriter*> MeasuringSession::open_recording(const fs::path& path,
                                                          const Recording& header) {
  if (writer_ && written_.is_still(path)) {
    const Recording& own = writer_->recording();
    const bool takes_it = own.device.name == header.device.name && own.build == header.build &&
                          own.protocol == header.protocol;
    if (takes_it) return &*writer_;
  }
  auto writer = RecordingWriter::open(path, header);
  if (!writer) return writer.error();
  writer_ = std::move(writer).value();
  checked_ = written_ = see(path);
  return &*writer_;
}

std::optional<Error> MeasuringSession::add(RecordingRow row) {
  ATTNSCOPE_CHECK(writer_.has_value(), ==, true);
  if (auto error = writer_->add(std::move(row))) {
    writer_.reset();
    return error;
  }
  checked_ = written_ = see(written_.path);
  return std::nullopt;
}

}  // namespace attnscope::cli
