/// The computation of a problem's scores as text: scale, cap, bias, mask and dropout in the order
/// in which every algorithm applies them (reference/score_function.h). Draws nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ops/tile_op.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// "mask(5 · tanh(scale · Q Kᵀ / 5) - 0.25 · |k - q|)" around the scaled product, with the numbers
/// of head `head`, up to the step `last`: scores, soft_cap, alibi or mask.
std::string score_formula(const AttentionProblem& problem, Index head, std::string_view product,
                          OpKind last = OpKind::mask);

/// How S in HBM relates to the scores that the softmax takes.
enum class StoredScores : std::uint8_t {
  final_values,  ///< the same, or S is not kept
  unmasked,      ///< the same for visible keys; hidden ones still have a score
  unfinished,    ///< another value: scale, cap or bias come in a later launch
};
StoredScores stored_scores(const Snapshot& snapshot);

/// The scores panel's headline: which scores its cells are, and what follows, with dropout.
std::vector<std::string> scores_headline(const Snapshot& snapshot);

}  // namespace attnscope::app
