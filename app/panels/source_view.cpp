#include "app/panels/source_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

constexpr std::array<std::string_view, 40> kKeywords{"auto",
                                                     "bool",
                                                     "break",
                                                     "char",
                                                     "const",
                                                     "constexpr",
                                                     "continue",
                                                     "do",
                                                     "double",
                                                     "else",
                                                     "enum",
                                                     "extern",
                                                     "false",
                                                     "float",
                                                     "for",
                                                     "if",
                                                     "inline",
                                                     "int",
                                                     "namespace",
                                                     "return",
                                                     "sizeof",
                                                     "static",
                                                     "static_assert",
                                                     "static_cast",
                                                     "struct",
                                                     "switch",
                                                     "template",
                                                     "true",
                                                     "typename",
                                                     "unsigned",
                                                     "using",
                                                     "void",
                                                     "while",
                                                     "__device__",
                                                     "__global__",
                                                     "__shared__",
                                                     "__launch_bounds__",
                                                     "__syncthreads",
                                                     "__syncwarp",
                                                     "__align__"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Without the index of its tile: "oi" and "o" are the same, as are "dkj" and "dk".
std::string without_index(std::string word) {
  constexpr std::array<std::string_view, 14> kSymbols{"q", "k", "v",  "o",  "s",  "p",  "m",
                                                      "l", "d", "do", "dq", "dk", "dv", "lse"};
  const std::string_view stem = std::string_view(word).substr(0, word.size() - 1);
  const bool indexed = word.back() == 'i' || word.back() == 'j';
  if (indexed && std::ranges::find(kSymbols, stem) != kSymbols.end()) word.pop_back();
  return word;
}

/// Words and numbers, without underscores, indices and case: O_i and Oi are the same.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.insert(without_index(word));
    word.clear();
  };
  for (const char c : text) {
    if (c == '_') continue;
    if (is_word(c)) {
      word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else {
      finish();
    }
  }
  finish();
  return words;
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
      if (std::ranges::find(kKeywords, word) != kKeywords.end()) {
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

std::string_view source_of_launch(const kernels::KernelInfo& kernel, std::string_view launch,
                                  bool backward) {
  constexpr std::string_view kFlash1Frame = "kernels/flash1/flash1_frame.cu";
  constexpr std::string_view kFlash2Frame = "kernels/flash2/flash2_backward_frame.cu";
  if (kernel.algorithm == "standard") {
    if (launch == "softmax" || launch == "recompute_softmax") return kernel.source;
    return launch == "dS" ? kernel.backward_source : std::string_view();  // the rest is cuBLAS's
  }
  if (launch == "combine") return "kernels/split_kv/split_kv_combine.cu";
  if (launch == "preprocess" || launch == "convert") {
    return kernel.algorithm == "flash1" ? kFlash1Frame : kFlash2Frame;
  }
  return backward ? kernel.backward_source : kernel.source;
}

int marker_line(const std::vector<std::string_view>& lines, std::string_view pseudo_code) {
  const std::set<std::string> wanted = words_of(pseudo_code);
  if (wanted.empty()) return -1;
  const auto lacks_verb = [&](const std::set<std::string>& words) {
    return std::ranges::any_of(std::array{"load", "store", "mask", "round"}, [&](const char* verb) {
      return wanted.contains(verb) && !words.contains(verb);
    });
  };
  int best = -1;
  std::size_t most = 0;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::size_t comment = lines[k].find("//");
    if (comment == std::string_view::npos || lines[k].substr(comment, 3) == "///") continue;
    const std::set<std::string> words = words_of(lines[k].substr(comment));
    const auto common = static_cast<std::size_t>(std::ranges::count_if(
        wanted, [&](const std::string& word) { return words.contains(word); }));
    if (common <= most || 3 * common <= 2 * wanted.size() || lacks_verb(words)) continue;
    most = common;
    best = static_cast<int>(k);
  }
  return best;
}

void SourceView::load(std::string_view path) {
  if (path == path_) return;
  path_ = path;
  pseudo_code_.clear();
  lines_.clear();
  spans_.clear();
  std::string_view text = embedded_source(path).value_or(std::string_view{});
  bool in_block_comment = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines_.push_back(text.substr(0, end));
    spans_.push_back(highlighted(lines_.back(), in_block_comment));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void SourceView::draw(const PanelContext& context, const Rect& rect, std::string_view path,
                      std::string_view pseudo_code) {
  load(path);
  const Theme& theme = context.theme;
  const FontRef& font = context.fonts.mono_small;
  if (lines_.empty()) {
    draw::text(canvas_of(context), context.fonts.small, rect.min, theme.text_faint,
               path.empty() ? "unavailable: no CUDA kernel is the twin of this launch"
                            : "unavailable: this kernel's source was not embedded when AttnScope "
                              "was built");
    return;
  }
  const bool moved = pseudo_code != pseudo_code_;
  if (moved) {
    pseudo_code_ = pseudo_code;
    marker_ = marker_line(lines_, pseudo_code);
  }

  ImGui::SetCursorScreenPos(rect.min);
  ImGui::BeginChild("source", {rect.width(), rect.height()}, false,
                    ImGuiWindowFlags_HorizontalScrollbar);
  const float pitch = font.size * 1.28f;
  const float number_width = font.measure("0000").x;
  if (moved && marker_ >= 0) {
    const int above = static_cast<int>(rect.height() / pitch * 0.35f);
    ImGui::SetScrollY(pitch * static_cast<float>(std::max(marker_ - above, 0)));
  }
  const draw::Canvas canvas = canvas_of(context);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const auto first = static_cast<std::size_t>(std::max(ImGui::GetScrollY() / pitch, 0.0f));
  const auto shown = static_cast<std::size_t>(rect.height() / pitch) + 2;
  float widest = 0.0f;
  for (std::size_t k = first; k < std::min(first + shown, lines_.size()); ++k) {
    const float y = origin.y + pitch * static_cast<float>(k);
    if (static_cast<int>(k) == marker_) {
      draw::fill(canvas, {{rect.min.x, y}, {rect.max.x, y + pitch}},
                 mix(theme.card, theme.accent, 0.25f));
    }
    draw::text(canvas, font, {origin.x + number_width - font.measure(" ").x, y}, theme.text_faint,
               std::to_string(k + 1), draw::Align::right);
    float x = origin.x + number_width;
    for (const SourceSpan& span : spans_[k]) {
      const ImU32 color = span.kind == SourceSpan::Kind::comment   ? theme.good
                          : span.kind == SourceSpan::Kind::keyword ? theme.accent
                                                                   : theme.text;
      font.draw(canvas.list, {x, y}, color, span.text);
      x += font.measure(span.text).x;
    }
    widest = std::max(widest, x - origin.x);
  }
  ImGui::Dummy({widest, pitch * static_cast<float>(lines_.size())});
  ImGui::EndChild();
}

}  // namespace attnscope::app
