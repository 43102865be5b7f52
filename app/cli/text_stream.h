/// A file, or standard output, that is written piece by piece.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "reference/result.h"

namespace attnscope::cli {

/// The file appears under its name when finish() succeeds, whole or not at all; standard output
/// ("-") and devices are written as the pieces come.
class TextStream {
 public:
  /// Failed when nothing can be written there.
  static Result<TextStream> open(const std::string& path);

  TextStream(TextStream&& other) noexcept;
  TextStream(const TextStream&) = delete;
  TextStream& operator=(TextStream&&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  /// Leaves nothing behind unless finish() succeeded.
  ~TextStream();

  /// False when this piece, or one before it, could not be written.
  bool write(std::string_view piece);
  /// Nothing on success.
  std::optional<Error> finish();

 private:
  TextStream() = default;

  std::FILE* file_ = nullptr;
  std::filesystem::path target_;     ///< empty where pieces go straight to their place
  std::filesystem::path temporary_;  ///< beside the target
  std::string name_;
  int error_ = 0;
};

}  // namespace attnscope::cli
