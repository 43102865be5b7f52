/// A row of the table of fields (run_fields.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reference/run_spec.h"

namespace attnscope {

/// The form of a field in JSON, and of its input on the screen.
enum class FieldKind : std::uint8_t {
  whole,    ///< a whole number between RunField::min and RunField::max
  seed,     ///< an unsigned 64-bit number
  decimal,  ///< a number
  flag,     ///< true or false; an option without a value
  name,     ///< one of RunField::values
  text,     ///< text with its own grammar: a mask, a GPU, a file
  list,     ///< whole numbers, separated by commas
  slopes,   ///< "standard", or numbers, separated by commas
};

/// Whether a field concerns the model, the kernels or both.
enum class FieldTarget : std::uint8_t { both, model, kernel };
constexpr std::array<std::string_view, 3> enum_names(FieldTarget) {
  return {"both", "model", "kernel"};
}

/// The file that the text of a field may name.
enum class FieldFile : std::uint8_t {
  none,
  npy,             ///< an array
  npy_or_pattern,  ///< an array if the text ends in ".npy", else a pattern
  gpu,             ///< a GPU's description, or the name of a shipped one
};

/// One value of a field with a fixed list of names.
struct FieldValue {
  std::string_view name;   ///< in files and on the command line
  std::string_view label;  ///< on the screen
  std::string_view help;   ///< one sentence; may be empty
};

/// Printing and parsing of a field's text.
struct FieldAccess {
  std::string (*print)(const RunSpec&) = nullptr;
  bool (*parse)(std::string_view, RunSpec&) = nullptr;
};

/// The algorithms to which a field applies.
struct FieldScope {
  bool (*holds)(const Algorithm&) = nullptr;  ///< null: the field applies to all
  std::string_view algorithms = {};  ///< in words: "split_kv, which cuts the keys into parts"

  bool has(const Algorithm& algorithm) const { return holds == nullptr || holds(algorithm); }
};

struct RunField {
  std::string_view key;         ///< "seq_len": unique
  std::string_view json;        ///< path of the key's object in a file, "problem"; empty: the root
  std::string_view json_key;    ///< its name in that object
  std::string_view option;      ///< "seq-len"; empty: not on the command line
  std::string_view value_name;  ///< of the option's value, "N"; empty for a flag
  std::string_view label;       ///< on the screen: "N"
  std::string_view help;        ///< description of the field
  std::string_view accepted;    ///< accepted values; empty: accepted_text() derives them
  std::string_view by_rule;     ///< meaning of the unset field: "the GPU's"; empty: never unset
  FieldKind kind = FieldKind::text;
  FieldTarget target = FieldTarget::both;
  FieldFile file = FieldFile::none;
  /// Written to files even with its default value; in a nested object such as "problem/dropout",
  /// only if one of the object's fields differs from its default.
  bool always_stored = false;
  bool repeatable = false;                  ///< its option may be given several times, for a list
  Index min = 0, max = 0;                   ///< of `whole`
  std::span<const FieldValue> values = {};  ///< of `name` and `flag`
  FieldAccess access = {};
  FieldScope scope = {};

  /// Its value in the command line's spelling; "" if it is unset, "true" or "" for a flag.
  std::string print(const RunSpec& spec) const { return access.print(spec); }
  /// Sets the field from the text; "" unsets a field that can be unset. Returns false and leaves
  /// the spec unchanged if the text is not understood. validate() checks whether the value can
  /// work.
  bool parse(std::string_view text, RunSpec& spec) const { return access.parse(text, spec); }
};

}  // namespace attnscope
