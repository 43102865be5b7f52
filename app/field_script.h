/// What `attnscope --bench-fields` does to each field of the screen, as a user would with mouse and
/// keyboard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/view_state.h"

namespace attnscope::app {

struct FieldAction {
  enum class Kind : std::uint8_t {
    type,   ///< types `value` into the field `place`
    pick,   ///< opens the list of the field `place` and clicks the option `value`
    open,   ///< opens the list of the field `place`, looks at it, and closes it
    press,  ///< clicks the widget whose rectangle is named `place`
    look,   ///< sets what keys change: `place` is theme, presenter, large_chart or keys
  };
  Kind kind = Kind::type;
  std::string place;
  std::string value;
  bool refused = false;  ///< the app must refuse the choice; otherwise it must accept it
  bool stays = false;    ///< the refused choice is not dismissed: the next action goes on from it
};

/// A field, and the actions that its frames are charged to. Its first actions may change other
/// fields, where those bring it to the screen or give it something to refuse.
struct FieldScript {
  std::string field;
  std::vector<FieldAction> actions;
};

/// Every field of the top bar and behind "...", the tabs and the looks. `files` are tensors of the
/// scene's problem.
std::vector<FieldScript> field_scripts(const InputPaths& files);

}  // namespace attnscope::app
