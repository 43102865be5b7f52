/// The run of a recording's row: its identity, and its JSON. Internal to kernels/recording, and to
/// traces.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "reference/json/json_document.h"
#include "reference/run_spec.h"

namespace attnscope {

/// Member of a row: the hash of a block mask from a file.
inline constexpr std::string_view kMaskHash = "block_mask_hash";

/// The identity of a kernel's run except ResolvedRun::files_hash: the fields that apply to kernels,
/// with the tiling actually used and the block mask's tiles, whatever was requested.
RunSpec identity_of(const ResolvedRun& run);
/// The identity and the files' hash as members of a row: "problem", "algorithm", "kernel", "pass",
/// "tiling", "carry", "inputs" and, if the run has them, "deterministic", "block_mask" and, for a
/// mask from a file, the hash of its tiles.
nlohmann::json run_to_json(const ResolvedRun& run);

/// The block masks of a file's runs. Equal masks are drawn once. Different masks may have at most
/// kMostTiles in total; each counts as its number of ones or its drawing_steps(), whichever is
/// larger.
class RecordedMasks {
 public:
  static constexpr Index kMostTiles = Index{1} << 26;

  /// The mask of the row's run, over the tiles that were used. An error's words continue "recorded
  /// with": the mask cannot be drawn, or differs from the one used. Throws JsonFieldError for a row
  /// that is not a recording's.
  Result<SharedBlockMask> mask_of(const RunSpec& spec, const JsonObject& row);

 private:
  /// The mask, drawn on first use, or the reason why there is none.
  const Result<SharedBlockMask>& drawn(const RunSpec& spec, const Tiling& tiling);

  /// The masks drawn so far, by pattern, sequence lengths and tiling.
  std::map<std::string, Result<SharedBlockMask>> drawn_;
  Index tiles_left_ = kMostTiles;
};

/// The run in a row or a trace, without its block mask. Throws JsonFieldError.
ResolvedRun kernel_run_from_json(const JsonObject& object);
/// The part of the object's run that this version cannot identify, for RecordingRow::unidentified.
/// `others` are members that do not describe the run.
std::string unidentified_part(const nlohmann::json& object,
                              std::span<const std::string_view> others);

}  // namespace attnscope
