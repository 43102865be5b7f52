#include "kernels/recording/recording.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording_json.h"
#include "reference/files/file_lock.h"
#include "reference/files/file_writer.h"

namespace attnscope {

using nlohmann::json;

bool same_run(const RecordingRow& a, const RecordingRow& b) {
  const bool alike = a.run.problem == b.run.problem && a.run.tiling == b.run.tiling &&
                     a.run.files_hash == b.run.files_hash && a.run.files_hash != kUnknownFiles;
  const bool are_identified = a.unidentified.empty() && b.unidentified.empty();
  return alike && are_identified && identity_of(a.run) == identity_of(b.run);
}

namespace {

/// Nothing if the row can be read back.
std::optional<Error> check_row(const RecordingRow& row) {
  const json written = row_to_json(row);
  try {
    row_without_mask(JsonObject(written, "the row"));
  } catch (const JsonFieldError& error) {
    return failed(error.what());
  }
  return std::nullopt;
}

}  // namespace

RecordingRow readable(RecordingRow row) {
  if (auto unreadable = check_row(row)) {
    row.measurement.reset();
    row.error = std::move(unreadable);
  }
  return row;
}

std::string utc_date() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

namespace {

Result<Recording> from_document(Result<json> document, std::string_view name) {
  if (!document) return document.error();
  if (auto error = check_schema(document.value(), kRecordingSchema, kRecordingVersion, name)) {
    return *error;
  }
  try {
    return recording_from_json(std::move(document).value(), name);
  } catch (const JsonFieldError& error) {
    return invalid_request(error.what());
  }
}

}  // namespace

Result<Recording> parse_recording(std::string_view text, std::string_view name) {
  return from_document(parse_json(text, name), name);
}

Result<Recording> read_recording(const std::filesystem::path& path) {
  return from_document(read_json_file(path), path.string());
}

std::string recording_text(const Recording& recording) {
  // Leave the header's object open: the rows go into it, one per line
  std::string text = json_dump(header_to_json(recording), 2);
  text.resize(text.rfind('}'));
  text.resize(text.find_last_not_of(" \n") + 1);
  text += ",\n  \"rows\": [";
  const char* separator = "\n";
  for (const RecordingRow& row : recording.rows) {
    text += fmt::format("{}    {}", separator, json_dump(row_to_json(row)));
    separator = ",\n";
  }
  text += recording.rows.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return text;
}

std::optional<Error> write_recording(const Recording& recording,
                                     const std::filesystem::path& path) {
  const std::string text = recording_text(recording);
  if (auto error = check_json_size(path, text.size())) return error;
  return write_file(path, text);
}

namespace {

/// Nothing if rows of a run with this header belong in the recording.
std::optional<Error> check_header(const Recording& recording, const Recording& header,
                                  const std::filesystem::path& path) {
  const auto refuse = [&](const char* what, std::string_view theirs, std::string_view ours) {
    return invalid_request("{} was recorded with {} {}, but this is {}; choose another file",
                           path.string(), what, theirs, ours);
  };
  if (recording.device.name != header.device.name) {
    return refuse("the GPU", recording.device.name, header.device.name);
  }
  if (recording.build != header.build) {
    return refuse("the build of commit", recording.build.commit,
                  header.build.commit + (header.build.local_changes ? " with local changes" : ""));
  }
  if (recording.protocol != header.protocol) {
    const Protocol& protocol = recording.protocol;
    return invalid_request(
        "{} was recorded with another protocol ({} cache, {} repeats after {} "
        "warm-ups); choose another file",
        path.string(), to_string(protocol.cache), protocol.repeats, protocol.warm_ups);
  }
  return std::nullopt;
}

}  // namespace

Result<RecordingWriter> RecordingWriter::open(std::filesystem::path path, Recording header) {
  header.rows.clear();
  RecordingWriter writer(std::move(path), std::move(header));
  const auto lock = writer.lock();
  if (!lock) return lock.error();
  std::error_code ignored;
  // Write the empty recording: an invalid path is found before anything is measured
  auto error = std::filesystem::exists(writer.path_, ignored) ? writer.read() : writer.write();
  if (error) return *error;
  return writer;
}

std::optional<Error> RecordingWriter::read() {
  FileStamp stamp = FileStamp::of(path_);
  auto existing = read_recording(path_);
  if (!existing) return existing.error();
  if (auto error = check_header(existing.value(), recording_, path_)) return error;
  recording_ = std::move(existing).value();
  stamp_ = std::move(stamp);
  return std::nullopt;
}

std::optional<Error> RecordingWriter::write() {
  if (auto error = write_recording(recording_, path_)) return error;
  stamp_ = FileStamp::of(path_);
  return std::nullopt;
}

const RecordingRow* RecordingWriter::find_measured(const RecordingRow& run) const {
  const auto& rows = recording_.rows;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
    return row.measurement && same_run(row, run);
  });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<Error> RecordingWriter::add(RecordingRow row, const FileLock& /*lock*/) {
  std::error_code ignored;
  const bool is_changed = !stamp_.is_still(path_) && std::filesystem::exists(path_, ignored);
  if (is_changed) {
    if (auto error = read()) return error;
  }
  if (auto unreadable = check_row(row)) return unreadable;
  const auto same = std::find_if(recording_.rows.begin(), recording_.rows.end(),
                                 [&](const auto& other) { return same_run(other, row); });
  if (same == recording_.rows.end()) {
    recording_.rows.push_back(std::move(row));
  } else if (row.measurement || !same->measurement) {  // a failed repeat does not erase a
                                                       // measurement
    *same = std::move(row);
  }
  return write();
}

}  // namespace attnscope
