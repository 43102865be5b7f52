/// The user's choices in order, for undo and redo. Moving the playhead is not a choice; each entry
/// keeps the playhead's last place.
#pragma once

#include <deque>
#include <string>

#include "app/scene/scene.h"

namespace attnscope::app {

/// The choices that undo restores: the scene, the run, the followed head and row, and the race.
struct Choices {
  Scene scene;  ///< as opened
  RunSpec run;
  std::optional<Race> race;
  Index head = 0;
  Index query_row = 0;
  Index O_column = 0;
  Index step = 0;  ///< the playhead's last place
  Index race_tick = 0;

  /// Whether the scene and the view have these choices; the playhead may be elsewhere.
  bool are_those_of(const Scene& opened, const ViewState& view) const;
};

/// The change in `now`, in a few words: "N = 128", "scene flash1-64".
std::string difference(const Choices& before, const Choices& now);

/// Keeps at most kMostKept choices; the oldest are dropped.
class ChoiceHistory {
 public:
  static constexpr std::size_t kMostKept = 200;

  /// Records the playhead. If the choices of the scene and the view differ from the current ones,
  /// appends them, and drops undone choices. Call it every frame.
  void note(const Scene& opened, const ViewState& view);
  /// The choices `by` places after the current ones, or before them if negative; nullptr if there
  /// are none.
  const Choices* at(std::ptrdiff_t by) const;
  /// Makes the choices at(by), which must exist, the current ones.
  void move(std::ptrdiff_t by);
  bool empty() const { return all_.empty(); }  ///< true until the first note()

 private:
  std::deque<Choices> all_;
  std::size_t present_ = 0;
};

}  // namespace attnscope::app
