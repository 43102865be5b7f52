/// Scenes, which are a problem and a view of it, as files (schema "attnscope.scene/3"; earlier ones
/// are read too). Shipped scenes are in assets/scenes/; users save and open their own.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/scene/view_state.h"
#include "reference/run_fields.h"

namespace attnscope {
struct RunInfo;
}

namespace attnscope::app {

struct Scene {
  std::string name;   ///< the file's stem
  std::string path;   ///< as it was opened, for messages; empty if there is no file
  std::string title;  ///< shown in the top bar
  std::string about;  ///< one sentence for the list of scenes; may be empty
  std::string group;  ///< heading in that list
  Index order = 0;    ///< place in that list, which is in teaching order
  ViewState view;
  std::shared_ptr<const nlohmann::json> source;  ///< as read, so that unknown fields survive
};

/// A scene from its text; `name` names the file in messages. invalid_request with one line and the
/// position for malformed text, another or a newer schema, or a field of the wrong type or value.
Result<Scene> parse_scene(std::string_view text, std::string_view name);

/// The file of a shipped scene by name, NAME.json of the current folder, or a file by path. For an
/// unknown name the message lists the shipped ones.
Result<std::filesystem::path> find_scene(std::string_view name_or_path);
/// Reads the file that find_scene() finds.
Result<Scene> load_scene(std::string_view name_or_path);

/// The file's text: the scene with its view, and every unknown field that it was read with.
std::string scene_text(const Scene& scene);

/// The field of the choice that reads the file at `path`, which no output may replace; or
/// nullptr.
const RunField* field_that_reads(const RunSpec& choice, const std::filesystem::path& path);

/// The file that a scene is saved to under this name: "mine" is mine.json.
std::filesystem::path scene_file(std::string_view name);
/// The scene under the name of this file, as it is saved and opened again.
Scene named_after(Scene scene, const std::filesystem::path& file);

/// Replaces the file as a whole. Nothing on success; invalid_request for a file that the scene
/// reads.
std::optional<Error> save_scene(const Scene& scene, const std::filesystem::path& path);

/// Nothing when the query row, column of O and playhead of the view are within its run, else one
/// line that names the field. The tick of a race is checked after both have run.
std::optional<Error> check_places(const ViewState& view, const RunInfo& run);

/// A shipped scene (assets/scenes), without its view: the fields are those of Scene.
struct ShippedScene {
  std::string name, title, about, group;
  Index order = 0;
};
/// All shipped scenes that can be read, in teaching order.
std::vector<ShippedScene> list_shipped_scenes();

// A user's own Q, K and V, saved as .npy files: checked against the displayed problem, or opened as
// a scene with their shapes.

/// The scene with these files, the sizes of Q [B, H, N, d] and K [B, H_kv, N_kv, d], and tiles of
/// 16, or of 64 for long sequences. Q, K and V are all needed; dO belongs to a backward pass.
/// invalid_request when one is missing, cannot be read or has a different rank.
Result<Scene> scene_of_files(Scene base, const InputPaths& files);

/// The choice with the sizes of its files, and tiles for them; unchanged if it already has these
/// sizes, or the files cannot be read.
RunSpec with_sizes_of_files(const RunSpec& choice);

/// Nothing when every file has the problem's shape according to its header; else one line, with the
/// file's field.
std::optional<Error> check_files(const RunSpec& choice);

}  // namespace attnscope::app
