/// Parts of a choice that are typed as text: what a field shows, and what typed text makes of it.
/// The spelling is the command line's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/view_state.h"
#include "reference/result.h"

namespace attnscope::app {

struct TextChoice {
  std::string_view name;  ///< of the field: key of refusals and of named rectangles
  std::string_view help;  ///< what may be typed
  std::string (*text)(const Choice& choice);
  /// Puts the typed text into the choice; one line when it cannot be understood. Whether the choice
  /// can work is check_choice()'s question.
  std::optional<std::string> (*read)(const std::string& typed, Choice& choice);
};

/// Every one of them: mask, softcap, dropout, dropout_seed, key_lengths, sequences, key_sequences,
/// block_mask, splits, sram, l2, seed, q, k, v, do.
std::span<const TextChoice> text_choices();
/// One of them; a programmer's error when there is none of the name.
const TextChoice& text_choice(std::string_view name);

/// "0,20,60".
std::string list_text(std::span<const Index> values);

}  // namespace attnscope::app
