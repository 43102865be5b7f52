/// A user's own Q, K and V, saved as .npy files: checked for the problem that is shown, or made
/// into a scene of their shapes.
#pragma once

#include "app/scene.h"

namespace attnscope::app {

/// The scene on these files: sizes are those of Q [B, H, N, d] and K [B, H_kv, N_kv, d], tiles of
/// 16, or of 64 for long sequences. Q, K and V are all needed; dO belongs to a backward pass.
/// invalid_request when one is missing, cannot be read or has another rank.
Result<Scene> scene_of_files(Scene base, const InputPaths& files);

/// The choice with the sizes that its files have, and tiles for them; unchanged where they have
/// them already, or the files cannot be read.
RunSpec with_sizes_of_files(const RunSpec& choice);

/// Nothing when every file has the shape that the problem asks for, by their headers; else one
/// line, with the file's field.
std::optional<Error> check_files(const RunSpec& choice);

}  // namespace attnscope::app
