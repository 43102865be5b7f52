/// JSON of a recording's parts. Internal to kernels/recording.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "kernels/recording/recorded_run.h"
#include "kernels/recording/recording_row.h"
#include "reference/json/json_document.h"

namespace attnscope {

inline constexpr std::string_view kRecordingSchema = "attnscope.recording";
/// The newest version; version 2 adds the hashes of a user's own tensors and block masks, and
/// switches of kernels.
inline constexpr int kRecordingVersion = 2;

nlohmann::json header_to_json(const Recording& recording);
nlohmann::json row_to_json(const RecordingRow& row);

/// Each throws JsonFieldError.
Recording recording_from_json(nlohmann::json document, std::string_view name);
/// The row without its source.
RecordingRow row_from_json(const JsonObject& object, RecordedMasks& masks);
/// The same without the block mask.
RecordingRow row_without_mask(const JsonObject& object);

}  // namespace attnscope
