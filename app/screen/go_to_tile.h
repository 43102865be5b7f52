/// Key G: a tile of the scores by its indices.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "app/screen/widgets.h"
#include "reference/result.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The entry "i, j" that moves the playhead to the first operation of a tile of the scores: key G.
class GoToTile {
 public:
  void draw(const Frame& frame);

 private:
  void draw_contents(const Frame& frame, const RunInfo& run);

  std::string error_;
  std::array<char, 32> text_{};
};

/// The first operation of the tile that is typed as "i, j": two numbers with a comma or a blank
/// between them. Invalid, in one line, when it is no tile of the run or the mask hides all of it.
Result<Index> first_step_of_tile(const RunInfo& run, std::string_view typed);

}  // namespace attnscope::app
