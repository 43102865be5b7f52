/// A pinned run beside the current one.
#pragma once

#include <utility>

#include "app/jobs/background_job.h"
#include "app/jobs/run_comparison.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The button that pins the choice, and, while a choice is pinned, the card that compares it with
/// the current one.
class RunComparisonCard {
 public:
  /// Draws the button with its right edge at `right`.
  void draw_button(const Frame& frame, const Rect& bar, float right);
  static float button_width(const Frame& frame);
  /// Draws the card while it is open.
  void draw(const Frame& frame);
  bool busy() const { return job_.busy(); }

 private:
  bool open_ = false;
  BackgroundJob<std::pair<RunSpec, RunSpec>, RunComparison> job_;
};

}  // namespace attnscope::app
