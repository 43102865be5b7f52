/// Reading AttnScope's JSON files: parse errors with positions, schemas with versions, fields with
/// paths.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope {

/// The document in the text, or invalid_request: if it is not JSON (with line and column), if
/// objects and lists are nested too deep, or if the values would take too much memory. `source` is
/// the file's name in the message.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view source);

/// Nothing if a file of this size can be read back, else failed.
std::optional<Error> check_json_size(const std::filesystem::path& path, std::size_t size_bytes);

/// The document in the file; failed if it cannot be read.
Result<nlohmann::json> read_json_file(const std::filesystem::path& path);

/// Nothing if the document's "schema" is `name`/1 up to `name`/`newest_version`, else
/// invalid_request: no schema, another one, or a newer version than this program supports.
std::optional<Error> check_schema(const nlohmann::json& document, std::string_view name,
                                  int newest_version, std::string_view source);

/// The document as text, on one line or indented. Text in it that is not UTF-8 becomes U+FFFD;
/// such text can only come from a user, since files are checked when they are read.
std::string json_dump(const nlohmann::json& document, int indent = -1);

/// Bytes that may not be UTF-8, such as a file's name, as text for a JSON document: bytes that are
/// not UTF-8 become code points U+10FF80 to U+10FFFF, which bytes_of() converts back.
std::string utf8_text(std::string_view bytes);
std::string bytes_of(std::string_view utf8_text);

/// A field that is missing or of the wrong type. Thrown by JsonObject; code that reads a whole
/// document catches it once and returns invalid_request(what()).
class JsonFieldError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <typename... Args>
  explicit JsonFieldError(fmt::format_string<Args...> format, Args&&... args)
      : runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// The fields of one JSON object and the path that leads to it. Refers to the document: keep it
/// alive. Every reader throws JsonFieldError with the field's path.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& value, std::string path);

  bool has(std::string_view key) const;
  const nlohmann::json& at(std::string_view key) const;
  JsonObject object(std::string_view key) const { return {at(key), path_of(key)}; }
  const nlohmann::json& array(std::string_view key) const;

  Index integer(std::string_view key) const;
  double number(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::string string(std::string_view key) const;

  Index integer_or(std::string_view key, Index fallback) const {
    return has(key) ? integer(key) : fallback;
  }
  /// Any unsigned 64-bit number, such as a seed.
  std::uint64_t unsigned_or(std::string_view key, std::uint64_t fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const {
    return has(key) ? boolean(key) : fallback;
  }
  double number_or(std::string_view key, double fallback) const {
    return has(key) ? number(key) : fallback;
  }
  std::string string_or(std::string_view key, std::string fallback) const {
    return has(key) ? string(key) : std::move(fallback);
  }

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;
  const nlohmann::json& value() const { return *value_; }

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace attnscope
