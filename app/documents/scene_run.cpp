#include "app/documents/scene_run.h"

#include <nlohmann/json.hpp>

#include "reference/field_rules.h"
#include "reference/json/run_json.h"
#include "reference/run_fields.h"
#include "sim/device/assets.h"

namespace attnscope {

RunSpec from_folder(RunSpec choice, const std::filesystem::path& folder) {
  for (const RunField& field : run_fields()) {
    if (field.file == FieldFile::none) continue;
    const std::string text = field.print(choice);
    if (names_path(field, text)) field.parse((folder / text).lexically_normal().string(), choice);
  }
  return choice;
}

RunSpec run_of_scene(const JsonObject& root, const std::filesystem::path& folder) {
  root.at("algorithm");
  RunSpec defaults;
  defaults.round_to_storage = true;
  RunSpec choice = run_from_json(root, defaults);
  choice.set_tiling(tiling_from_json(root.object("tiling")));
  choice = from_folder(std::move(choice), folder);

  // Older scenes may make choices that their algorithm or pass does not offer
  if (choice.pass == PassKind::forward) choice.files.dO.clear();
  return with_consequences(choice, choice);
}

Result<RunSpec> load_scene_run(std::string_view name_or_path) {
  ATTNSCOPE_TRY(const auto path, find_asset("scenes", name_or_path));
  ATTNSCOPE_TRY(const nlohmann::json document, read_json_file(path));
  if (auto error = check_schema(document, kSceneSchema, kSceneVersion, path.string())) {
    return *error;
  }
  try {
    return run_of_scene(JsonObject(document, ""), path.parent_path());
  } catch (const JsonFieldError& error) {
    return invalid_request("{}: {}", path.string(), error.what());
  }
}

}  // namespace attnscope
