#include "reference/json/run_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/field_rules.h"
#include "reference/message_text.h"

namespace attnscope {

namespace {

using nlohmann::json;

constexpr std::string_view kProblem = "problem";

/// The list as comma-separated text; whole numbers have no decimal point.
std::string list_text(const JsonObject& object, const RunField& field) {
  std::string text;
  for (const json& element : object.array(field.json_key)) {
    const bool whole = field.kind == FieldKind::list;
    if (whole ? !element.is_number_integer() : !element.is_number()) {
      throw JsonFieldError("{}: expected {}, found {}", object.path_of(field.json_key),
                           whole ? "integers" : "numbers", element.type_name());
    }
    text += text.empty() ? "" : ",";
    text +=
        whole ? fmt::format("{}", element.get<Index>()) : fmt::format("{}", element.get<double>());
  }
  return text;
}

/// The object's value of the field, in the command line's spelling.
std::string text_in(const JsonObject& object, const RunField& field) {
  const std::string_view key = field.json_key;
  switch (field.kind) {
    case FieldKind::whole: {
      const Index value = object.integer(key);
      // Older files store 0 if a rule sets the value
      const bool by_rule = value == 0 && field.min > 0 && field.print(RunSpec{}).empty();
      return by_rule ? "" : fmt::format("{}", value);
    }
    case FieldKind::seed:
      return fmt::format("{}", object.unsigned_or(key, 0));
    case FieldKind::decimal:
      return fmt::format("{}", object.number(key));
    case FieldKind::flag:
      return object.boolean(key) ? "true" : "";
    case FieldKind::list:
      return list_text(object, field);
    case FieldKind::slopes:
      if (object.at(key).is_array()) return list_text(object, field);
      break;
    case FieldKind::name:
    case FieldKind::text:
      break;
  }
  return bytes_of(object.string(key));
}

/// A field's text as JSON.
json to_json(const RunField& field, const std::string& text) {
  switch (field.kind) {
    case FieldKind::flag:
      return text == "true";
    case FieldKind::list:
      return json::parse("[" + text + "]");
    case FieldKind::slopes:
      if (text.find(',') != text.npos || text.find_first_of("0123456789") == 0) {
        return json::parse("[" + text + "]");
      }
      return text;
    case FieldKind::name:
    case FieldKind::text:
      return utf8_text(text);
    case FieldKind::decimal:
      return json::parse(text).get<double>();
    case FieldKind::whole:
    case FieldKind::seed:
      break;
  }
  return json::parse(text);
}

/// The object that contains the field; nothing if the document has none.
std::optional<JsonObject> find_object(JsonObject object, std::string_view path) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (!object.has(name)) return std::nullopt;
    object = object.object(name);
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return object;
}

void read_field(const JsonObject& object, const RunField& field, RunSpec& spec) {
  const std::string text = text_in(object, field);
  std::optional<Error> error = set_field(field, text, spec);
  if (!error) error = check_range(field, spec);
  if (!error) return;
  throw JsonFieldError("{}: '{}' is not accepted; use {}", object.path_of(field.json_key),
                       printable(text), accepted_text(field));
}

void check_problem(const JsonObject& object, const AttentionProblem& problem) {
  for (const char* required : {"seq_len", "head_dim"}) object.at(required);
  if (const auto error = validate(problem)) {
    throw JsonFieldError("{}: {}", object.path(), words(*error, Reader::file));
  }
}

json::json_pointer place_of(const RunField& field) {
  return json::json_pointer(
      fmt::format("{}{}/{}", field.json.empty() ? "" : "/", field.json, field.json_key));
}

/// Whether a field is written although it has its default value. A nested object is omitted if all
/// of its fields have their defaults.
bool is_stored_at_default(const RunField& field, const RunSpec& spec) {
  const bool nested = field.json.find('/') != field.json.npos;
  return field.always_stored &&
         (!nested || std::ranges::any_of(run_fields(), [&](const auto& other) {
           return other.json == field.json && !is_default(other, spec);
         }));
}

/// Checks the members of the object at `path`, which ends in '/': "/" or "/problem/".
void check_members(const JsonObject& object, const std::string& path) {
  std::vector<std::string> known, inner;  // names of fields, and of objects with fields
  for (const RunField& field : run_fields()) {
    const std::string place = place_of(field).to_string();
    if (field.json_key.empty() || !place.starts_with(path)) continue;
    const std::string rest = place.substr(path.size());
    (rest.find('/') == rest.npos ? known : inner).push_back(rest.substr(0, rest.find('/')));
  }
  known.insert(known.end(), inner.begin(), inner.end());
  for (const auto& [name, value] : object.value().items()) {
    if (std::ranges::find(known, name) == known.end()) {
      const auto nearest = nearest_name(name, known);
      throw JsonFieldError("{} is not a field of a run{}", printable(object.path_of(name)),
                           nearest ? "; did you mean " + *nearest + "?" : "");
    }
    if (std::ranges::find(inner, name) != inner.end()) {
      check_members(object.object(name), path + name + "/");
    }
  }
}

}  // namespace

void store_run(const RunSpec& spec, json& document) {
  if (document.is_null()) document = json::object();
  for (const RunField& field : run_fields()) {
    if (field.json_key.empty()) continue;
    const std::string text = field.print(spec);
    if (!text.empty() && (!is_default(field, spec) || is_stored_at_default(field, spec))) {
      document[place_of(field)] = to_json(field, text);
      continue;
    }
    const auto parent = place_of(field).parent_pointer();
    if (!document.contains(parent)) continue;
    document[parent].erase(std::string(field.json_key));
    if (document[parent].empty() && !parent.empty()) {
      document[parent.parent_pointer()].erase(parent.back());
    }
  }
}

RunSpec run_from_json(const JsonObject& root, const RunSpec& defaults, std::string_view left_out) {
  RunSpec spec = defaults;
  for (const RunField& field : run_fields()) {
    const bool is_read = !field.json_key.empty() && (left_out.empty() || field.json != left_out);
    if (!is_read) continue;
    const auto object = find_object(root, field.json);
    if (object && object->has(field.json_key)) read_field(*object, field, spec);
  }
  check_problem(root.object(kProblem), spec.problem);
  return spec;
}

void check_run_members(const JsonObject& root) {
  check_members(root, "/");
}

json problem_to_json(const AttentionProblem& problem) {
  json document;
  store_run({.problem = problem}, document);
  return document.at(kProblem);
}

nlohmann::ordered_json tiling_to_json(const Tiling& tiling) {
  return {{"Br", tiling.Br}, {"Bc", tiling.Bc}};
}

Tiling tiling_from_json(const JsonObject& object) {
  const Tiling tiling{object.integer("Br"), object.integer("Bc")};
  if (const auto error = validate(tiling)) {
    throw JsonFieldError("{}: {}", object.path(), words(*error, Reader::file));
  }
  return tiling;
}

}  // namespace attnscope
