/// The boxes of the run's fields (reference/run_fields.h) and of the kernel's switches
/// (kernels/knobs.h): each shows the chosen value, accepts another, and offers usual values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/jobs/background_job.h"
#include "app/scene/field_options.h"
#include "app/screen/field_box.h"
#include "kernels/knobs.h"

namespace attnscope::app {

/// The run whose fields a bar shows and changes: the chosen run, or a race's rival.
enum class EditedRun : std::uint8_t { chosen, rival };

class RunFieldBoxes {
 public:
  explicit RunFieldBoxes(EditedRun edits = EditedRun::chosen) : edits_(edits) {}
  void draw(const Frame& frame, const Rect& box, const RunField& field);
  /// Draws a list of the switch's values, with the run's own value shown.
  void draw_switch(const Frame& frame, const Rect& box, const kernels::Knob& knob) const;
  /// The run that the boxes show and change: the chosen one, or the rival, which exists while its
  /// boxes are drawn.
  const RunSpec& edited(const Frame& frame) const;
  /// Takes the results of lists that were closed while they were computed, so that busy() ends.
  /// Call it once a frame, whether or not the boxes are drawn.
  void collect();
  /// Whether a list is still being computed.
  bool busy() const { return tilings_.busy() || files_.busy(); }

 private:
  /// The state of a box between frames.
  struct State {
    TextDraft draft;
    std::vector<FieldOption> options;  ///< the options of its list, made when the list opens
  };

  /// The list of files of a box, read again each time it opens.
  struct FilesAsked {
    std::string file;  ///< the file whose folder is listed; empty: the current folder
    int opening = 0;
    bool operator==(const FilesAsked&) const = default;
  };

  /// Requests another run.
  void request(const Frame& frame, const RunSpec& run) const;
  void change(const Frame& frame, const RunField& field, const std::string& text) const;
  /// The prefix of the boxes' names.
  std::string name_of(std::string_view key) const;
  void draw_text(const Frame& frame, const Rect& box, const RunField& field);
  void draw_tilings(const Frame& frame, const Rect& box, const RunField& field);
  /// Draws the options of an open list; returns the text of the clicked one.
  std::optional<std::string> clicked_option(const Frame& frame, const DropList& list,
                                            const RunField& field);

  EditedRun edits_;
  std::map<std::string_view, State> states_;
  FilesAsked files_asked_;
  BackgroundJob<FilesAsked, std::vector<FieldOption>> files_;
  /// The tiles of every value of tiling_rule for a choice.
  BackgroundJob<RunSpec, std::vector<std::optional<Tiling>>> tilings_;
};

}  // namespace attnscope::app
