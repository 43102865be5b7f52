/// JSON of a recording's parts. Internal to kernels/recording.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kernels/recording/recording.h"
#include "reference/json/json_document.h"

namespace attnscope {

inline constexpr std::string_view kRecordingSchema = "attnscope.recording";
inline constexpr int kRecordingVersion = 1;

nlohmann::json header_to_json(const Recording& recording);
nlohmann::json row_to_json(const RecordingRow& row);

/// Each throws JsonFieldError.
Recording recording_from_json(const nlohmann::json& document, std::string_view name);
RecordingRow row_from_json(const JsonObject& object);

}  // namespace attnscope
