/// The consequences of changing one field of the choice on the screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/run_fields.h"

namespace attnscope::app {

/// The choice with one field changed to the typed or clicked text, and the consequences
/// (with_consequences()). A single key length applies to every batch entry, packed queries
/// determine the packed keys, paths become absolute, switches that the kernel then lacks are
/// dropped. Errors as in set_field().
Result<RunSpec> change_field(const RunSpec& before, std::string_view key, std::string_view text);

/// The choice with another algorithm, for the second run of a race.
RunSpec rival_of(const RunSpec& choice, const std::string& algorithm);
/// The rival after a change of the choice: fields that were equal stay equal, except "break".
RunSpec rival_after(const RunSpec& before, const RunSpec& choice, const RunSpec& rival);

/// The ends of sequences nearest to these that fill `size`: 0, ascending, ..., size.
std::vector<Index> nearest_ends(std::vector<Index> ends, Index size);

/// Ends of `parts` sequences of unequal length packed into `size`: 0, ..., size.
std::vector<Index> packed_ends(Index parts, Index size);

}  // namespace attnscope::app
