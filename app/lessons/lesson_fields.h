/// Readers of a lesson file's fields. Every one throws JsonFieldError with the field's path.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "app/lessons/lesson_parts.h"
#include "reference/json/json_document.h"

namespace attnscope::lessons {

/// Rejects a field with any other name, so that a typo is not ignored.
void check_keys(const JsonObject& object, std::initializer_list<std::string_view> known);

/// The field of a run with this option; `path` is the path of the option's name in the file.
const RunField& field_of_option(std::string_view option, const std::string& path);

/// Reads the field's list of values in the member `key`, which must have at least `least`.
std::vector<std::string> read_values(const JsonObject& object, std::string_view key,
                                     const RunField& field, std::size_t least);

RunRecipe read_run(const JsonObject& object, const std::string& name);

/// Reads an expression over these runs.
Expression read_expression(const JsonObject& object, std::string_view key,
                           const std::vector<RunRecipe>& runs);

/// Reads text with expressions in braces.
Text read_text(const JsonObject& object, std::string_view key, const std::vector<RunRecipe>& runs);

Question read_question(const JsonObject& object, const std::vector<RunRecipe>& runs);

}  // namespace attnscope::lessons
