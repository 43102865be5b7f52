/// The keys and their actions, and the card (F1) that lists them.
#pragma once

#include <span>
#include <utility>

#include "app/app.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// Turns key presses into commands and view changes; while text is typed or a list is open,
/// only Ctrl+Q. `had_list`: a list was open in the last frame.
void handle_keys(App& app, bool had_list);

/// Every key, and what it does.
std::span<const std::pair<const char*, const char*>> key_help();

/// Draws the card with every key over the screen. A click, F1 or Escape closes it.
void draw_keys_overlay(const Frame& frame);

}  // namespace attnscope::app
