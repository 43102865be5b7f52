/// A value, or the reason why there is none. User's choices and outside failures travel this way;
/// programmers' errors throw CheckFailure (check.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace attnscope {

/// Why something could not be had. `message` is one line: what, why, what would be accepted.
struct Error {
  enum class Kind {
    invalid_request,  ///< the user's choice cannot work; the command line exits with 2
    failed,           ///< the work was attempted and failed; the command line exits with 1
    unavailable,      ///< this machine lacks what it needs (GPU, library, permission)
  };
  Kind kind = Kind::failed;
  std::string message;
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

/// Holds a T or an Error. Ask ok() before value().
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
