/// The rules for every field: how its text is set and checked, and which other fields follow it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reference/run_fields.h"

namespace attnscope {

/// The field with this key; null if there is none.
const RunField* find_field(std::string_view key);
/// The field with this key. It is a programming error if there is none.
const RunField& run_field(std::string_view key);

/// The values that the field accepts: "a whole number from 1 to 4096".
std::string accepted_text(const RunField& field);
/// Whether the field has its default value.
bool is_default(const RunField& field, const RunSpec& spec);

/// Sets the field from the text, and updates the fields that follow it (N_kv follows N, and KV
/// heads follow heads, if they were equal before; the standard ALiBi slopes follow the number of
/// heads). not_understood names the field, the text and what is accepted.
std::optional<Error> set_field(const RunField& field, std::string_view text, RunSpec& spec);

/// The error of a field whose text cannot be understood.
Error not_understood(const RunField& field, std::string_view text);
/// Nothing if a whole number is within its limits, else out_of_range.
std::optional<Error> check_range(const RunField& field, const RunSpec& spec);
/// Nothing if every field that is not at its default applies to the algorithm, else
/// not_applicable.
std::optional<Error> check_applies(const RunSpec& spec);

/// `after` with the consequences of the change: fields that do not apply to the new algorithm are
/// reset; a change of algorithm or pass removes the break; an algorithm that requires a block mask
/// gets one; key lengths and packed sequences keep their proportions when their axis changes;
/// without dropout, its seed is reset; a change to the forward pass clears the file of dO.
RunSpec with_consequences(const RunSpec& before, RunSpec after);

/// Sets the sizes that the input files and the packed sequences determine. Files that cannot be
/// read are ignored here; loading them reports the error.
void take_sizes_of_files(RunSpec& spec);

/// The options with which a command models this run (FieldTarget::model) or runs its kernel, each
/// after a space: " --algorithm flash2 --seq-len 4096 --alibi". Values that a shell would split or
/// expand are quoted.
std::string options_text(const RunSpec& spec, FieldTarget target);

}  // namespace attnscope
