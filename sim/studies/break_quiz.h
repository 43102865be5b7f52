/// A quiz about a run: one of its operations is missing; on which line of pseudo-code is it?
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/breaks.h"
#include "sim/studies/break_effect.h"

namespace attnscope {

struct BreakQuiz {
  ResolvedRun run;                     ///< the broken one
  BreakEffect effect;                  ///< its visible effect
  std::vector<PassOperation> choices;  ///< each on a different line, in the order of the lines
  std::size_t answer = 0;              ///< index into `choices`

  /// The line of a choice, "O_i = O_i / l_i".
  std::string_view line_text(std::size_t choice) const {
    const PassOperation& operation = choices[choice];
    return effect.pass.launches[operation.launch].pseudo_code[operation.line].text;
  }
};

/// Drops an operation that makes O or a gradient wrong, the same one for the same seed, and offers
/// its line among up to three others. The request's own break is ignored. Errors as in
/// break_effect(); failed if no operation changes anything.
Result<BreakQuiz> break_quiz(const SteppedRequest& request, std::uint64_t seed,
                             const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
