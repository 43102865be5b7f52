#include "app/cli/measuring_session.h"

#include <fmt/core.h>

#include "app/cli/option_files.h"
#include "app/report/interruption.h"
#include "reference/check.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

Result<std::shared_ptr<Gpu>> MeasuringSession::gpu() {
  if (gpu_) return gpu_;
  auto gpu = Gpu::open();
  if (gpu) gpu_ = gpu.value();
  return gpu;
}

std::optional<Error> MeasuringSession::check_recording(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const bool is_own = writer_ && written_path_ == path && writer_->is_current();
  if (is_own || (checked_path_ == path && checked_.is_still(path))) return std::nullopt;
  FileStamp seen = FileStamp::of(path);
  ATTNSCOPE_TRY(const auto existing, read_recording(path));
  if (auto taken = check_masks_stay(given_, {"json", "csv"}, existing)) return taken;
  checked_path_ = path;
  checked_ = std::move(seen);
  return std::nullopt;
}

Result<RecordingWriter*> MeasuringSession::open_recording(const fs::path& path,
                                                          const Recording& header) {
  if (writer_ && written_path_ == path && writer_->is_current()) {
    const Recording& own = writer_->recording();
    const bool takes_it = own.device.name == header.device.name && own.build == header.build &&
                          own.protocol == header.protocol;
    if (takes_it) return &*writer_;
  }
  ATTNSCOPE_TRY(writer_, RecordingWriter::open(path, header));
  written_path_ = path;
  return &*writer_;
}

std::optional<Error> MeasuringSession::add(const RecordingRow& row) {
  ATTNSCOPE_CHECK(writer_.has_value(), ==, true);
  const auto lock = writer_->lock();  // a signal waits for the step below, but not for this
  if (!lock) return lock.error();
  std::optional<Error> error;
  save_before_signals(SavedResults::recording, [&] {
    error = writer_->add(row, lock.value());
    if (!error) ++added_;
    return fmt::format(
        "measurements saved in {}: {}; to continue, repeat the command with --resume",
        written_path_.string(), added_);
  });
  return error;
}

}  // namespace attnscope::cli
