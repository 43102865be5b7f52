/// Changes every field of the screen in turn, with the mouse and typed text, and notes how long the
/// UI thread worked on each frame: `attnscope_ui_bench --fields`.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/screen/screen.h"

namespace attnscope::app {

/// One action with mouse or keyboard.
struct FieldAction {
  enum class Kind : std::uint8_t {
    type,   ///< types `value` into the field `place`
    pick,   ///< opens the list of the field `place` and clicks the option `value`
    open,   ///< opens the list of the field `place`, waits a few frames, and closes it
    press,  ///< clicks the widget whose rectangle is named `place`
    look,   ///< changes the view as a key does
  };
  Kind kind = Kind::type;
  std::string place;
  std::string value;
  std::function<void(ViewState&)> set = {};  ///< the change that `look` makes
  bool refused = false;  ///< the app must reject the choice; otherwise it must accept it
  bool stays = false;    ///< the rejection is not dismissed; the next action continues from it
};

/// A field, and the actions whose frames are attributed to it. Its first actions may change other
/// fields, to show the field or to make a value invalid.
struct FieldScript {
  std::string field;
  std::vector<FieldAction> actions;
};

/// A script for every field of the top bar and behind "...", the tabs and the appearance settings
/// (tests/bench/field_script.cpp). `files` are tensors of the scene's problem.
std::vector<FieldScript> field_scripts(const InputPaths& files);

class FieldBench {
 public:
  /// Draws a frame, calling `put_input` before ImGui::NewFrame(), and waits until the next may
  /// begin. Returns the UI thread's seconds for the frame; nothing when the window was closed
  /// instead.
  using DrawFrame = std::function<std::optional<double>(const std::function<void()>& put_input)>;

  /// Writes tensors of the scene's problem for the fields that take files; the destructor removes
  /// them.
  FieldBench(App& app, const Screen& screen, DrawFrame draw_frame);
  ~FieldBench();
  FieldBench(const FieldBench&) = delete;
  FieldBench& operator=(const FieldBench&) = delete;

  /// Goes through all fields `runs` times, and back to the opened scene after each field.
  void run(int runs);

  /// A line for each field with its slowest frame in every run; then the slowest frame of all, and
  /// the field that is slowest even in its fastest run.
  std::string report() const;
  /// Seconds of the slowest of all frames.
  double slowest_s() const;
  /// Actions that failed, and choices that were rejected or accepted unexpectedly; empty when the
  /// fields match the script.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void frames(int count);
  bool frames_until(const std::function<bool()>& done, int most);
  std::optional<Rect> find(const std::string& widget) const { return screen_.rects().find(widget); }
  void note_problem(const std::string& what);

  void act(const FieldAction& action);
  void aim(const std::string& widget, bool beside = false);
  void click();
  void press(const std::string& widget);
  void show(const std::string& box);
  void close_lists();
  void settle(bool refused);
  void restore();

  App& app_;
  const Screen& screen_;
  const DrawFrame draw_frame_;
  const std::filesystem::path folder_;
  const RunSpec opened_choice_;
  const std::string scene_path_;
  const std::vector<FieldScript> scripts_;

  std::string doing_ = "opening the scene";
  ImVec2 mouse_{2.0f, 2.0f};
  bool pressed_ = false;
  bool closed_ = false;
  std::vector<std::vector<double>> slowest_s_;  ///< seconds of the slowest frame: [field][run]
  double* charged_ = nullptr;                   ///< the element that frames are attributed to
  std::vector<std::string> problems_;
};

}  // namespace attnscope::app
