/// The part of Markdown that the user guide is written in: headings, paragraphs, lists, tables,
/// code and links. Nothing is drawn here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attnscope::app {

enum class TextStyle : std::uint8_t { plain, bold, code };

/// A stretch of text in one style.
struct TextSpan {
  std::string text;
  TextStyle style = TextStyle::plain;
  std::string link;  ///< where a click leads: "model.md#time", "#time" or an address; else empty
  bool operator==(const TextSpan&) const = default;
};
using TextLine = std::vector<TextSpan>;

/// The text of a line without its styles.
std::string plain_text(const TextLine& line);

struct Heading {
  std::size_t level = 1;  ///< 1 is the page's title
  TextLine text;
  std::string anchor;  ///< as links name it: "predicted-time"
};
struct Paragraph {
  TextLine text;
};
struct ListItem {
  TextLine text;
};
/// Indented lines: commands and their output.
struct CodeBlock {
  std::vector<std::string> lines;
};
struct MarkdownTable {
  std::vector<TextLine> header;
  std::vector<std::vector<TextLine>> rows;  ///< each has as many cells as the header
};
using MarkdownBlock = std::variant<Heading, Paragraph, ListItem, CodeBlock, MarkdownTable>;

/// Parses a document. It never fails: text that is not valid markup remains plain text.
std::vector<MarkdownBlock> parse_markdown(std::string_view text);

/// The spans of one line. An opening mark without a closing one is plain text.
TextLine parse_spans(std::string_view text);

}  // namespace attnscope::app
