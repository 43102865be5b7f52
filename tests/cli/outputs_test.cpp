#include "app/cli/outputs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/table.h"

namespace attnscope::cli {
namespace {

using nlohmann::ordered_json;

TEST(CsvText, ColumnsAreTheUnionInOrderOfFirstUse) {
  const std::vector<ordered_json> rows = {{{"a", 1}, {"b", {{"c", "x"}}}}, {{"d", true}, {"a", 2}}};
  EXPECT_EQ(csv_text(rows), "a,b.c,d\n1,x,\n2,,true\n");
}

TEST(CsvText, CommasQuotesAndLineBreaksAreQuoted) {
  const std::vector<ordered_json> rows = {{{"mask", "window:1,2"}, {"why", "say \"no\"\nnow"}}};
  EXPECT_EQ(csv_text(rows), "mask,why\n\"window:1,2\",\"say \"\"no\"\"\nnow\"\n");
}

TEST(CsvText, MissingNumbersAreEmptyNotZero) {
  EXPECT_EQ(csv_text({{{"a", nullptr}, {"b", 0}}}), "a,b\n,0\n");
}

TEST(TableText, ColumnsAreAligned) {
  EXPECT_EQ(table_text({{"name", "bytes"}, {"Q", "1234567"}}), "name    bytes\nQ     1234567\n");
}

}  // namespace
}  // namespace attnscope::cli
