/// Scenes, pictures and text are written on the file thread; the results appear as answers in the
/// dialog and as notices.
#include <filesystem>
#include <utility>

#include "app/app.h"
#include "app/files/user_state.h"
#include "reference/files/file_writer.h"

namespace attnscope::app {

void App::save_scene_as(const std::string& name, bool replaces) {
  const std::filesystem::path file = scene_file(name);
  Scene saved = named_after(scene, file);
  saved.view = view;
  ++unsaved_;
  files_.post([this, file, replaces, saved = std::move(saved)] {
    std::error_code unknown;
    const bool exists = !replaces && std::filesystem::exists(file, unknown);
    std::optional<Error> error;
    if (!exists) error = save_scene(saved, file);
    return [this, file, exists, error, saved] {
      scene_answer = SceneAnswer{error ? words(*error, Reader::screen) : "", {}, exists};
      if (exists) {
        --unsaved_;
        quit_ = false;
        return;
      }
      show_saved(file.string(), error);
      if (error) return;
      remember(recent_files, file);
      if (saved.view.choice == view.choice) scene = saved;
    };
  });
}

void App::save_text_or_picture(const SaveFile& save) {
  ++unsaved_;
  files_.post([this, save] {
    namespace fs = std::filesystem;
    const std::string path = std::visit([](const auto& file) { return file.path; }, save.file);
    const auto* const text = std::get_if<TextFile>(&save.file);
    std::error_code unknown;
    const bool exists = !save.replaces && fs::exists(path, unknown);
    const fs::path folder = fs::absolute(path, unknown).parent_path();
    std::optional<Error> error;
    if (!fs::is_directory(folder, unknown)) {
      error = invalid_request("{}: folder {} does not exist", path, folder.string());
    } else if (!exists && text != nullptr) {
      error = write_file(text->path, text->text);
    }
    return [this, save, path, exists, error] {
      scene_answer = SceneAnswer{error ? words(*error, Reader::screen) : "", {}, exists};
      const auto* const picture = std::get_if<PanelPicture>(&save.file);
      if (!exists && (error || picture == nullptr)) return show_saved(path, error);
      --unsaved_;
      if (exists) quit_ = false;
      if (!exists) pictures_.push_back(*picture);  // the window draws it
    };
  });
}

void App::save_file(const std::string& path, std::function<std::optional<Error>()> write) {
  ++unsaved_;
  files_.post([this, path, write = std::move(write)] {
    return [this, path, error = write()] { show_saved(path, error); };
  });
}

void App::show_saved(const std::string& path, const std::optional<Error>& error) {
  --unsaved_;
  show_notice(error ? words(*error, Reader::screen) : "saved " + path);
  if (error) quit_ = false;
}

}  // namespace attnscope::app
