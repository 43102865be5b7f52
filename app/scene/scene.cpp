#include "app/scene/scene.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/documents/scene_run.h"
#include "app/scene/choice_rules.h"
#include "reference/field_rules.h"
#include "reference/files/file_identity.h"
#include "reference/files/file_writer.h"
#include "reference/json/json_document.h"
#include "reference/json/run_json.h"
#include "reference/message_text.h"
#include "reference/npy.h"
#include "sim/device/assets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

using nlohmann::json;

namespace fs = std::filesystem;

namespace {

/// A one-line text that fits in a bar.
std::string short_text(const JsonObject& object, std::string_view key, std::string fallback) {
  constexpr std::size_t kMostBytes = 200;
  std::string text = object.string_or(key, std::move(fallback));
  if (text.size() > kMostBytes) {
    throw JsonFieldError("{}: a string of {} bytes is too long; use at most {}",
                         object.path_of(key), text.size(), kMostBytes);
  }
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    throw JsonFieldError("{}: control characters; use one line of text", object.path_of(key));
  }
  return text;
}

void read_value(const JsonObject& object, const char* key, bool& value) {
  value = object.boolean_or(key, value);
}

/// Reads a count or an index; `least` is 0, or -1 for a step.
void read_value(const JsonObject& object, const char* key, Index& value, Index least = 0) {
  value = object.integer_or(key, value);
  if (value >= least) return;
  throw JsonFieldError("{}: {} is out of range; use {} or more", object.path_of(key), value, least);
}

void read_value(const JsonObject& object, const char* key, double& speed) {
  speed = object.number_or(key, speed);
  if (speed > 0.0 && speed <= kMaxSpeed) return;
  throw JsonFieldError("{}: {} is out of range; use a number above 0 up to {}", object.path_of(key),
                       speed, kMaxSpeed);
}

template <NamedEnum Enum>
void read_value(const JsonObject& object, const char* key, Enum& value) {
  if (!object.has(key)) return;
  const std::string name = object.string(key);
  const auto parsed = parse_name<Enum>(name);
  if (!parsed) {
    throw JsonFieldError("{}: \"{}\" is not known; use {}", object.path_of(key), printable(name),
                         alternatives(enum_names(Enum{})));
  }
  value = *parsed;
}

constexpr std::string_view kNone = "none";

template <NamedEnum Enum>
void read_value(const JsonObject& object, const char* key, std::optional<Enum>& value) {
  if (!object.has(key)) return;
  value.reset();
  if (object.string(key) != kNone) read_value(object, key, value.emplace());
}

/// A member of the view in a scene file.
struct ViewField {
  const char* object;
  const char* key;
  void (*read)(const JsonObject& object, const char* key, ViewState& view);
  json (*store)(const ViewState& view);
};

template <auto member, auto... least>
constexpr ViewField view_field(const char* object, const char* key) {
  return {object, key,
          [](const JsonObject& from, const char* name, ViewState& view) {
            read_value(from, name, view.*member, least...);
          },
          [](const ViewState& view) {
            const auto& value = view.*member;
            if constexpr (requires { to_string(value); }) {
              return json(to_string(value));
            } else if constexpr (requires { to_string(*value); }) {
              return json(value ? to_string(*value) : kNone);
            } else {
              return json(value);
            }
          }};
}

constexpr ViewField kViewFields[] = {view_field<&ViewState::step, Index{-1}>("playhead", "step"),
                                     view_field<&ViewState::granularity>("playhead", "granularity"),
                                     view_field<&ViewState::speed>("playhead", "speed"),
                                     view_field<&ViewState::query_row>("view", "query_row"),
                                     view_field<&ViewState::O_column>("view", "O_column"),
                                     view_field<&ViewState::head>("view", "head"),
                                     view_field<&ViewState::theme>("view", "theme"),
                                     view_field<&ViewState::presenter>("view", "presenter"),
                                     view_field<&ViewState::explain_tab>("view", "explain"),
                                     view_field<&ViewState::memory_tab>("view", "memory"),
                                     view_field<&ViewState::softmax_tab>("view", "softmax"),
                                     view_field<&ViewState::scores_tab>("view", "scores"),
                                     view_field<&ViewState::timeline_tab>("view", "timeline"),
                                     view_field<&ViewState::ledger_scope>("view", "ledger"),
                                     view_field<&ViewState::chart>("view", "charts"),
                                     view_field<&ViewState::chart_over>("view", "charts_over"),
                                     view_field<&ViewState::enlarged>("view", "enlarged"),
                                     view_field<&ViewState::error_carry>("view", "error_carry")};

