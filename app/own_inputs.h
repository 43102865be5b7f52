/// A user's own Q, K and V, saved as .npy files: checked against the shown problem, or opened as a
/// scene with their shapes.
#pragma once

#include "app/scene.h"

namespace attnscope::app {

/// The scene on these files: sizes are those of Q [B, H, N, d] and K [B, H_kv, N_kv, d], tiles of
/// 16, or of 64 for long sequences. Q, K and V are all needed; dO belongs to a backward pass.
/// invalid_request when one is missing, cannot be read or has a different rank.
Result<Scene> scene_of_files(Scene base, const InputPaths& files);

/// The choice with the sizes of its files, and tiles for them; unchanged if it already has these
/// sizes, or the files cannot be read.
RunSpec with_sizes_of_files(const RunSpec& choice);

/// Nothing when every file has the problem's shape according to its header; else one line, with the
/// file's field.
std::optional<Error> check_files(const RunSpec& choice);

}  // namespace attnscope::app
