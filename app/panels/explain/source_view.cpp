#include "app/panels/explain/source_view.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "app/draw/canvas.h"
#include "app/draw/tooltip.h"
#include "kernels/compile/kernel_sources.h"

namespace attnscope::app {

namespace {

constexpr auto kKeywords = split_names<40>(
    "auto, bool, break, char, const, constexpr, continue, do, double, else, enum, extern, "
    "false, float, for, if, inline, int, namespace, return, sizeof, static, static_assert, "
    "static_cast, struct, switch, template, true, typename, unsigned, using, void, while, "
    "__device__, __global__, __shared__, __launch_bounds__, __syncthreads, __syncwarp, "
    "__align__");

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Draws the letters of a line that are fully visible between `at` and `right`; the line begins
/// `scrolled` pixels to the left of `at`. "…" replaces those beyond the right edge; a tooltip shows
/// the whole line.
void draw_line(const draw::Canvas& canvas, const std::vector<SourceSpan>& spans, ImVec2 at,
               float right, float scrolled) {
  const Theme& theme = canvas.theme;
  const FontRef& font = canvas.fonts.mono_small;
  const float letter = font.measure("0").x;
  std::size_t length = 0;
  for (const SourceSpan& span : spans) length += span.text.size();
  const auto first = static_cast<std::size_t>(std::ceil(scrolled / letter));
  std::size_t past =
      first + static_cast<std::size_t>(std::max((right - at.x) / letter - 2.0f, 0.0f));
  const bool is_cut = past < length;
  if (is_cut && past > 0) --past;
  std::size_t column = 0;  // of the span's first letter
  float drawn_to = at.x;
  const auto x_of = [&](std::size_t of) {
    return at.x + static_cast<float>(of) * letter - scrolled;
  };
  for (const SourceSpan& span : spans) {
    const std::size_t begin = std::clamp(first, column, column + span.text.size());
    const std::size_t end = std::clamp(past, begin, column + span.text.size());
    const ImU32 color = span.kind == SourceSpan::Kind::comment   ? theme.good
                        : span.kind == SourceSpan::Kind::keyword ? theme.accent
                                                                 : theme.text;
    if (end > begin) {
      // Letters start at whole pixels: never before the end of the span on the left
      const float x = std::max(x_of(begin), std::ceil(drawn_to));
      font.draw(canvas.list, {x, at.y}, color, span.text.substr(begin - column, end - begin));
      drawn_to = std::floor(x) + static_cast<float>(end - begin) * letter;
    }
    column += span.text.size();
  }
  if (!is_cut) return;
  font.draw(canvas.list, {std::max(x_of(past), std::ceil(drawn_to)), at.y}, theme.text_faint, "…");
  std::string whole;
  for (const SourceSpan& span : spans) whole += span.text;
  draw::explain_shortened(font, whole.substr(std::min(whole.find_first_not_of(' '), whole.size())),
                          {at, {right, at.y + font.size}});
}

}  // namespace

std::vector<SourceSpan> highlighted(std::string_view line, bool& in_block_comment) {
  using Kind = SourceSpan::Kind;
  std::vector<SourceSpan> spans;
  const auto add = [&](Kind kind, std::string_view text) {
    if (!text.empty()) spans.push_back({kind, text});
  };
  std::size_t at = 0;
  std::size_t plain = 0;
  while (at < line.size()) {
    if (in_block_comment || line.substr(at, 2) == "/*") {
      add(Kind::plain, line.substr(plain, at - plain));
      const std::size_t end = line.find("*/", at);
      in_block_comment = end == std::string_view::npos;
      const std::size_t past = in_block_comment ? line.size() : end + 2;
      add(Kind::comment, line.substr(at, past - at));
      at = plain = past;
    } else if (line.substr(at, 2) == "//") {
      add(Kind::plain, line.substr(plain, at - plain));
      add(Kind::comment, line.substr(at));
      return spans;
    } else if (is_word(line[at])) {
      std::size_t end = at;
      while (end < line.size() && is_word(line[end])) ++end;
      const std::string_view word = line.substr(at, end - at);
      if (std::ranges::find(kKeywords, word) != std::end(kKeywords)) {
        add(Kind::plain, line.substr(plain, at - plain));
        add(Kind::keyword, word);
        plain = end;
      }
      at = end;
    } else {
      ++at;
    }
  }
  add(Kind::plain, line.substr(plain));
  return spans;
}

void SourceView::load(std::string_view path) {
  if (path == path_) return;
  path_ = path;
  marked_.clear();
  lines_.clear();
  spans_.clear();
  const kernels::SourceFile* const file = kernels::kernel_source(path);
  std::string_view text = file != nullptr ? file->text : std::string_view();
  bool in_block_comment = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // Marks for AttnScope's own use, such as "// @update_max", are not shown
    const std::string_view line = text.substr(0, end);
    lines_.push_back(line.substr(0, line.find("// @")));
    spans_.push_back(highlighted(lines_.back(), in_block_comment));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void SourceView::draw(const PanelContext& context, const Rect& rect, std::string_view path,
                      std::optional<Step> step) {
  load(path);
  const Theme& theme = context.theme;
  const FontRef& font = context.fonts.mono_small;
  if (lines_.empty()) {
    draw::text(context, context.fonts.small, rect.min, theme.text_faint,
               path.empty() ? "unavailable: no CUDA kernel corresponds to this launch"
                            : "unavailable: this kernel's source was not embedded when AttnScope "
                              "was built");
    return;
  }
  std::vector<int> marked = step ? kernels::lines_of_step(path, *step) : std::vector<int>();
  const bool moved = !marked.empty() && marked != marked_;
  if (moved) marked_ = std::move(marked);

  ImGui::SetCursorScreenPos(rect.min);
  ImGui::BeginChild("source", {rect.width(), rect.height()}, false,
                    ImGuiWindowFlags_HorizontalScrollbar);
  const float pitch = font.size * 1.28f;
  const float number_width = font.measure("0000").x;
  if (moved) {
    const int above = static_cast<int>(rect.height() / pitch * 0.35f);
    ImGui::SetScrollY(pitch * static_cast<float>(std::max(marked_.front() - 1 - above, 0)));
  }
  draw::Canvas canvas = context;
  canvas.list = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const Rect view{canvas.list->GetClipRectMin(), canvas.list->GetClipRectMax()};
  const float left = view.min.x + number_width;
  const auto first = static_cast<std::size_t>(std::max(ImGui::GetScrollY() / pitch, 0.0f));
  const auto shown = static_cast<std::size_t>(rect.height() / pitch) + 2;
  float widest = 0.0f;
  for (std::size_t k = first; k < std::min(first + shown, lines_.size()); ++k) {
    widest = std::max(widest, number_width + font.measure(lines_[k]).x);
    const float y = origin.y + pitch * static_cast<float>(k);
    if (y < view.min.y || y + pitch > view.max.y) continue;  // only whole lines
    if (std::ranges::find(marked_, static_cast<int>(k) + 1) != marked_.end()) {
      draw::fill(canvas, {{rect.min.x, y}, {rect.max.x, y + pitch}},
                 mix(theme.card, theme.accent, 0.25f));
    }
    draw::text(canvas, font, {left - font.measure(" ").x, y}, theme.text_faint,
               std::to_string(k + 1), draw::Align::right);
    draw_line(canvas, spans_[k], {left, y}, view.max.x, ImGui::GetScrollX());
  }
  ImGui::Dummy({widest, pitch * static_cast<float>(lines_.size())});
  ImGui::EndChild();
}

std::string_view source_of_launch(const kernels::KernelInfo& kernel, const Launch& launch,
                                  bool backward) {
  const auto has = [&](Step step) {
    return std::ranges::find(launch.pseudo_code, step, &PseudoLine::step) !=
           launch.pseudo_code.end();
  };
  if (launch.name == "sum_heads") return "kernels/sum_heads.cuh";
  if (launch.name == "row_dots") return {};
  if (kernel.name == "standard") {
    const bool in_sweeps = has(Step::load_again);
    if (launch.name == "softmax" || launch.name == "recompute_softmax") {
      return in_sweeps ? "kernels/standard/softmax_forward_two_sweeps.cuh" : kernel.forward.source;
    }
    if (launch.name != "dS") return {};  // computed by cuBLAS
    return in_sweeps ? "kernels/standard/softmax_gradient_two_sweeps.cuh" : kernel.backward->source;
  }
  if (launch.name == "combine") return "kernels/split_kv/split_kv_combine.cuh";
  if (launch.name == "convert" && kernel.name == "flash1") {
    // No kernel keeps dQ in fp32
    return backward ? std::string_view() : "kernels/flash1/flash1_rows.cuh";
  }
  if (launch.name == "preprocess" || launch.name == "convert") {
    return "kernels/flash2/flash2_backward_rows.cuh";
  }
  return kernel.pass(backward ? PassKind::backward : PassKind::forward).source;
}

}  // namespace attnscope::app
