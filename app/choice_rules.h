/// What follows from changing one part of a choice, so that the rest goes on meaning the same.
#pragma once

#include <vector>

#include "app/view_state.h"

namespace attnscope::app {

/// `after` with its standard ALiBi slopes made for its heads, key lengths and packed sequences in
/// the proportions that they had, a block mask where the algorithm takes one and none elsewhere;
/// splits and variants go with the algorithm that has them.
Choice with_consequences(const Choice& before, Choice after);

/// The choice with the second algorithm of a race: in the same tiles, or in the largest that fit
/// where those do not.
Choice rival_of(const Choice& choice, const std::string& rival);

/// The ends of sequences nearest to these that fill `size`: 0, ascending, ..., size.
std::vector<Index> nearest_ends(std::vector<Index> ends, Index size);

/// Ends of `parts` sequences of unequal length packed into `size`: 0, ..., size.
std::vector<Index> packed_ends(Index parts, Index size);

}  // namespace attnscope::app
