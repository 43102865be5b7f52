/// The fields of a RunSpec, one row each: what the command line, scenes, recordings, the screen,
/// refusals and the guide know of a field stands here and nowhere else.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/run_spec.h"

namespace attnscope {

/// How a field is written in JSON, and what a box on the screen offers for it.
enum class FieldKind : std::uint8_t {
  whole,    ///< a whole number between RunField::min and RunField::max
  seed,     ///< a whole number of 64 bits without a sign
  decimal,  ///< a number
  flag,     ///< true or false; an option without a value
  name,     ///< one of RunField::values
  text,     ///< text with a grammar of its own: a mask, a GPU, a file
  list,     ///< whole numbers with commas between them
  slopes,   ///< "standard", or numbers with commas between them
};

/// What a field is of.
enum class FieldTarget : std::uint8_t { both, model, kernel };
constexpr std::array<std::string_view, 3> enum_names(FieldTarget) {
  return {"both", "model", "kernel"};
}

/// One value of a field that takes a few names.
struct FieldValue {
  std::string_view name;   ///< in files and on the command line
  std::string_view label;  ///< on the screen
  std::string_view help;   ///< one sentence; may be empty
};

struct RunField {
  std::string_view key;         ///< "seq_len": unique
  std::string_view json;        ///< path of the key's object in a file, "problem"; empty: the root
  std::string_view json_key;    ///< its name there
  std::string_view option;      ///< "seq-len"; empty: not on the command line
  std::string_view value_name;  ///< of the option's value, "N"; empty for a flag
  std::string_view label;       ///< on the screen: "N"
  std::string_view help;        ///< what it is
  std::string_view accepted;    ///< what it takes; empty: accepted_text() says it by kind
  std::string_view by_rule;     ///< what an unset one means: "the GPU's"; empty: it is never unset
  FieldKind kind = FieldKind::text;
  FieldTarget target = FieldTarget::both;
  /// Written to files even with its default; in an object like "problem/dropout", where one of the
  /// object's fields has another value.
  bool always_stored = false;
  Index min = 0, max = 0;                   ///< of `whole`
  std::span<const FieldValue> values = {};  ///< of `name` and `flag`
  /// Its value in the command line's spelling; "" where it is unset, "true" or "" for a flag.
  std::string (*print)(const RunSpec&) = nullptr;
  /// Puts the text into the spec; "" unsets the field, where it can be unset. False when it is not
  /// understood: the spec is as it was. Whether the value can work is validate()'s question.
  bool (*parse)(std::string_view, RunSpec&) = nullptr;
  /// Whether the algorithm has such a choice; null: all have.
  bool (*applies)(const Algorithm&) = nullptr;
  std::string_view applies_to = {};  ///< in words: "split_kv, which cuts the keys into parts"
};

/// Every field, in the order in which they are read: a field follows those that it depends on.
std::span<const RunField> run_fields();
/// Null when there is none of this key.
const RunField* find_field(std::string_view key);
/// One of them; a programmer's error when there is none.
const RunField& run_field(std::string_view key);

/// What the field takes: "a whole number from 1 to 4096".
std::string accepted_text(const RunField& field);
/// The field has its default value.
bool is_default(const RunField& field, const RunSpec& spec);

/// Puts the text into the spec, and into those fields that follow it (keys follow queries where
/// both were equal, KV heads heads, the standard ALiBi slopes the number of heads).
/// not_understood names the field, the text and what is accepted.
std::optional<Error> set_field(const RunField& field, std::string_view text, RunSpec& spec);

/// The error of a field whose text cannot be understood.
Error not_understood(const RunField& field, std::string_view text);
/// Nothing when a whole number is within its limits; out_of_range.
std::optional<Error> check_range(const RunField& field, const RunSpec& spec);
/// Nothing when every field that is not at its default applies to the algorithm; not_applicable.
std::optional<Error> check_applies(const RunSpec& spec);

/// `after` with what follows from the change: fields that the new algorithm does not have go back
/// to their defaults, and one that takes a block mask gets one; key lengths and packed sequences
/// keep their proportions; without dropout its seed goes, and in the forward pass dO.
RunSpec with_consequences(const RunSpec& before, RunSpec after);

/// Puts in the sizes that follow from the input files and the packed sequences. Files that cannot
/// be read say nothing here: loading them says why.
void take_sizes_of_files(RunSpec& spec);

}  // namespace attnscope
