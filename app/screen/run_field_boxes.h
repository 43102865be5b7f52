/// The boxes of the run's fields (reference/run_fields.h) and of the kernel's switches
/// (kernels/knobs.h): each shows the value in the choice, accepts a new one, and offers usual ones.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "app/background_job.h"
#include "app/screen/field_box.h"
#include "app/screen/text_presets.h"
#include "kernels/knobs.h"

namespace attnscope::app {

class RunFieldBoxes {
 public:
  void draw(const Frame& frame, const Rect& box, const RunField& field);
  /// Whether an open list is still being computed.
  bool busy() const { return tilings_.busy() || files_.busy(); }

 private:
  /// The state of a box between frames.
  struct State {
    TextDraft draft;
    std::vector<FieldOption> options;  ///< of its list, made when it opens
  };

  /// The list of files of a box, read anew each time it opens.
  struct FilesAsked {
    std::string file;  ///< lists its folder; empty: the current folder
    int opening = 0;
    bool operator==(const FilesAsked&) const = default;
  };

  void draw_text(const Frame& frame, const Rect& box, const RunField& field);
  void draw_tilings(const Frame& frame, const Rect& box, const RunField& field);
  /// Draws the options of an open list; returns the text of the clicked one.
  std::optional<std::string> clicked_option(const Frame& frame, const DropList& list,
                                            const RunField& field);

  std::map<std::string_view, State> states_;
  FilesAsked files_asked_;
  BackgroundJob<FilesAsked, std::vector<FieldOption>> files_;
  /// The tiles of every value of tiling_rule for a choice.
  BackgroundJob<RunSpec, std::vector<std::optional<Tiling>>> tilings_;
};

/// A list of the switch's values, with the one in the shown choice.
void draw_switch_box(const Frame& frame, const Rect& box, const kernels::Knob& knob);

}  // namespace attnscope::app
