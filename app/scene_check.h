/// Whether what a scene points at is there: its head, its row, its column, its step.
#pragma once

#include <optional>
#include <string>

#include "app/scene.h"

namespace attnscope::app {

/// Nothing when the head, query row, column of O and playhead of the scene lie within its problem,
/// else one line that names the file and the field. Says nothing of a choice that cannot work:
/// that is check_choice()'s answer.
std::optional<Error> check_places(const Scene& scene);

/// "900: the last operation is 175" when the playhead lies beyond the run; nothing when it does
/// not, and when the choice cannot work. The tick of a race is known once both have run.
std::optional<std::string> step_out_of_range(const ViewState& view);

}  // namespace attnscope::app
