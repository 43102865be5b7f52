/// The CUDA source of a kernel, embedded when AttnScope was built, with coloured comments and
/// keywords, and the lines of the current operation highlighted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/parts/panel.h"
#include "kernels/catalog.h"
#include "reference/step.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

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
  /// Shows the file at `path` in the rest of the current ImGui window, highlights the lines that
  /// implement the step (none before the first one), and scrolls to the first of them when it
  /// changes. If the source marks no such line, the view stays in place.
  void draw(const PanelContext& context, const Rect& rect, std::string_view path,
            std::optional<Step> step);

 private:
  void load(std::string_view path);

  std::string path_;
  std::vector<std::string_view> lines_;
  std::vector<std::vector<SourceSpan>> spans_;
  std::vector<int> marked_;  ///< numbers of the highlighted lines
};

/// Root-relative path of the file with the kernel of a launch; empty for a library's launches and
/// for a variant's launch that no kernel implements.
std::string_view source_of_launch(const kernels::KernelInfo& kernel, const Launch& launch,
                                  bool backward);

}  // namespace attnscope::app
