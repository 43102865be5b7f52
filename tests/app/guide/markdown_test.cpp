#include "app/guide/markdown.h"

#include <gtest/gtest.h>

namespace attnscope::app {
namespace {

TEST(Markdown, ReadsEveryKindOfBlock) {
  const auto blocks = parse_markdown(
      "# A title\n\nOne paragraph\non two lines.\n\n- first\n- second,\n  continued\n\n"
      "    $ command\n\n    output\n\n| a | b |\n| --- | :-: |\n| 1 | 2 |\n| 3 |\nAfter it.\n");
  ASSERT_EQ(blocks.size(), 7u);
  EXPECT_EQ(std::get<Heading>(blocks[0]).level, 1u);
  EXPECT_EQ(std::get<Heading>(blocks[0]).anchor, "a-title");
  EXPECT_EQ(plain_text(std::get<Paragraph>(blocks[1]).text), "One paragraph on two lines.");
  EXPECT_EQ(plain_text(std::get<ListItem>(blocks[2]).text), "first");
  EXPECT_EQ(plain_text(std::get<ListItem>(blocks[3]).text), "second, continued");
  const std::vector<std::string> code{"$ command", "", "output"};
  EXPECT_EQ(std::get<CodeBlock>(blocks[4]).lines, code);
  const auto& table = std::get<MarkdownTable>(blocks[5]);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(plain_text(table.header[1]), "b");
  EXPECT_EQ(plain_text(table.rows[0][1]), "2");
  EXPECT_TRUE(table.rows[1][1].empty()) << "a short row has empty cells";
  EXPECT_EQ(plain_text(std::get<Paragraph>(blocks[6]).text), "After it.");
}

TEST(Markdown, ReadsStylesAndLinks) {
  const TextLine expected{{"see ", TextStyle::plain, ""},
                          {"the ", TextStyle::plain, "model.md#time"},
                          {"time", TextStyle::code, "model.md#time"},
                          {", ", TextStyle::plain, ""},
                          {"never", TextStyle::bold, ""},
                          {" ", TextStyle::plain, ""},
                          {"a | b", TextStyle::code, ""}};
  EXPECT_EQ(parse_spans("see [the `time`](model.md#time), **never** `a | b`"), expected);
}

TEST(Markdown, KeepsTextWithoutMarkup) {
  for (const char* text :
       {"a [b, c] d", "2 * 3 ** 4", "`open", "[x](y", "**", "``", "a ] b ( c )"}) {
    EXPECT_EQ(plain_text(parse_spans(text)), text);
  }
}

TEST(Markdown, ABarInCodeDoesNotEndACell) {
  const auto blocks = parse_markdown("| a | b |\n|---|---|\n| `x | y` | z |\n");
  const auto& table = std::get<MarkdownTable>(blocks.at(0));
  EXPECT_EQ(plain_text(table.rows.at(0).at(0)), "x | y");
  EXPECT_EQ(plain_text(table.rows.at(0).at(1)), "z");
}

TEST(Markdown, EveryTextIsADocument) {
  for (const char* text : {"", "\n\n", "|", "| a\n|-", "#", "####### seven", "-", "    ", "\t"}) {
    EXPECT_NO_THROW(parse_markdown(text)) << text;
  }
}

}  // namespace
}  // namespace attnscope::app
