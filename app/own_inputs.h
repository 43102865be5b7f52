/// A user's own Q, K and V, saved as .npy files: read for the problem that is shown, or made into a
/// scene of their shapes.
#pragma once

#include <filesystem>

#include "app/scene.h"

namespace attnscope::app {

/// The scene on these files: sizes are those of Q [B, H, N, d] and K [B, H_kv, N_kv, d], tiles of
/// 16, or of 64 for long sequences. Q, K and V are all needed; dO belongs to a backward pass.
/// invalid_request when one is missing, cannot be read or has another rank.
Result<Scene> scene_of_files(Scene base, const InputFiles& files);

/// The choice with the sizes that its files have, and tiles for them; sizes that no file tells
/// stay, or follow Q. invalid_request when a file cannot be read or has another rank.
Result<Choice> with_sizes_of_files(Choice choice);

/// Nothing when every file has the shape that the problem asks for, by their headers; else one
/// line.
std::optional<Error> check_files(const Choice& choice);

/// Nothing when the problem's tensors are all generated, else the files' values, rounded to its
/// precision. invalid_request as load_inputs() gives it.
Result<std::optional<AttentionInputs>> read_own_inputs(const Choice& choice);

/// Relative paths begin at `folder`.
InputFiles from_folder(InputFiles files, const std::filesystem::path& folder);

}  // namespace attnscope::app
