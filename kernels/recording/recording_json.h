/// JSON of a recording's parts. Internal to kernels/recording.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernels/recording/recording.h"
#include "reference/json/json_document.h"

namespace attnscope {

inline constexpr std::string_view kRecordingSchema = "attnscope.recording";
/// The newest version; 2 has the hash of the contents of a user's own tensors.
inline constexpr int kRecordingVersion = 2;

/// The identity of a kernel's run except ResolvedRun::files_hash: the fields of kernels, with the
/// tiling that ran and the block mask's tiles, whatever was requested.
RunSpec identity_of(const ResolvedRun& run);
/// The same and the files' hash as members of a row: "problem", "algorithm", "kernel",
/// "pass", "tiling", "carry", "inputs", and where the run has them "deterministic" and
/// "block_mask".
nlohmann::json run_to_json(const ResolvedRun& run);

/// The block masks of a file's runs: equal ones are one mask, and different ones may have
/// kMostTiles together, the larger of their ones and drawing_steps().
class RecordedMasks {
 public:
  static constexpr Index kMostTiles = Index{1} << 26;

  /// The mask of the run that the object describes, over the tiles that ran. Throws JsonFieldError.
  SharedBlockMask mask_of(const RunSpec& spec, const JsonObject& object);

 private:
  std::map<std::string, SharedBlockMask> drawn_;  ///< by pattern, sequence lengths and tiling
  Index tiles_left_ = kMostTiles;
};

/// The run in a row or a trace. Throws JsonFieldError.
ResolvedRun kernel_run_from_json(const JsonObject& object, RecordedMasks& masks);
/// Whether this version supports every member of the row that may identify its run.
bool knows_fields_of(const nlohmann::json& row);

nlohmann::json header_to_json(const Recording& recording);
nlohmann::json row_to_json(const RecordingRow& row);

/// Each throws JsonFieldError.
Recording recording_from_json(const nlohmann::json& document, std::string_view name);
RecordingRow row_from_json(const JsonObject& object, RecordedMasks& masks);

}  // namespace attnscope
