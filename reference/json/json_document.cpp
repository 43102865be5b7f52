#include "reference/json/json_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope {

using nlohmann::json;

namespace {

/// Larger files cannot be scenes, device descriptions or recordings.
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 25;

/// No AttnScope document is nested more deeply; a deeper one would overflow the stack when copied
/// or written.
constexpr std::size_t kMaxDepth = 64;

/// No AttnScope file needs a larger document: even a file of one-digit numbers takes only 8 bytes
/// of memory per byte, and recordings and traces take less.
constexpr std::size_t kMaxDocumentBytes = 9 * kMaxFileBytes;

/// Approximate bytes that a value takes in memory, without its elements.
std::size_t memory_bytes(const json& value) {
  constexpr std::size_t kString = 48, kList = 32, kObject = 64;
  if (value.is_string()) return sizeof(json) + kString + value.get_ref<const std::string&>().size();
  return sizeof(json) + (value.is_array() ? kList : value.is_object() ? kObject : 0);
}
constexpr std::size_t kMemberBytes = 80;  ///< of an object, without its value

struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// Line and column of a byte offset, both counted from 1.
Place place_of(std::string_view text, std::size_t offset) {
  Place place;
  for (std::size_t i = 0; i < std::min(offset, text.size()); ++i) {
    ++place.column;
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    }
  }
  return place;
}

/// Builds the document from the parser's events. Stops if objects and lists are nested deeper than
/// kMaxDepth or the document exceeds kMaxDocumentBytes. Reports errors without exceptions.
class DocumentBuilder {
 public:
  enum class Failure { none, too_deep, too_large, number_too_large, syntax };

  /// `document` receives the document, and outlives the builder.
  explicit DocumentBuilder(json& document) : document_(document) {}

  Failure failure() const { return failure_; }
  /// The byte offset of the syntax error, counted from 0.
  std::size_t failure_offset() const { return failure_offset_; }

  // The parser's events; returning false ends the parsing
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t& /*value*/) { return false; }  // does not occur in JSON text
  bool start_object(std::size_t /*size*/) { return open(json::object()); }
  bool start_array(std::size_t /*size*/) { return open(json::array()); }
  bool key(std::string& name) {
    document_bytes_ += kMemberBytes + name.size();
    member_ = &(*open_.back())[std::move(name)];
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) {
    constexpr int kNumberOverflow = 406;  // of json::out_of_range
    failure_ = error.id == kNumberOverflow ? Failure::number_too_large : Failure::syntax;
    failure_offset_ = position == 0 ? 0 : position - 1;
    return false;
  }

 private:
  /// Stores the value as the document, an element or a member, and returns a reference to it.
  json& store(json value) {
    json* const parent = open_.empty() ? nullptr : open_.back();
    if (parent != nullptr && parent->is_array()) {
      parent->push_back(std::move(value));
      return parent->back();
    }
    return (parent == nullptr ? document_ : *member_) = std::move(value);
  }

  bool add(json value) {
    if (!count(value)) return false;
    store(std::move(value));
    return true;
  }

  /// Adds the value's size; false if this makes the document too large.
  bool count(const json& value) {
    document_bytes_ += memory_bytes(value);
    if (document_bytes_ <= kMaxDocumentBytes) return true;
    failure_ = Failure::too_large;
    return false;
  }

  bool open(json value) {
    if (open_.size() == kMaxDepth) {
      failure_ = Failure::too_deep;
      return false;
    }
    if (!count(value)) return false;
    open_.push_back(&store(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  json& document_;
  std::vector<json*> open_;  ///< objects and lists that are still open, outermost first
  json* member_ = nullptr;   ///< the value of the innermost object's last key
  std::size_t document_bytes_ = 0;
  Failure failure_ = Failure::none;
  std::size_t failure_offset_ = 0;
};

}  // namespace

Result<json> parse_json(std::string_view text, std::string_view source) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return invalid_request("{}: the file is empty; expected a JSON document", source);
  }
  json document;
  DocumentBuilder builder(document);
  if (json::sax_parse(text, &builder)) return document;

  if (builder.failure() == DocumentBuilder::Failure::too_deep) {
    return invalid_request("{}: objects and lists are nested more than {} deep", source, kMaxDepth);
  }
  if (builder.failure() == DocumentBuilder::Failure::too_large) {
    return invalid_request("{}: its values would take more than {} bytes of memory", source,
                           kMaxDocumentBytes);
  }
  if (builder.failure() == DocumentBuilder::Failure::number_too_large) {
    return invalid_request("{}: a number is too large for JSON", source);
  }
  const std::size_t offset = builder.failure_offset();
  const Place place = place_of(text, offset);
  const char* reason = offset >= text.size() ? "the document ends too early" : "not valid JSON";
  return invalid_request("{}:{}:{}: {}", source, place.line, place.column, reason);
}

std::string json_dump(const json& document, int indent) {
  return document.dump(indent, ' ', false, json::error_handler_t::replace);
}

namespace {

/// Length of the valid UTF-8 character at the beginning; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  const bool is_too_small = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = first == 0xf4 && byte(1) >= 0x90;
  return is_too_small || is_surrogate || is_too_large ? 0 : length;
}

/// The first three bytes of U+10FF80 to U+10FFBF and of U+10FFC0 to U+10FFFF; the fourth has the
/// six low bits of the byte.
constexpr std::string_view kEscapedLow = "\xf4\x8f\xbe";
constexpr std::string_view kEscapedHigh = "\xf4\x8f\xbf";

}  // namespace

