/// The state that the app remembers from one start to the next: window, theme, scene, recent files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/platform/window.h"
#include "app/scene/scene.h"

namespace attnscope::app {

struct UserState {
  std::optional<WindowRect> window;
  std::optional<ThemeName> theme;
  std::optional<Scene> scene;       ///< as the user left it
  std::vector<std::string> recent;  ///< files, the newest first
};

/// $XDG_STATE_HOME/attnscope/state.json, else ~/.local/state/attnscope/state.json; empty if
/// neither is set to an absolute path.
std::filesystem::path user_state_file();

/// The remembered state; nothing before the first start. invalid_request or failed if the file
/// is damaged: the app then starts as if there were none, and reports this.
Result<std::optional<UserState>> read_user_state(const std::filesystem::path& file);

/// The text of the file.
std::string user_state_text(const UserState& state);
/// Replaces the whole file with this text and creates its folder.
std::optional<Error> write_user_state(const std::filesystem::path& file, const std::string& text);

/// Puts a file first in the list, which keeps the ten newest.
void remember(std::vector<std::string>& recent, const std::filesystem::path& file);

}  // namespace attnscope::app
