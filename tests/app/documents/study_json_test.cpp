/// Studies as JSON and CSV.
#include "app/documents/study_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/outputs.h"

namespace attnscope::cli {
namespace {

Study one_study() {
  const Table launches{.columns = {{"name", ""}, {"bytes", ""}}, .rows = {{"lse", 8}, {"dq", 9}}};
  const Table steps{.key = "steps",
                    .columns = {{"name", "step"},
                                {"tiling.Br", ""},
                                {"tiling.Bc", ""},
                                {"", "only text"},
                                {"launches", ""},
                                {"missing", "missing"}},
                    .rows = {{"rows", 64, 32, "text", launches, Cell::only_text("-")}}};
  return {.title = "title",
          .facts = {{"schema", "a/1"}, {"problem", ordered_json{{"seq_len", 5}}}},
          .tables = {steps, {.columns = {{"", "step"}}, .rows = {{"text alone"}}}},
          .footnotes = {{"a reason", "why"}, {"only text"}, {"", "empty"}}};
}

std::string csv_of(const Study& study) {
  return csv_text(csv_rows(study));
}

TEST(StudyJson, HasFactsFootnotesAndAListForEachTable) {
  const auto expected = ordered_json::parse(R"({
    "schema": "a/1", "problem": {"seq_len": 5}, "why": "a reason",
    "steps": [{"name": "rows", "tiling": {"Br": 64, "Bc": 32},
               "launches": [{"name": "lse", "bytes": 8}, {"name": "dq", "bytes": 9}]}]})");
  EXPECT_EQ(study_json(one_study()), expected);
}

TEST(StudyJson, ACellOfJsonWithoutAKeyIsMergedIntoItsRow) {
  const Table table{.columns = {{"", ""}, {"b", ""}}, .rows = {{ordered_json{{"a", 1}}, 2}}};
  EXPECT_EQ(rows_json(table), ordered_json::parse(R"([{"a": 1, "b": 2}])"));
}

TEST(StudyCsv, HasALineForEachRowOrForEachRowOfTheListsWithin) {
  Study study = one_study();
  EXPECT_EQ(csv_of(study), "name,tiling.Br,tiling.Bc\nrows,64,32\n");
  study.tables[0].csv = Table::Csv::listed_rows;
  study.tables[0].columns[0].key = "step";
  EXPECT_EQ(csv_of(study),
            "step,tiling.Br,tiling.Bc,name,bytes\nrows,64,32,lse,8\nrows,64,32,dq,9\n");
  study.tables[0].csv = Table::Csv::none;
  EXPECT_EQ(csv_of(study), "\n");
}

TEST(StudyCsv, NamesTheTablesIfThereAreSeveral) {
  Study study = one_study();
  study.tables[1].key = "ideas";
  study.tables[1].columns[0].key = "idea";
  EXPECT_EQ(csv_of(study),
            "table,name,tiling.Br,tiling.Bc,idea\nsteps,rows,64,32,\nideas,,,,text alone\n");
}

}  // namespace
}  // namespace attnscope::cli