std::string utf8_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    std::size_t valid = 0;
    while (valid < bytes.size()) {
      const std::size_t length = character_length(bytes.substr(valid));
      if (length == 0) break;
      valid += length;
    }
    text += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    const auto byte = static_cast<unsigned char>(bytes.front());
    text += byte < 0xc0 ? kEscapedLow : kEscapedHigh;
    text += static_cast<char>(0x80 | (byte & 0x3f));
    bytes.remove_prefix(1);
  }
  return text;
}

std::string bytes_of(std::string_view utf8_text) {
  constexpr std::size_t kLength = 4;  // of an escaped byte
  std::string bytes;
  while (!utf8_text.empty()) {
    const std::string_view prefix = utf8_text.substr(0, kLength - 1);
    const bool is_escaped =
        (prefix == kEscapedLow || prefix == kEscapedHigh) && utf8_text.size() >= kLength;
    if (is_escaped) {
      const int high_bits = prefix == kEscapedLow ? 0x80 : 0xc0;
      bytes += static_cast<char>(high_bits | (utf8_text[3] & 0x3f));
      utf8_text.remove_prefix(kLength);
    } else {
      // Take everything up to a possible escaped byte at once: text may be megabytes long
      const std::size_t length = std::min(utf8_text.find(kEscapedLow.front(), 1), utf8_text.size());
      bytes += utf8_text.substr(0, length);
      utf8_text.remove_prefix(length);
    }
  }
  return bytes;
}

std::optional<Error> check_json_size(const std::filesystem::path& path, std::size_t size_bytes) {
  if (size_bytes <= kMaxFileBytes) return std::nullopt;
  return failed(
      "cannot write {}: it would have {} bytes, and at most {} are read; choose another file",
      path.string(), size_bytes, kMaxFileBytes);
}

Result<json> read_json_file(const std::filesystem::path& path) {
  // Opening a pipe would wait for its writer, and a device may be endless
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return failed("cannot read {}: it is a directory", path.string());
  }
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return failed("cannot read {}: it is not a regular file", path.string());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failed("cannot read {}: {}", path.string(), std::strerror(errno));
  }
  const auto size_bytes = std::filesystem::file_size(path, ignored);
  if (!ignored && size_bytes > kMaxFileBytes) {
    return invalid_request("{}: a file of {} bytes is too large; at most {} are read",
                           path.string(), size_bytes, kMaxFileBytes);
  }
  // A file that grows while being read is not read to its end, and some system files have no end
  std::string text(ignored ? 0 : size_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return failed("cannot read {}: input error", path.string());
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_json(text, path.string());
}

std::optional<Error> check_schema(const json& document, std::string_view name, int newest_version,
                                  std::string_view source) {
  if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string()) {
    return invalid_request("{}: no \"schema\" field; expected \"{}/{}\"", source, name,
                           newest_version);
  }

  // Split NAME/VERSION
  const auto& schema = document["schema"].get_ref<const std::string&>();
  const std::string prefix = std::string(name) + "/";
  const auto version = schema.starts_with(prefix)
                           ? parse_number<int>(std::string_view(schema).substr(prefix.size()))
                           : std::nullopt;
  if (!version || *version < 1) {
    return invalid_request("{}: schema is \"{}\"; expected \"{}/{}\"", source, printable(schema),
                           name, newest_version);
  }
  if (*version > newest_version) {
    return invalid_request(
        "{}: schema \"{}\" is newer than this program, which reads up to \"{}/{}\"; "
        "use a newer AttnScope",
        source, printable(schema), name, newest_version);
  }
  return std::nullopt;
}

namespace {

[[noreturn]] void wrong_type(const std::string& path, const char* expected, const json& value) {
  const char* const colon = path.empty() ? "" : ": ";
  throw JsonFieldError("{}{}expected {}, found {}", path, colon, expected, value.type_name());
}

}  // namespace

JsonObject::JsonObject(const json& value, std::string path)
    : value_(&value), path_(std::move(path)) {
  if (!value.is_object()) wrong_type(path_, "an object", value);
}

std::string JsonObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}: {}", path_, key);
}

bool JsonObject::has(std::string_view key) const {
  return value_->contains(key);
}

const json& JsonObject::at(std::string_view key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw JsonFieldError("{}: the field is missing", path_of(key));
  }
  return *found;
}

const json& JsonObject::array(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_array()) wrong_type(path_of(key), "an array", value);
  return value;
}

Index JsonObject::integer(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_number_integer()) wrong_type(path_of(key), "an integer", value);
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<Index>::max()}) {
    throw JsonFieldError("{}: the number is too large", path_of(key));
  }
  return value.get<Index>();
}

double JsonObject::number(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_number()) wrong_type(path_of(key), "a number", value);
  return value.get<double>();
}

bool JsonObject::boolean(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_boolean()) wrong_type(path_of(key), "true or false", value);
  return value.get<bool>();
}

std::string JsonObject::string(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_string()) wrong_type(path_of(key), "a string", value);
  return value.get<std::string>();
}

std::uint64_t JsonObject::unsigned_or(std::string_view key, std::uint64_t fallback) const {
  if (!has(key)) return fallback;
  const json& value = at(key);
  const bool positive =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (!positive) wrong_type(path_of(key), "a whole number from 0 to 2^64 - 1", value);
  return value.get<std::uint64_t>();
}

}  // namespace attnscope
