/// The run of a scene file, without its view: for programs without a screen. The whole scene:
/// app/scene/scene.h.
#pragma once

#include <filesystem>

#include "reference/json/json_document.h"
#include "reference/run_spec.h"

namespace attnscope {

inline constexpr std::string_view kSceneSchema = "attnscope.scene";
inline constexpr int kSceneVersion =
    4;  // 2 added "stages", 3 "visit_hidden", 4 the fields of a race's rival

/// The run with its paths made absolute; relative ones start at `folder`.
RunSpec from_folder(RunSpec choice, const std::filesystem::path& folder);

/// The run in the scene's document. Values are rounded as in a kernel unless the scene specifies
/// otherwise; files are named relative to the scene's folder, or absolutely. Throws JsonFieldError.
RunSpec run_of_scene(const JsonObject& root, const std::filesystem::path& folder);

/// The run of a shipped scene, by name, or of a scene file, by path. Errors as in load_scene().
Result<RunSpec> load_scene_run(std::string_view name_or_path);

}  // namespace attnscope
