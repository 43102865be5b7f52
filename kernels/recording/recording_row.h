/// The contents of a recording (recording.h): its header and its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/recording/build_info.h"
#include "kernels/recording/device_info.h"
#include "kernels/recording/measurement.h"
#include "reference/run_spec.h"

namespace attnscope {

/// One run, and its measurement or the reason why there is none.
struct RecordingRow {
  /// One pass of a kernel, run.asked.kernel. Its tiling is 0 x 0 if none could be chosen.
  ResolvedRun run;
  std::optional<Measurement> measurement;
  std::optional<Error> error;  ///< set if there is no measurement: failed or unavailable
  std::shared_ptr<const nlohmann::json> source;  ///< as read, so that unknown fields survive
  /// The part of the run that this version cannot identify, in words that continue "recorded with":
  /// settings unknown to it, or a block mask whose file has changed. Such a row is kept as it was
  /// read and equals no other row. Empty in all other rows.
  std::string unidentified;
};

/// ResolvedRun::files_hash of a row that was read without one.
inline constexpr std::uint64_t kUnknownFiles = ~std::uint64_t{0};

struct Recording {
  DeviceInfo device;
  BuildInfo build;
  std::string date;  ///< UTC, ISO 8601: "2026-01-31T12:34:56Z"
  Protocol protocol;
  std::vector<RecordingRow> rows;
  std::shared_ptr<const nlohmann::json> source;
};

}  // namespace attnscope
