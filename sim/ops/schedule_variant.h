/// Variants of an algorithm: what a framework or a kernel does differently from its paper, so that
/// the difference can be counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/score_function.h"

namespace attnscope {

/// How much of standard attention's elementwise work a launch holds. Each level is named by what
/// it runs apart; a launch that the problem has no use for (no mask, no dropout) is left out.
enum class Fusion : std::uint8_t {
  separate,  ///< scale, mask, softmax, dropout: a launch each, forward and backward
  figure2,   ///< one accounting that yields the 40.3 GB of arXiv 2205.14135, Figure 2, which the
             ///< paper does not explain: scale in the product, mask apart in the forward pass,
             ///< dropout apart in both
  pairs,     ///< scale and mask in one launch; softmax and dropout in another
  rows,      ///< all of it in one launch over whole rows
};

std::string_view to_string(Fusion fusion);
std::optional<Fusion> parse_fusion(std::string_view name);

/// Which of an algorithm's variants runs; the default is the algorithm as its paper has it.
struct ScheduleVariant {
  Fusion fusion = Fusion::rows;  ///< standard
  /// standard: the backward pass keeps Q, K and V alone and runs the whole forward pass again
  /// (activation checkpointing).
  bool checkpoint = false;
  /// flash1: what line 2 initialises starts on chip; the first visit of a row tile reads nothing
  /// of O, m, l and dQ.
  bool skip_first_reads = false;
  /// flash1: D = rowsum(dO * O) once, in a launch of its own, and not for every column tile.
  bool d_once = false;
  bool operator==(const ScheduleVariant&) const = default;
};

/// For people: "", or for example "fusion separate", "D once".
std::string to_string(const ScheduleVariant& variant);
/// Nothing when the algorithm has the variant for this score function, else one line.
std::optional<std::string> validate(const ScheduleVariant& variant, std::string_view algorithm,
                                    const ScoreFunction& score);

}  // namespace attnscope
