#include "app/guide/markdown.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace attnscope::app {

namespace {

constexpr std::string_view kCodeIndent = "    ";
constexpr std::string_view kBullet = "- ";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// The heading's name in links: lower case, spaces as '-', without punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(letter) != 0 || c == '-') anchor += static_cast<char>(std::tolower(letter));
  }
  return anchor;
}

/// Level of a heading, 1 to 6; 0 for any other line.
std::size_t heading_level(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  return level >= 1 && level <= 6 && line.substr(level).starts_with(' ') ? level : 0;
}

/// Splits a line into spans.
class SpanReader {
 public:
  explicit SpanReader(std::string_view text) : rest_(text) {}

  TextLine read() {
    while (!rest_.empty()) {
      if (take_code() || take_bold() || take_link()) continue;
      plain_ += rest_.front();
      rest_.remove_prefix(1);
    }
    end_plain();
    return std::move(spans_);
  }

 private:
  void end_plain() {
    if (!plain_.empty()) spans_.push_back({std::exchange(plain_, {}), TextStyle::plain, {}});
  }

  /// Removes two marks and the text between them from the beginning of the rest; returns the text.
  std::optional<std::string_view> take_between(std::string_view mark) {
    if (!rest_.starts_with(mark)) return std::nullopt;
    const std::size_t end = rest_.find(mark, mark.size());
    if (end == std::string_view::npos || end == mark.size()) return std::nullopt;
    const std::string_view inner = rest_.substr(mark.size(), end - mark.size());
    rest_.remove_prefix(end + mark.size());
    return inner;
  }

  bool take_code() {
    const auto code = take_between("`");
    if (!code) return false;
    end_plain();
    spans_.push_back({std::string(*code), TextStyle::code, {}});
    return true;
  }

  bool take_bold() {
    const auto bold = take_between("**");
    if (!bold) return false;
    end_plain();
    for (TextSpan span : parse_spans(*bold)) {
      if (span.style == TextStyle::plain) span.style = TextStyle::bold;
      spans_.push_back(std::move(span));
    }
    return true;
  }

  /// Takes [words](target), or ![words](picture), of which only the words are kept.
  bool take_link() {
    const bool is_picture = rest_.starts_with("![");
    const std::size_t open = is_picture ? 1 : 0;
    if (!rest_.substr(open).starts_with('[')) return false;
    const std::size_t middle = rest_.find("](");
    const std::size_t end = rest_.find(')', middle == std::string_view::npos ? 0 : middle);
    if (middle == std::string_view::npos || end == std::string_view::npos) return false;
    const std::string_view words = rest_.substr(open + 1, middle - open - 1);
    if (words.find('[') != std::string_view::npos) return false;
    const std::string target(rest_.substr(middle + 2, end - middle - 2));
    end_plain();
    for (TextSpan span : parse_spans(words)) {
      if (!is_picture) span.link = target;
      spans_.push_back(std::move(span));
    }
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
  std::string plain_;
  TextLine spans_;
};

/// The cells of a table's line; a bar within `code` belongs to the cell.
std::vector<TextLine> cells_of(std::string_view line) {
  line = trimmed(line);
  line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  std::vector<TextLine> cells;
  bool in_code = false;
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= line.size(); ++k) {
    if (k < line.size() && line[k] == '`') in_code = !in_code;
    if (k < line.size() && (line[k] != '|' || in_code)) continue;
    cells.push_back(parse_spans(trimmed(line.substr(begin, k - begin))));
    begin = k + 1;
  }
  return cells;
}

/// The line below a table's header: bars, dashes and colons.
bool is_rule(std::string_view line) {
  return line.starts_with('|') && line.find('-') != std::string_view::npos &&
         line.find_first_not_of("|-: ") == std::string_view::npos;
}

/// Reads the blocks of a document.
class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : lines_(lines_of(text)) {}

  std::vector<MarkdownBlock> read() {
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      if (trimmed(line).empty()) {
        ++at_;
      } else if (const std::size_t level = heading_level(line); level > 0) {
        TextLine text = parse_spans(trimmed(line.substr(level)));
        std::string anchor = anchor_of(plain_text(text));
        blocks_.push_back(Heading{level, std::move(text), std::move(anchor)});
        ++at_;
      } else if (line.starts_with(kCodeIndent)) {
        read_code();
      } else if (begins_table(at_)) {
        read_table();
      } else if (line.starts_with(kBullet)) {
        blocks_.push_back(ListItem{parse_spans(joined_text(kBullet.size()))});
      } else {
        blocks_.push_back(Paragraph{parse_spans(joined_text(0))});
      }
    }
    return std::move(blocks_);
  }

 private:
  bool begins_table(std::size_t at) const {
    return lines_[at].starts_with('|') && at + 1 < lines_.size() && is_rule(lines_[at + 1]);
  }

  /// Whether a paragraph or a list item ends before the line.
  bool ends_before(std::size_t at) const {
    const std::string_view line = lines_[at];
    return trimmed(line).empty() || heading_level(line) > 0 || line.starts_with(kBullet) ||
           begins_table(at);
  }

  /// The lines of a paragraph, joined, without the first `skipped` characters.
  std::string joined_text(std::size_t skipped) {
    std::string text(trimmed(lines_[at_].substr(skipped)));
    for (++at_; at_ < lines_.size() && !ends_before(at_); ++at_) {
      text += ' ';
      text += trimmed(lines_[at_]);
    }
    return text;
  }

  void read_code() {
    CodeBlock code;
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view line = lines_[at_];
      const bool is_blank = trimmed(line).empty();
      if (!is_blank && !line.starts_with(kCodeIndent)) break;
      code.lines.emplace_back(is_blank ? "" : line.substr(kCodeIndent.size()));
    }
    while (code.lines.back().empty()) code.lines.pop_back();
    blocks_.push_back(std::move(code));
  }

  void read_table() {
    MarkdownTable table{cells_of(lines_[at_]), {}};
    for (at_ += 2; at_ < lines_.size() && lines_[at_].starts_with('|'); ++at_) {
      table.rows.push_back(cells_of(lines_[at_]));
      table.rows.back().resize(table.header.size());
    }
    blocks_.push_back(std::move(table));
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::vector<MarkdownBlock> blocks_;
};

}  // namespace

std::string plain_text(const TextLine& line) {
  std::string text;
  for (const TextSpan& span : line) text += span.text;
  return text;
}

TextLine parse_spans(std::string_view text) {
  return SpanReader(text).read();
}

std::vector<MarkdownBlock> parse_markdown(std::string_view text) {
  return BlockReader(text).read();
}

}  // namespace attnscope::app
