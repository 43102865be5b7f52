/// Key G: go to a tile of the scores by its indices.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "app/screen/widgets.h"
#include "reference/result.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// Asks for a tile of the scores, "i, j", and moves the playhead to the tile's first operation.
class GoToTile {
 public:
  void draw(const Frame& frame);

 private:
  void draw_contents(const Frame& frame, const RunInfo& run);

  std::string error_;
  std::array<char, 32> text_{};
};

/// The first operation of the tile that is typed as "i, j": two numbers separated by a comma or a
/// space. A one-line error if the run has no such tile or the mask hides all of it.
Result<Index> first_step_of_tile(const RunInfo& run, std::string_view typed);

}  // namespace attnscope::app
