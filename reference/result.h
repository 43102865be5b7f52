/// A value, or the reason why there is none. Invalid user choices and external failures are
/// returned this way; programming errors throw CheckFailure (check.h).
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace attnscope {

/// The kind of error in a request. Code tests this and Error::field, never the message text.
enum class ErrorCode : std::uint8_t {
  other,           ///< see the message: a file, a library, this machine
  not_understood,  ///< the text is not a value of the field
  out_of_range,    ///< the number is outside the field's limits
  unknown_name,    ///< no such algorithm, GPU, scene, ...
  missing,         ///< the field must be given
  not_applicable,  ///< the algorithm or kernel does not offer this choice
  contradiction,   ///< fields that exclude one another or are inconsistent
  does_not_fit,    ///< does not fit on the chip or in memory
  too_many,        ///< more tiles than can be counted or shown
  cancelled,       ///< the user cancelled the work
};

/// The reason why something could not be done or obtained.
struct Error {
  enum class Kind {
    invalid_request,  ///< the user's choice cannot work; the command line exits with 2
    failed,           ///< the work was attempted and failed; the command line exits with 1
    unavailable,      ///< this machine lacks a requirement (GPU, library, permission)
  };
  Kind kind = Kind::failed;
  /// One line: the error, its reason and the accepted values. It names a field by field_name(),
  /// which
  /// words() replaces with the reader's name for the field.
  std::string message;
  ErrorCode code = ErrorCode::other;
  std::string field = {};  ///< key of the field to change (run_fields.h); empty: none in particular
  std::string value = {};  ///< the text given for the field
  std::string accepted = {};  ///< the values that the field accepts
};

inline Error invalid_request(std::string message) {
  return {Error::Kind::invalid_request, std::move(message)};
}
inline Error failed(std::string message) {
  return {Error::Kind::failed, std::move(message)};
}
inline Error unavailable(std::string reason) {
  return {Error::Kind::unavailable, std::move(reason)};
}
/// A request that this field makes invalid.
inline Error invalid_field(ErrorCode code, std::string_view field, std::string message) {
  return {Error::Kind::invalid_request, std::move(message), code, std::string(field)};
}

// The same with a message formatted by fmt.
template <typename... Args>
Error invalid_request(fmt::format_string<Args...> format, Args&&... args) {
  return invalid_request(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error failed(fmt::format_string<Args...> format, Args&&... args) {
  return failed(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return unavailable(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Error invalid_field(ErrorCode code, std::string_view field, fmt::format_string<Args...> format,
                    Args&&... args) {
  return invalid_field(code, field, fmt::format(format, std::forward<Args>(args)...));
}
/// A choice of the field that the algorithm or kernel does not offer.
template <typename... Args>
Error not_applicable(std::string_view field, fmt::format_string<Args...> format, Args&&... args) {
  return invalid_field(ErrorCode::not_applicable, field, format, std::forward<Args>(args)...);
}

inline Error cancelled() {
  return {Error::Kind::failed, "cancelled", ErrorCode::cancelled};
}

/// Marks a field's name in a message; words() replaces it with the reader's name for the field.
std::string field_name(std::string_view key);
/// Marks two wordings of a part of a message: words() keeps `on_screen` for Reader::screen, and
/// `elsewhere` for the command line and files. Neither contains a field_name().
std::string worded(std::string_view elsewhere, std::string_view on_screen);

/// The reader of the text: a field is called "--seq-len" on the command line, "N" on the screen,
/// "seq_len" in files and in the C interface.
enum class Reader : std::uint8_t { command_line, screen, file };

/// The text with every field_name() replaced with the reader's name for the field: one line of at
/// most kMostMessageBytes, whatever file names it contains.
std::string words(std::string_view text, Reader reader);
inline std::string words(const Error& error, Reader reader) {
  return words(error.message, reader);
}

/// Holds a T or an Error. Check ok() before value().
template <typename T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  const T& value() const& { return std::get<T>(state_); }
  T& value() & { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace attnscope

/// Assigns the value of a Result to a variable, which may be declared here, or returns the Result's
/// error from the calling function: ATTNSCOPE_TRY(const auto gpu, load_gpu(name)); It expands to
/// several statements, so it needs braces inside an if.
#define ATTNSCOPE_TRY(declaration, ...) \
  ATTNSCOPE_TRY_AT_(declaration, ATTNSCOPE_RESULT_AT_(__LINE__), __VA_ARGS__)
#define ATTNSCOPE_RESULT_AT_(line) ATTNSCOPE_RESULT_(line)
#define ATTNSCOPE_RESULT_(line) result_of_line_##line
#define ATTNSCOPE_TRY_AT_(declaration, result, ...) \
  auto result = (__VA_ARGS__);                      \
  if (!result) return result.error();               \
  declaration = std::move(result).value()