/// Reads the rival: a whole run, "rival", or the choice with another algorithm, "against".
void read_race(const JsonObject& race, const std::filesystem::path& folder, ViewState& view) {
  if (race.has("rival")) {
    view.race = Race{run_of_scene(race.object("rival"), folder)};
  } else {
    const std::string algorithm = race.string("against");
    if (find_algorithm(algorithm) == nullptr) {
      throw JsonFieldError("{}: {}", race.path_of("against"),
                           unknown_name_message("algorithm", algorithm, algorithm_names()));
    }
    view.race = Race{rival_of(view.choice, algorithm)};
  }
  read_value(race, "clock", view.race->clock);
  read_value(race, "tick", view.race_tick);
}

/// Stores the run where run_of_scene() reads it.
void store_choice(const RunSpec& run, json& document) {
  const RunSpec choice = from_folder(run, std::filesystem::current_path());
  store_run(choice, document);
  document["round_to_storage"] = choice.round_to_storage;  // a scene's default differs from a run's
}

void read_view(const JsonObject& root, const std::filesystem::path& folder, ViewState& view) {
  for (const ViewField& field : kViewFields) {
    if (root.has(field.object)) field.read(root.object(field.object), field.key, view);
  }
  if (root.has("race")) read_race(root.object("race"), folder, view);
}

Result<Scene> scene_from(Result<json> document, std::string_view name) {
  if (!document) return document.error();
  if (const auto error = check_schema(document.value(), kSceneSchema, kSceneVersion, name))
    return *error;

  Scene scene;
  scene.name = std::filesystem::path(name).stem().string();
  scene.path = name;
  scene.source = std::make_shared<const json>(std::move(document.value()));
  try {
    const JsonObject root(*scene.source, "");
    scene.title = short_text(root, "title", scene.name);
    scene.about = short_text(root, "about", "");
    scene.group = short_text(root, "group", "");
    scene.order = root.integer_or("order", 0);
    const std::filesystem::path folder = std::filesystem::path(name).parent_path();
    scene.view.choice = run_of_scene(root, folder);
    read_view(root, folder, scene.view);
  } catch (const JsonFieldError& error) {
    return invalid_request("{}: {}", name, error.what());
  }
  return scene;
}

}  // namespace

Result<Scene> parse_scene(std::string_view text, std::string_view name) {
  return scene_from(parse_json(text, name), name);
}

Result<fs::path> find_scene(std::string_view name_or_path) {
  Result<fs::path> shipped = find_asset("scenes", name_or_path);
  std::error_code error;
  const fs::path own = scene_file(name_or_path);
  if (!shipped && fs::is_regular_file(own, error)) return own;
  return shipped;
}

Result<Scene> load_scene(std::string_view name_or_path) {
  ATTNSCOPE_TRY(const auto path, find_scene(name_or_path));
  return scene_from(read_json_file(path), path.string());
}

std::string scene_text(const Scene& scene) {
  const ViewState& view = scene.view;
  json document = scene.source ? *scene.source : json::object();
  document["schema"] = fmt::format("{}/{}", kSceneSchema, kSceneVersion);
  document["title"] = scene.title;
  store_choice(view.choice, document);
  for (const auto& [key, text] : {std::pair{"about", &scene.about}, {"group", &scene.group}}) {
    document.erase(key);
    if (!text->empty()) document[key] = *text;
  }
  document.erase("order");
  if (scene.order != 0) document["order"] = scene.order;
  for (const ViewField& field : kViewFields) {
    document[field.object][field.key] = field.store(view);
  }
  document.erase("race");
  if (view.race) {
    document["race"] = {{"clock", to_string(view.race->clock)}, {"tick", view.race_tick}};
    store_choice(view.race->rival, document["race"]["rival"]);
  }
  return json_dump(document, 2) + "\n";
}

const RunField* field_that_reads(const RunSpec& choice, const fs::path& path) {
  const FileIdentity identity = identity_of(path);
  for (const RunField& field : run_fields()) {
    const auto file = file_named_by(field, field.print(choice));
    if (file && identity_of(*file) == identity) return &field;
  }
  return nullptr;
}

fs::path scene_file(std::string_view name) {
  fs::path file(name);
  if (!file.filename().empty() && file.extension() != ".json") file += ".json";
  return file;
}

Scene named_after(Scene scene, const fs::path& file) {
  scene.name = scene.title = file.stem().string();
  scene.path = file.string();
  scene.about.clear();
  scene.group.clear();
  scene.order = 0;
  return scene;
}

std::optional<Error> save_scene(const Scene& scene, const fs::path& path) {
  if (const RunField* field = field_that_reads(scene.view.choice, path)) {
    return invalid_request("the scene would replace '{}', which {} reads; choose another file",
                           printable(path.string()), field_name(field->key));
  }
  const auto shipped = shipped_as(path);
  if (shipped && *shipped != "a scene") {
    return invalid_request("the scene would replace '{}', which is {}; choose another file",
                           printable(path.string()), *shipped);
  }
  return write_file(path, scene_text(scene));
}

