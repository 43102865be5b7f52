#include "app/lessons/json_path.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/message_text.h"
#include "sim/ops/tensor_info.h"

namespace attnscope::lessons {

using nlohmann::ordered_json;

namespace {

/// The text of a value as a selection spells it.
std::string plain_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_selected(const ordered_json& element, const PathPart& part) {
  return std::ranges::all_of(part.selects, [&](const auto& select) {
    const auto& [key, wanted] = select;
    if (!element.is_object()) return false;
    if (!element.contains(key)) return wanted.empty();
    return plain_text(element.at(key)) == wanted;
  });
}

/// Follows one path through a JSON document.
class Walk {
 public:
  explicit Walk(const Path& path) : path_(path), walked_(path.run) {}

  /// The member or element of `at` that the part names.
  Result<const ordered_json*> enter(const ordered_json& at, const PathPart& part) {
    if (part.key.empty()) return element(at, part);
    if (!at.is_object()) return invalid_request("{}: {} has no keys", path_.text, walked_);
    if (!at.contains(part.key)) {
      // A line of a comparison says why its number is missing
      if (part.key == "recorded" && at.contains("unavailable")) {
        return unavailable("{}", at.at("unavailable").get<std::string>());
      }
      // A tensor that is not listed moved no bytes
      static const ordered_json nothing = {
          {"read_bytes", 0}, {"write_bytes", 0}, {"atomic_bytes", 0}};
      if (walked_.ends_with(".by_tensor") && parse_name<Tensor>(part.key)) {
        walked_ += "." + part.key;
        return &nothing;
      }
      std::vector<std::string> known;
      for (const auto& [key, unused] : at.items()) known.push_back(key);
      return invalid_request("{}: {}", path_.text, unknown_name_message("key", part.key, known));
    }
    walked_ += "." + part.key;
    return &at.at(part.key);
  }

 private:
  Result<const ordered_json*> element(const ordered_json& at, const PathPart& part) {
    if (!at.is_array()) return invalid_request("{}: {} is not a list", path_.text, walked_);
    if (part.selects.empty()) {
      if (part.index < at.size()) return &at[part.index];
      return invalid_request("{}: {} has {} elements", path_.text, walked_, at.size());
    }
    const ordered_json* found = nullptr;
    for (const ordered_json& each : at) {
      if (!is_selected(each, part)) continue;
      if (found != nullptr) {
        return invalid_request("{}: the selection matches several elements of {}", path_.text,
                               walked_);
      }
      found = &each;
    }
    if (found != nullptr) return found;
    return invalid_request("{}: the selection matches no element of {}", path_.text, walked_);
  }

  const Path& path_;
  std::string walked_;
};

Result<Value> value_of(const ordered_json& value, const Path& path) {
  if (value.is_boolean()) return Value(value.get<bool>());
  if (value.is_number()) return Value(value.get<double>());
  if (value.is_string()) return Value(value.get<std::string>());
  return invalid_request("{} is {}, not a value; extend the path", path.text,
                         value.is_array() ? "a list" : "an object");
}

}  // namespace

Result<Value> value_in(const ordered_json& document, const Path& path, std::size_t first) {
  const ordered_json* at = &document;
  Walk walk(path);
  for (std::size_t n = first; n < path.parts.size(); ++n) {
    ATTNSCOPE_TRY(at, walk.enter(*at, path.parts[n]));
  }
  return value_of(*at, path);
}

}  // namespace attnscope::lessons
