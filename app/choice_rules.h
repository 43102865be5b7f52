/// What follows from changing one field of the choice on the screen.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "reference/run_fields.h"

namespace attnscope::app {

/// The choice with one field changed, as it was typed or clicked, and with what follows from it
/// (with_consequences()). One key length is meant for every batch entry, packed queries bring their
/// keys, paths become absolute. not_understood as set_field() gives it.
Result<RunSpec> change_field(const RunSpec& before, std::string_view key, std::string_view text);

/// Relative paths begin at `folder`.
InputPaths from_folder(InputPaths files, const std::filesystem::path& folder);

/// The ends of sequences nearest to these that fill `size`: 0, ascending, ..., size.
std::vector<Index> nearest_ends(std::vector<Index> ends, Index size);

/// Ends of `parts` sequences of unequal length packed into `size`: 0, ..., size.
std::vector<Index> packed_ends(Index parts, Index size);

}  // namespace attnscope::app
