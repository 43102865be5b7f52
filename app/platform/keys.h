/// The keys that the app uses, independent of the key names of Dear ImGui's versions.
#pragma once

#include <cstdint>

namespace attnscope::app {

enum class Key : std::uint8_t {
  space,
  left,
  right,
  home,
  end,
  plus,
  minus,
  escape,
  c,
  f,
  g,
  t,
  s,
  o,
  q,
  y,
  z,
  tab,
  enter,
  f1,
  l,
  page_up,
  page_down,
};

/// Whether the key went down in this frame; with `repeat`, also while it is held.
bool key_pressed(Key key, bool repeat = false);

}  // namespace attnscope::app
