#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSmall =
    "accuracy --seq-len 32,96 --dtype bf16 --head-dim 16 --block-rows 16 --block-cols 16 "
    "--orders 3 ";

TEST(Accuracy, DocumentHoldsTheThreeComparisons) {
  const CliOutcome outcome = run_cli(std::string(kSmall) + "--json -");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const ordered_json document = ordered_json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "attnscope.accuracy/1");
  EXPECT_EQ(document["kind"], "modelled");
  ASSERT_EQ(document["softmax"].size(), 9u);
  for (const ordered_json& row : document["softmax"]) {
    const bool naive = row["method"] == "naive";
    const char* given = "max_abs_error_given_rounded_scores";
    const char* unrounded = "max_abs_error_against_unrounded_scores";
    EXPECT_EQ(row.contains(given), !naive) << row;  // never printed as a number
    EXPECT_EQ(row.contains(unrounded), !naive) << row;
    if (!naive && row["dtype"] == "bf16") {
      EXPECT_GT(row[unrounded].get<double>(), row[given].get<double>()) << row;
    }
    EXPECT_EQ(row["nan_elems"].get<int>() > 0, naive) << row;
  }
  ASSERT_EQ(document["errors"].size(), 10u);
  for (const ordered_json& row : document["errors"]) {
    for (const char* tensor : {"O", "dQ", "dK", "dV"}) {
      EXPECT_GT(row[tensor]["rel_fro_error"].get<double>(), 0.0) << row;
    }
    EXPECT_EQ(row.contains("carry"), row["algorithm"] == "flash1") << row;
  }
  ASSERT_EQ(document["orders"].size(), 3u);
  for (const ordered_json& row : document["orders"]) {
    EXPECT_EQ(row["rest_is_identical"], true);
    EXPECT_EQ(row["orders"], 3);
    EXPECT_EQ(row["seq_len"], 96);
  }
}

TEST(Accuracy, TheForwardPassHasNoGradients) {
  const CliOutcome outcome = run_cli(std::string(kSmall) + "--pass forward --json -");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const ordered_json document = ordered_json::parse(outcome.out);
  EXPECT_TRUE(document["errors"][0].contains("O"));
  EXPECT_FALSE(document["errors"][0].contains("dQ"));
}

TEST(Accuracy, TablesAndCsvSayTheSame) {
  const CliOutcome table = run_cli(kSmall);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out.rfind("modelled: ", 0), 0u);
  for (const char* text : {"overflow", "flash1", "problem", "identical", "unfused",
                           "error of P, given the rounded scores"}) {
    EXPECT_NE(table.out.find(text), std::string::npos) << text << "\n" << table.out;
  }
  const CliOutcome csv = run_cli(std::string(kSmall) + "--csv -");
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 9 + 10 + 3);
}

}  // namespace
}  // namespace attnscope
