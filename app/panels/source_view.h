/// The CUDA source of a kernel, embedded when AttnScope was built, with its comments and keywords
/// coloured and the lines lit that speak of the current operation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panel.h"
#include "kernels/catalog.h"
#include "sim/schedule/algorithm.h"

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

class SourceView {
 public:
  /// Shows the file at `path` in the rest of the current ImGui window, the line lit that does line
  /// `line` of `code` (nothing is done before the first step: a line past the end), and scrolls to
  /// it when it changes. Where the source has none, the last place stays.
  void draw(const PanelContext& context, const Rect& rect, std::string_view path,
            std::span<const PseudoLine> code, std::size_t line);

 private:
  void load(std::string_view path);

  std::string path_;
  std::vector<std::string_view> lines_;
  std::vector<std::vector<SourceSpan>> spans_;
  int marker_ = -1;
};

// Which line of a kernel's CUDA source does what a line of its schedule's pseudo-code says.

/// Root-relative path of the file with the twin of a launch; empty for what a library computes and
/// for a variant's launch that no kernel has.
std::string_view source_of_launch(const kernels::KernelInfo& kernel, std::string_view launch,
                                  bool backward);

/// The index in `lines`, the text of `source`, of what does line `line` of `code`; -1 where the
/// source has nothing that does it.
int marker_line(std::string_view source, const std::vector<std::string_view>& lines,
                std::span<const PseudoLine> code, std::size_t line);

}  // namespace attnscope::app
