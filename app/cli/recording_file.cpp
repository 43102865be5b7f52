#include "app/cli/recording_file.h"

#include "reference/check.h"

namespace attnscope::cli {

namespace {

namespace fs = std::filesystem;

/// What changes when a file is written.
struct Stamp {
  fs::file_time_type time;
  std::uintmax_t bytes = 0;

  bool operator==(const Stamp&) const = default;
};

std::optional<Stamp> stamp_of(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return std::nullopt;
  const auto bytes = fs::file_size(path, error);
  if (error) return std::nullopt;
  return Stamp{time, bytes};
}

struct ReadFile {
  fs::path path;
  std::optional<Stamp> stamp;

  bool is_still(const fs::path& other) const {
    return stamp && path == other && stamp == stamp_of(other);
  }
};

/// The file that was last found to be a recording.
ReadFile& checked_file() {
  static ReadFile file;
  return file;
}

struct OpenFile {
  ReadFile file;
  RecordingWriter writer;

  bool takes(const Recording& header) const {
    const Recording& own = writer.recording();
    return own.device.name == header.device.name && own.build == header.build &&
           own.protocol == header.protocol;
  }
};

std::optional<OpenFile>& open_file() {
  static std::optional<OpenFile> file;
  return file;
}

}  // namespace

std::optional<Error> check_recording_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) || checked_file().is_still(path)) return std::nullopt;
  const auto stamp = stamp_of(path);
  if (const auto existing = read_recording(path); !existing) return existing.error();
  checked_file() = {path, stamp};
  return std::nullopt;
}

Result<RecordingWriter*> open_recording_file(const fs::path& path, const Recording& header) {
  auto& open = open_file();
  if (open && open->file.is_still(path) && open->takes(header)) return &open->writer;
  auto writer = RecordingWriter::open(path, header);
  if (!writer) return writer.error();
  open.emplace(OpenFile{{path, stamp_of(path)}, std::move(writer).value()});
  checked_file() = open->file;
  return &open->writer;
}

std::optional<Error> add_to_recording_file(RecordingRow row) {
  auto& open = open_file();
  ATTNSCOPE_CHECK(open.has_value(), ==, true);
  if (auto error = open->writer.add(std::move(row))) {
    open.reset();
    return error;
  }
  open->file.stamp = stamp_of(open->file.path);
  checked_file() = open->file;
  return std::nullopt;
}

}  // namespace attnscope::cli
