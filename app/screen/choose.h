/// How a field of the top bar reads the choice and asks for another one.
#pragma once

#include <functional>
#include <string>

#include "app/ui/frame.h"
#include "app/view_state.h"

namespace attnscope::app {

/// What the fields show: the refused choice while there is one, else the one asked for last.
const Choice& shown_choice(const Frame& frame);

/// Asks for the choice that differs from the shown one as `change` says, with what follows from it.
/// `field` is where it was made.
void choose(const Frame& frame, const std::string& field,
            const std::function<void(Choice&)>& change);

}  // namespace attnscope::app
