#include "tests/app/screen/text_on_screen.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tests/app/screen/frame_reader.h"

namespace attnscope::test {

namespace {

using app::Rect;

constexpr float kSlack = 1.0f;  ///< pixels by which letters may be cut or may overlap

/// Letters by the squares of the screen that they touch.
class LetterGrid {
 public:
  explicit LetterGrid(std::vector<Letter>& letters) : letters_(letters) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    columns_ = static_cast<int>(display.x / kCell) + 1;
    rows_ = static_cast<int>(display.y / kCell) + 1;
    cells_.resize(static_cast<std::size_t>(columns_ * rows_));
    for (std::size_t k = 0; k < letters.size(); ++k) {
      each_cell(letters[k].ink, [&](std::vector<std::size_t>& cell) { cell.push_back(k); });
    }
  }

  /// Calls `visit` for the letters near the rectangle; for some of them more than once.
  template <typename Visit>
  void each_near(const Rect& rect, Visit visit) {
    each_cell(rect, [&](std::vector<std::size_t>& cell) {
      for (const std::size_t k : cell) visit(letters_[k]);
    });
  }

 private:
  static constexpr float kCell = 32.0f;

  template <typename Visit>
  void each_cell(const Rect& rect, Visit visit) {
    const auto place = [](float at, int count) {
      return std::clamp(static_cast<int>(at / kCell), 0, count - 1);
    };
    for (int row = place(rect.min.y, rows_); row <= place(rect.max.y, rows_); ++row) {
      for (int col = place(rect.min.x, columns_); col <= place(rect.max.x, columns_); ++col) {
        visit(cells_[static_cast<std::size_t>(row * columns_ + col)]);
      }
    }
  }

  std::vector<Letter>& letters_;
  int columns_ = 0, rows_ = 0;
  std::vector<std::vector<std::size_t>> cells_;
};

Rect bounds(const Triangle& triangle) {
  const auto& [a, b, c] = triangle.corners;
  return united(united({a, a}, {b, b}), {c, c});
}

bool contains(const Triangle& triangle, ImVec2 at) {
  const auto side = [&](ImVec2 a, ImVec2 b) {
    return (b.x - a.x) * (at.y - a.y) - (b.y - a.y) * (at.x - a.x);
  };
  const auto& [a, b, c] = triangle.corners;
  const float s = side(a, b), t = side(b, c), u = side(c, a);
  return (s >= 0 && t >= 0 && u >= 0) || (s <= 0 && t <= 0 && u <= 0);
}

/// The height of the triangle over its longest edge: one pixel for the smoothed border of a
/// surface.
float thickness(const Triangle& triangle) {
  const auto& p = triangle.corners;
  float longest = 1e-6f;
  for (int k = 0; k < 3; ++k) {
    longest = std::max(longest, std::hypot(p[(k + 1) % 3].x - p[k].x, p[(k + 1) % 3].y - p[k].y));
  }
  return std::abs((p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[1].y - p[0].y) * (p[2].x - p[0].x)) /
         longest;
}

/// The longest edge of a triangle that is part of an oblique line; nothing for other shapes.
std::optional<std::pair<ImVec2, ImVec2>> oblique_line(const Triangle& triangle) {
  constexpr float kThickest = 6.0f;
  constexpr float kShortest = 4.0f;
  if (triangle.of_fan) return std::nullopt;
  const auto& p = triangle.corners;
  std::pair<ImVec2, ImVec2> longest{p[0], p[1]};
  float length = 0.0f;
  for (int k = 0; k < 3; ++k) {
    const ImVec2 from = p[k], to = p[(k + 1) % 3];
    const float edge = std::hypot(to.x - from.x, to.y - from.y);
    if (edge > length) {
      length = edge;
      longest = {from, to};
    }
  }
  const float dx = std::abs(longest.second.x - longest.first.x);
  const float dy = std::abs(longest.second.y - longest.first.y);
  const bool oblique = std::min(dx, dy) > 0.12f * length;
  // A rectangle's half has two edges along the axes
  int along = 0;
  for (int k = 0; k < 3; ++k) {
    const ImVec2 from = p[k], to = p[(k + 1) % 3];
    if (std::abs(from.x - to.x) < 0.01f || std::abs(from.y - to.y) < 0.01f) ++along;
  }
  if (!oblique || along >= 2 || length < kShortest || thickness(triangle) > kThickest)
    return std::nullopt;
  return longest;
}

bool same_line(const Letter& before, const Letter& letter) {
  if (before.font != letter.font || letter.font == nullptr || before.upwards != letter.upwards) {
    return false;
  }
  if (std::abs(before.scale - letter.scale) > 0.02f * letter.scale) return false;
  if (std::abs(before.pen.y - letter.pen.y) > 0.6f) return false;
  const float gap = letter.pen.x - before.pen.x - before.glyph->AdvanceX * before.scale;
  const float space = letter.font->GetCharAdvance(' ') * letter.scale;
  return std::abs(gap) < 0.6f || (gap > 0.0f && std::abs(gap - space) < 0.6f);
}

void append(std::string& words, ImWchar letter) {
  const auto code = static_cast<unsigned>(letter);
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) {
    words += byte(code);
  } else if (code < 0x800) {
    words += {byte(0xC0U | (code >> 6U)), byte(0x80U | (code & 0x3FU))};
  } else {
    words += {byte(0xE0U | (code >> 12U)), byte(0x80U | ((code >> 6U) & 0x3FU)),
              byte(0x80U | (code & 0x3FU))};
  }
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

/// The defects of a letter.
struct Finding {
  bool cut = false, covered = false, crossed = false;
};

/// A place where an oblique line and a letter meet.
struct Crossing {
  const Letter* letter;
  ImVec2 at;
  int order = 0;  ///< position of the line in the drawing order
};

std::vector<Finding> check_letters(Frame& frame) {
  std::vector<Finding> found(frame.letters.size());
  const auto finding = [&](const Letter& letter) -> Finding& {
    return found[static_cast<std::size_t>(&letter - frame.letters.data())];
  };
  for (Letter& letter : frame.letters) {
    const Rect& clip = letter.clip;
    finding(letter).cut = letter.glyph == nullptr || letter.ink.min.x < clip.min.x - kSlack ||
                          letter.ink.max.x > clip.max.x + kSlack ||
                          letter.ink.min.y < clip.min.y - kSlack ||
                          letter.ink.max.y > clip.max.y + kSlack;
  }
  std::vector<Crossing> crossings;
  LetterGrid grid(frame.letters);
  for (const Triangle& triangle : frame.triangles) {
    if ((triangle.color >> 24) >= kOpaque && thickness(triangle) > 1.5f * kSlack) {
      grid.each_near(bounds(triangle), [&](Letter& letter) {
        if (letter.order > triangle.order) return;
        const ImVec2 at = letter.ink.center();
        if (triangle.clip.contains(at) && contains(triangle, at)) letter.hidden = true;
      });
    }
    const auto line = oblique_line(triangle);
    if (!line || (triangle.color >> 24) < kFaint) continue;
    grid.each_near(bounds(triangle), [&](Letter& letter) {
      const Rect inner = letter.ink.shrunk(kSlack, kSlack);
      for (int k = 0; k <= 8; ++k) {
        const float t = static_cast<float>(k) / 8.0f;
        const ImVec2 at{line->first.x + (line->second.x - line->first.x) * t,
                        line->first.y + (line->second.y - line->first.y) * t};
        if (triangle.clip.contains(at) && inner.contains(at)) {
          crossings.push_back({&letter, at, triangle.order});
        }
      }
    });
  }

  // A surface between a line and a letter hides the line
  for (const Crossing& crossing : crossings) {
    const bool apart = std::ranges::any_of(frame.triangles, [&](const Triangle& surface) {
      return surface.order > crossing.order && surface.order < crossing.letter->order &&
             (surface.color >> 24) >= kOpaque && !oblique_line(surface) &&
             surface.clip.contains(crossing.at) && contains(surface, crossing.at);
    });
    if (!apart) finding(*crossing.letter).crossed = true;
  }
  for (const Letter& letter : frame.letters) finding(letter).covered = letter.hidden;
  return found;
}

}  // namespace

