#include "app/files/user_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "reference/files/file_writer.h"
#include "reference/json/json_document.h"

namespace attnscope::app {

using nlohmann::json;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSchema = "attnscope.state";
constexpr int kVersion = 1;
constexpr std::size_t kMostRecent = 10;
constexpr int kLargestWindow = 16384;

int pixels(const JsonObject& object, std::string_view key, int least) {
  const Index value = object.integer(key);
  if (value >= least && value <= kLargestWindow) return static_cast<int>(value);
  throw JsonFieldError("{}: {} is out of range", object.path_of(key), value);
}

UserState state_from(const json& document) {
  const JsonObject root(document, "");
  UserState state;
  if (root.has("window")) {
    const JsonObject window = root.object("window");
    state.window =
        WindowRect{pixels(window, "x", -kLargestWindow), pixels(window, "y", -kLargestWindow),
                   pixels(window, "width", kLeastWidth), pixels(window, "height", kLeastHeight)};
  }
  if (root.has("theme")) {
    state.theme = parse_name<ThemeName>(root.string("theme"));
    if (!state.theme) throw JsonFieldError("theme: not a theme");
  }
  if (root.has("recent")) {
    const json& files = root.at("recent");
    if (!files.is_array()) throw JsonFieldError("recent: not a list of files");
    for (const json& file : files) {
      if (!file.is_string()) throw JsonFieldError("recent: not a list of files");
      state.recent.push_back(bytes_of(file.get<std::string>()));
    }
  }
  if (root.has("scene")) {
    const std::string name = bytes_of(root.string("scene_file"));
    const Result<Scene> scene = parse_scene(root.at("scene").dump(), name);
    if (!scene) throw JsonFieldError("scene: {}", scene.error().message);
    state.scene = scene.value();
  }
  return state;
}

}  // namespace

fs::path user_state_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = fs::path(home) / ".local/state";
  }
  return folder.empty() ? folder : folder / "attnscope" / "state.json";
}

Result<std::optional<UserState>> read_user_state(const fs::path& file) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return std::optional<UserState>();
  ATTNSCOPE_TRY(const json document, read_json_file(file));
  if (auto wrong = check_schema(document, kSchema, kVersion, file.string())) return *wrong;
  try {
    return std::optional(state_from(document));
  } catch (const JsonFieldError& wrong) {
    return invalid_request("{}: {}", file.string(), wrong.what());
  }
}

std::string user_state_text(const UserState& state) {
  json document{{"schema", fmt::format("{}/{}", kSchema, kVersion)}};
  if (state.window) {
    document["window"] = {{"width", state.window->width},
                          {"height", state.window->height},
                          {"x", state.window->x},
                          {"y", state.window->y}};
  }
  if (state.theme) document["theme"] = to_string(*state.theme);
  document["recent"] = json::array();
  for (const std::string& path : state.recent) document["recent"].push_back(utf8_text(path));
  if (state.scene) {
    const Scene& scene = *state.scene;
    document["scene_file"] = utf8_text(scene.path.empty() ? scene.name : scene.path);
    document["scene"] = json::parse(scene_text(scene));
  }
  return json_dump(document, 2) + "\n";
}

std::optional<Error> write_user_state(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return failed("{}: {}", file.parent_path().string(), error.message());
  return write_file(file, text);
}

void remember(std::vector<std::string>& recent, const fs::path& file) {
  std::error_code error;
  const fs::path absolute = fs::absolute(file, error).lexically_normal();
  const std::string path = error ? file.string() : absolute.string();
  std::erase(recent, path);
  recent.insert(recent.begin(), path);
  if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

}  // namespace attnscope::app
