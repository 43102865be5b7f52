/// The keys: what each does, and the card (F1) that says so.
#pragma once

#include "app/ui/frame.h"

namespace attnscope::app {

/// Turns key presses into commands and view changes; while text is typed or a list is open,
/// only Ctrl+Q.
void handle_keys(App& app);

/// The card with every key, over the screen. A click, F1 or Escape closes it.
void draw_keys_overlay(const Frame& frame);

}  // namespace attnscope::app