std::vector<ScreenText> texts_on_screen() {
  Frame frame = read_frame();
  const std::vector<Finding> found = check_letters(frame);
  std::vector<ScreenText> texts;
  std::vector<std::pair<int, int>> covered;  // letters per text: covered, total
  for (std::size_t k = 0; k < frame.letters.size(); ++k) {
    const Letter& letter = frame.letters[k];
    const bool follows = k > 0 && same_line(frame.letters[k - 1], letter);
    if (!follows) {
      texts.push_back({.size = letter.font == nullptr ? 0.0f : letter.font->FontSize * letter.scale,
                       .rect = letter.ink});
      covered.emplace_back(0, 0);
    }
    ScreenText& text = texts.back();
    if (follows) {
      const Letter& before = frame.letters[k - 1];
      const float gap = letter.pen.x - before.pen.x - before.glyph->AdvanceX * before.scale;
      if (gap > 0.6f) text.words += ' ';
    }
    if (letter.glyph != nullptr) append(text.words, static_cast<ImWchar>(letter.glyph->Codepoint));
    text.rect = united(text.rect, letter.ink);
    if (!found[k].covered) text.ink.push_back(letter.ink);
    if (found[k].cut) add_once(text.wrong, "cut");
    if (found[k].crossed) add_once(text.wrong, "crossed by a line");
    covered.back().first += found[k].covered ? 1 : 0;
    covered.back().second += 1;
  }

  // Text that is completely hidden is not on the screen
  std::vector<ScreenText> shown;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (covered[k].first == covered[k].second) continue;
    if (covered[k].first > 0) add_once(texts[k].wrong, "covered in part");
    shown.push_back(std::move(texts[k]));
  }
  for (std::size_t a = 0; a < shown.size(); ++a) {
    for (std::size_t b = a + 1; b < shown.size(); ++b) {
      if (!overlaps(shown[a].rect, shown[b].rect, kSlack)) continue;
      const bool touch = std::ranges::any_of(shown[a].ink, [&](const Rect& first) {
        return std::ranges::any_of(
            shown[b].ink, [&](const Rect& second) { return overlaps(first, second, kSlack); });
      });
      if (touch) add_once(shown[a].wrong, fmt::format("overlaps \"{}\"", shown[b].words));
    }
  }
  return shown;
}

