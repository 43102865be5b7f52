#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/app/cli/cli_process.h"

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
  ASSERT_EQ(document["errors"].size(), 8u);
  for (const ordered_json& row : document["errors"]) {
    for (const char* tensor : {"O", "dQ", "dK", "dV"}) {
      EXPECT_GT(row[tensor]["rel_fro_error"].get<double>(), 0.0) << row;
    }
    EXPECT_EQ(row.contains("carry"), row["algorithm"] == "flash1") << row;
    EXPECT_EQ(row.value("carry", "fp32"), "fp32") << row;
  }
  EXPECT_FALSE(document.contains("carry_note"));
  ASSERT_EQ(document["orders"].size(), 3u);
  for (const ordered_json& row : document["orders"]) {
    EXPECT_EQ(row["rest_is_identical"], true);
    EXPECT_EQ(row["orders"], 3);
    EXPECT_EQ(row["seq_len"], 96);
  }
}

TEST(Accuracy, SaysWhoseChoiceItIsToRoundOInEveryPass) {
  const std::string words = std::string(kSmall) + "--carry problem,fp32 ";
  const ordered_json document = ordered_json::parse(run_cli(words + "--json -").out);
  EXPECT_EQ(document["errors"].size(), 10u);
  EXPECT_NE(document["carry_note"].get<std::string>().find("AttnScope's choice"),
            std::string::npos);
  EXPECT_NE(run_cli(words).out.find("\"problem\": O (backward: dQ) is rounded to 16 bits"),
            std::string::npos);
  EXPECT_EQ(run_cli(kSmall).out.find("AttnScope's choice"), std::string::npos);

  const std::string rounded = "simulate --algorithm flash1 --seq-len 64 --check --round-to-storage";
  EXPECT_NE(run_cli(rounded).out.find("AttnScope's choice"), std::string::npos);
  EXPECT_EQ(run_cli(rounded + " --carry fp32").out.find("AttnScope's choice"), std::string::npos);
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
  for (const char* text :
       {"overflow", "flash1", "O in HBM", "identical", "unfused", "error of P (rounded scores)"}) {
    EXPECT_NE(table.out.find(text), std::string::npos) << text << "\n" << table.out;
  }
  const CliOutcome csv = run_cli(std::string(kSmall) + "--csv -");
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 9 + 8 + 3);
}

}  // namespace
}  // namespace attnscope
