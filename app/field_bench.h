/// Changes every field of the screen in turn, with the mouse and typed text, and notes how long the
/// UI thread worked on each frame: `attnscope --bench-fields`.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/field_script.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

class FieldBench {
 public:
  /// Goes through all fields `runs` times, and back to the opened scene after each field. Writes
  /// tensors of the scene's problem for the fields that take files; removes them at its end.
  FieldBench(const App& app, int runs);
  ~FieldBench();
  FieldBench(const FieldBench&) = delete;
  FieldBench& operator=(const FieldBench&) = delete;

  /// Input of the frame that begins: call after the window's begin_frame(), before NewFrame().
  /// `rects` are those of the frame before, `busy` whether a panel works on something.
  void steer(App& app, const NamedRects& rects, bool busy);
  /// The UI thread's CPU time of the frame.
  void add(double cpu_s);
  bool finished() const { return run_ >= runs_; }

  /// A line for each field with its slowest frame of every run, and the slowest of all.
  std::string report() const;
  /// What the script could not do, or what was refused or accepted against its expectation; empty
  /// when the fields are what the script says.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Now {
    App& app;
    const NamedRects& rects;
    bool busy;
  };
  /// Does its part in a frame; true when it is done.
  using Step = std::function<bool(const Now&)>;

  void next_field();
  void plan(const FieldAction& action);
  /// Puts the steps that `plan_these` plans before those that wait.
  void plan_first(const std::function<void()>& plan_these);
  void plan_press(const std::string& widget);
  void plan_click();
  void plan_show(const std::string& field);
  void plan_leave(const std::string& field);
  void plan_close_lists();
  void plan_wait(int frames);
  void plan_settled(const FieldAction& action);
  void plan_restore();
  bool aim(const Now& now, const std::string& widget, bool beside);
  void move_mouse();

  std::filesystem::path folder_;
  std::vector<FieldScript> scripts_;
  ViewState opened_;
  std::string scene_path_;
  int runs_ = 0;

  std::deque<Step> steps_;
  int run_ = 0;
  std::size_t field_ = 0;
  bool started_ = false;
  int waited_ = 0;  ///< frames that the step has taken so far
  std::string doing_;
  ImVec2 mouse_{2.0f, 2.0f};
  bool pressed_ = false;
  std::vector<std::vector<double>> slowest_s_;  ///< [field][run]
  std::vector<std::string> problems_;
};

}  // namespace attnscope::app