bool is_on_screen(std::string_view words) {
  return std::ranges::any_of(texts_on_screen(), [&](const ScreenText& text) {
    return text.words.find(words) != std::string::npos;
  });
}

bool is_shortened(const std::string& words) {
  constexpr std::string_view kEllipsis = "…";
  constexpr std::string_view kOpenDialogs[] = {"Open a file…", "Save as…", "Lessons…",
                                               "Save a picture (PNG)…",
                                               "Save as a vector graphic (SVG)…"};
  return words.size() > kEllipsis.size() && words.ends_with(kEllipsis) &&
         std::ranges::find(kOpenDialogs, words) == std::end(kOpenDialogs);
}

namespace {

/// Whether a tooltip shows a shortened text in full when the mouse points at it.
bool has_tooltip(ScreenSession& session, const ScreenText& shortened) {
  const ImVec2 before = ImGui::GetIO().MousePos;
  session.point_at(shortened.rect.center());
  const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
  std::string words;
  if (window != nullptr && window->LastFrameActive == ImGui::GetFrameCount()) {
    const ImVec2 end{window->Pos.x + window->Size.x, window->Pos.y + window->Size.y};
    for (const ScreenText& text : texts_on_screen()) {
      if (!Rect{window->Pos, end}.contains(text.rect.center())) continue;
      words += (words.empty() ? "" : " ") + text.words;
    }
  }
  session.point_at(before);
  const std::size_t kept = shortened.words.rfind("…");
  std::string begin = shortened.words.substr(0, kept);
  while (begin.ends_with(' ')) begin.pop_back();
  constexpr std::size_t kEnough = 16;  // a number of a line may precede the text
  if (begin.size() > kEnough) begin.erase(0, begin.size() - kEnough);
  const std::size_t at = words.find(begin);
  return at != words.npos && words.size() > at + begin.size();
}

/// Whether the text is the value of a box: a long name or path, such as the title of a scene.
bool is_value(const ScreenSession& session, const ScreenText& text) {
  return std::ranges::any_of(session.rects().all(), [&](const auto& named) {
    return named.first.starts_with("field.") && named.second.contains(text.rect.center());
  });
}

/// Whether the text is a line of CUDA source, in a list that scrolls sideways.
bool is_source(const ScreenText& text) {
  return std::ranges::any_of(ImGui::GetCurrentContext()->Windows, [&](const ImGuiWindow* window) {
    const bool is_list = std::string_view(window->Name).find("/source_") != std::string_view::npos;
    return is_list && window->LastFrameActive == ImGui::GetFrameCount() &&
           window->Rect().Contains(text.rect.center());
  });
}

}  // namespace

void check_texts(ScreenSession& session, const std::string& where, const TextCheck& check) {
  std::vector<ScreenText> shortened;
  std::size_t count = 0;
  const auto fail = [&](const ScreenText& text, const std::string& wrong) {
    ADD_FAILURE() << where
                  << fmt::format(" at ({:.0f}, {:.0f}): \"{}\" is {}", text.rect.min.x,
                                 text.rect.min.y, text.words, wrong);
  };
  for (const ScreenText& text : texts_on_screen()) {
    if (check.within && !check.within->contains(text.rect.center())) continue;
    // The part covers the text of panels below it
    const bool is_below =
        check.within && std::ranges::find(text.wrong, "covered in part") != text.wrong.end();
    if (is_below) continue;
    ++count;
    for (const std::string& wrong : text.wrong) {
      if (!(check.scrolls && wrong == "cut")) fail(text, wrong);
    }
    if (is_shortened(text.words)) shortened.push_back(text);
    if (text.size < check.least_size - 0.01f) fail(text, fmt::format("{:.1f} px high", text.size));
  }
  EXPECT_GT(count, check.within ? 1U : 20U) << where;
  for (const ScreenText& text : shortened) {
    const bool of_source = is_source(text);
    if (!of_source && !is_value(session, text)) fail(text, "shortened");
    if (!session.is_new(of_source ? "a line of source" : text.words)) continue;
    if (!has_tooltip(session, text)) fail(text, "shortened, and no tooltip has the whole of it");
  }
}

void check_card_texts(ScreenSession& session, const std::string& where) {
  constexpr std::pair<float, float> kSizes[] = {{1280, 720}, {1600, 900}};
  for (const auto& [width, height] : kSizes) {
    session.resize(width, height);
    for (const bool presenter : {false, true}) {
      session.app().view.presenter = presenter;
      session.settle();
      check_texts(session,
                  fmt::format("{} {}x{}{}", where, width, height, presenter ? " presenter" : ""),
                  {presenter ? 18.0f : 8.0f});
    }
  }
  session.app().view.presenter = false;
  session.settle();
}

}  // namespace attnscope::test
