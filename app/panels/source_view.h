/// The CUDA source of a kernel, embedded when AttnScope was built, with its comments and keywords
/// coloured and the lines lit that speak of the current operation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/panel.h"
#include "kernels/catalog.h"

namespace attnscope::app {

/// Text of a file under kernels/ by its root-relative path; nothing when it is not embedded.
std::optional<std::string_view> embedded_source(std::string_view path);

/// A stretch of one line in one colour.
struct SourceSpan {
  enum class Kind : std::uint8_t { plain, comment, keyword };
  Kind kind = Kind::plain;
  std::string_view text;
};

/// Splits a line of CUDA C++; `in_block_comment` is carried from line to line.
std::vector<SourceSpan> highlighted(std::string_view line, bool& in_block_comment);

/// The file with the twin of a launch; empty for what a library computes.
std::string_view source_of_launch(const kernels::KernelInfo& kernel, std::string_view launch,
                                  bool backward);

/// The line comment that says the most of the same as a line of pseudo-code, -1 when none says more
/// than two thirds of it, or none loads, stores, masks or rounds where the line does.
int marker_line(const std::vector<std::string_view>& lines, std::string_view pseudo_code);

class SourceView {
 public:
  /// Shows the file at `path` in the rest of the current ImGui window; scrolls to the marker when
  /// it changes.
  void draw(const PanelContext& context, const Rect& rect, std::string_view path,
            std::string_view pseudo_code);

 private:
  void load(std::string_view path);

  std::string path_;
  std::vector<std::string_view> lines_;
  std::vector<std::vector<SourceSpan>> spans_;
  std::string pseudo_code_;
  int marker_ = -1;
};

}  // namespace attnscope::app