std::optional<Error> check_places(const ViewState& view, const RunInfo& run) {
  const struct {
    const char* field;
    Index value, count;
    const char* of;
  } places[] = {{"query_row", view.query_row, run.problem().N, "query rows"},
                {"O_column", view.O_column, run.problem().d, "columns of O"}};
  for (const auto& place : places) {
    if (place.value >= 0 && place.value < place.count) continue;
    return invalid_request("view: {} is {}, but there are {} {}; use 0 to {}", place.field,
                           place.value, place.count, place.of, place.count - 1);
  }
  if (view.step < run.step_count || view.step <= 0) return std::nullopt;
  return invalid_request("playhead: step {}: the last operation is {}", view.step,
                         run.step_count - 1);
}

std::vector<ShippedScene> list_shipped_scenes() {
  std::vector<ShippedScene> scenes;
  for (const std::string& name : list_assets("scenes")) {
    const Result<Scene> scene = load_scene(name);
    if (!scene) continue;
    const Scene& of = scene.value();
    scenes.push_back({name, of.title, of.about, of.group, of.order});
  }
  std::ranges::stable_sort(scenes, {}, &ShippedScene::order);
  return scenes;
}

namespace {

constexpr Index kLongSequence = 512;

/// A tensor that may come from a file.
struct OwnTensor {
  std::string_view field;  ///< the field of the run that names its file
  bool of_keys = false;
};
constexpr OwnTensor kOwnTensors[] = {{"q"}, {"k", true}, {"v", true}, {"do"}};

Error wrong_file(const OwnTensor& tensor, std::string message) {
  return invalid_field(ErrorCode::contradiction, tensor.field, std::move(message));
}

/// Sizes of the tensor's file, with four axes; nothing if it is generated.
Result<std::optional<std::vector<Index>>> shape_of(const RunSpec& choice, const OwnTensor& tensor) {
  const RunField& field = run_field(tensor.field);
  const std::string path = field.print(choice);
  if (path.empty()) return std::optional<std::vector<Index>>();
  const Result<std::vector<Index>> read = read_npy_shape(path);
  if (!read) return wrong_file(tensor, read.error().message);
  std::vector<Index> shape = with_batch_and_heads(read.value());
  if (shape.size() == 4) return std::optional(std::move(shape));
  const std::string_view accepted = tensor.of_keys
                                        ? "[B, H_kv, N_kv, d], [H_kv, N_kv, d] or [N_kv, d]"
                                        : "[B, H, N, d], [H, N, d] or [N, d]";
  return wrong_file(tensor, fmt::format("{}: {} axes; {} takes an array of shape {}", path,
                                        shape.size(), field.label, accepted));
}

}  // namespace

Result<Scene> scene_of_files(Scene base, const InputPaths& files) {
  const RunSpec before = base.view.choice;
  RunSpec& choice = base.view.choice;
  choice.files = files;
  choice = from_folder(std::move(choice), std::filesystem::current_path());
  for (const OwnTensor& tensor : kOwnTensors) {
    ATTNSCOPE_TRY(const auto shape, shape_of(choice, tensor));
    if (shape || tensor.field == "do") continue;
    return invalid_request("{} is missing; a scene of your own needs {}, {} and {}",
                           field_name(tensor.field), field_name("q"), field_name("k"),
                           field_name("v"));
  }
  choice = with_sizes_of_files(choice);
  // Both runs of a race read them, so that like is compared with like
  if (auto& race = base.view.race) race->rival = rival_after(before, choice, race->rival);
  base.view.query_row = base.view.head = base.view.O_column = 0;
  base.view.step = base.view.race_tick = 0;
  base.name = "own";
  base.path.clear();
  base.title = "Your own inputs";
  base.source.reset();
  return base;
}

RunSpec with_sizes_of_files(const RunSpec& choice) {
  RunSpec sized = choice;
  take_sizes_of_files(sized);
  const AttentionProblem& problem = sized.problem;
  if (problem == choice.problem) return choice;
  const bool is_long = std::max(problem.N, problem.N_kv) > kLongSequence;
  sized.set_tiling(is_long ? Tiling{64, 64} : Tiling{16, 16});
  return with_consequences(choice, std::move(sized));
}

std::optional<Error> check_files(const RunSpec& choice) {
  const AttentionProblem& p = choice.problem;
  for (const OwnTensor& tensor : kOwnTensors) {
    ATTNSCOPE_TRY(const auto shape, shape_of(choice, tensor));
    const std::vector<Index> wanted = {p.batch, tensor.of_keys ? p.kv_heads : p.heads,
                                       tensor.of_keys ? p.N_kv : p.N, p.d};
    if (!shape || *shape == wanted) continue;
    const RunField& field = run_field(tensor.field);
    return wrong_file(tensor,
                      fmt::format("{}: shape [{}]; {} of this problem is [{}]", field.print(choice),
                                  fmt::join(*shape, ", "), field.label, fmt::join(wanted, ", ")));
  }
  return std::nullopt;
}

}  // namespace attnscope::app
