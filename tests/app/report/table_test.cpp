/// Typed tables as text and Markdown.
#include "app/report/table.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

Table two_algorithms() {
  return {.title = "bytes",
          .columns = {{"algorithm", "algorithm"},
                      {"bytes", "moved", Unit::bytes},
                      {"in_range", ""},
                      {"share", "share", Unit::share}},
          .rows = {{"flash1", 2000, true, 0.5}, {"flash2", Cell(1500, "few"), false, Cell()}}};
}

TEST(Table, NumbersAreShownInTheirUnitAndAlignedRight) {
  EXPECT_EQ(to_text(two_algorithms()),
            "bytes\n"
            "algorithm  moved   share\n"
            "flash1      2 kB  50.0 %\n"
            "flash2       few\n");
}

TEST(Table, MarkdownHasTheSameColumns) {
  EXPECT_EQ(to_markdown(two_algorithms()),
            "| algorithm | moved | share |\n"
            "| --- | ---: | ---: |\n"
            "| flash1 | 2 kB | 50.0 % |\n"
            "| flash2 | few |  |\n");
}

TEST(Table, ABarInACellDoesNotEndItsCellOfMarkdown) {
  const Table table{.columns = {{"a", "a"}}, .rows = {{"x|y\nz"}}};
  EXPECT_EQ(to_markdown(table), "| a |\n| --- |\n| x\\|y?z |\n");
}

TEST(Table, AColumnWithoutTextIsLeftOut) {
  Table table = two_algorithms();
  table.rows[0][3] = Cell(0.5, "");
  EXPECT_EQ(to_text(table).find("share"), std::string::npos);
}

TEST(Table, ColumnsMayBeLines) {
  Table table = two_algorithms();
  table.columns_as_lines = true;
  EXPECT_EQ(to_text(table),
            "bytes\n"
            "algorithm  flash1  flash2\n"
            "moved        2 kB     few\n"
            "share      50.0 %\n");
}

TEST(Table, ListsWithinRowsFollowUnderTheirTitles) {
  Table list{.title = "run 1", .columns = {{"level", "level"}}, .rows = {{"dram"}}};
  list.indent = "  ";
  Table table{.columns = {{"lines", ""}}, .rows = {{list}}};
  list.title = "run 2";
  table.rows.push_back({list});
  EXPECT_EQ(to_text(table), "run 1\n  level\n  dram\n\nrun 2\n  level\n  dram\n");
}

TEST(Study, HasItsFootnotesBelowTheTables) {
  const Study study{.title = "title",
                    .facts = {{"schema", "a/1"}},
                    .tables = {two_algorithms(), two_algorithms()},
                    .footnotes = {{""}, {"no claim", "", "*"}, {"plain"}}};
  const std::string table = to_text(two_algorithms());
  EXPECT_EQ(to_text(study), "title\n\n" + table + "\n" + table + "\n*: no claim\nplain\n");
}

TEST(Study, AsMarkdownHasTheTablesAndTheFootnotesAsAList) {
  Table lines = two_algorithms();
  lines.columns_as_lines = true;
  lines.title = "";
  Table runs{.columns = {{"", ""}}, .rows = {{two_algorithms()}}};
  const Study study{.title = "title",
                    .facts = {},
                    .tables = {lines, runs},
                    .footnotes = {{""}, {"no claim", "", "*"}, {"- for long rows"}}};
  EXPECT_EQ(to_markdown(study),
            "title\n\n"
            "| algorithm | flash1 | flash2 |\n"
            "| --- | ---: | ---: |\n"
            "| moved | 2 kB | few |\n"
            "| share | 50.0 % |  |\n"
            "\nbytes\n\n" +
                to_markdown(two_algorithms()) + "\n- *: no claim\n  - for long rows\n");
}

}  // namespace
}  // namespace attnscope
