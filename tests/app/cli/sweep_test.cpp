#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/sweep_axes.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

json swept(const std::string& words) {
  const CliOutcome outcome = run_cli("sweep --json - " + words);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return json::parse(outcome.out, nullptr, false);
}

TEST(Sweep, RunsTheCartesianProductLastListFastest) {
  const json rows =
      swept("--over algorithm=flash1,flash2 --over seq-len=64,128,256 -- simulate --head-dim 32");
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[1]["point"], (json{{"algorithm", "flash1"}, {"seq-len", "128"}}));
  EXPECT_EQ(rows[1]["algorithm"], "flash1");
  EXPECT_EQ(rows[1]["problem"]["seq_len"], 128);
  EXPECT_EQ(rows[3]["algorithm"], "flash2");
  EXPECT_EQ(rows[5]["problem"]["head_dim"], 32);
}

TEST(Sweep, KeysJoinedByAPlusMoveTogether) {
  const json rows = swept(
      "--over batch+seq-len=4+64,2+128 --over mask=none,window:3,4 -- simulate --algorithm flash2");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3]["point"], (json{{"batch", "2"}, {"seq-len", "128"}, {"mask", "window:3,4"}}));
  EXPECT_EQ(rows[0]["problem"]["batch"], 4);
  EXPECT_EQ(rows[2]["problem"]["seq_len"], 128);
  const CliOutcome refused =
      run_cli("sweep --over batch+seq-len=4,2+128 -- simulate --algorithm flash2");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.error_lines(), 1);
  EXPECT_NE(refused.err.find("'4' has 1 parts for 2 keys"), std::string::npos) << refused.err;
}

TEST(Sweep, EachRowIsWhatSimulateAnswers) {
  json row = swept("--over seq-len=100 -- simulate --algorithm flash2 --check")[0];
  row.erase("point");
  const CliOutcome single = run_cli("simulate --algorithm flash2 --seq-len 100 --check --json -");
  EXPECT_EQ(row, json::parse(single.out));
}

TEST(Sweep, SwitchesOfAKernelAreKeys) {
  EXPECT_EQ(cli::option_text("knob.stages", "1"), "--knob=stages=1");
  EXPECT_EQ(cli::option_text("seq-len", "64"), "--seq-len=64");
  const CliOutcome unknown =
      run_cli("sweep --over knob.stages=9 -- measure --algorithm flash2 --seq-len 64");
  EXPECT_EQ(unknown.status, 1);  // the only point has no result
  EXPECT_THAT(unknown.err, ::testing::HasSubstr("switch stages is '9'; it accepts 2, 1, 3"));
  const CliOutcome model = run_cli("sweep --over knob.stages=1 -- simulate");
  EXPECT_EQ(model.status, 2);
  EXPECT_THAT(model.err, ::testing::HasSubstr("knob.stages"));
}

TEST(Sweep, ARefusedPointIsARowAndTheSweepContinues) {
  const CliOutcome outcome =
      run_cli("sweep --json - --over kv-heads=1,4,2 -- simulate --algorithm flash2 --heads 6");
  EXPECT_EQ(outcome.status, 0);
  const json rows = json::parse(outcome.out);
  EXPECT_EQ(outcome.err.rfind("note: no result for 1 of the 3 points; the first: kv-heads=4: ", 0),
            0u)
      << outcome.err;
  EXPECT_EQ(outcome.error_lines(), 1);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].contains("traffic"));
  EXPECT_NE(rows[1]["refused"].get<std::string>().find("must divide"), std::string::npos);
  EXPECT_FALSE(rows[1].contains("traffic"));
  EXPECT_TRUE(rows[2].contains("traffic"));
}

TEST(Sweep, AnAlgorithmWithoutTheChoiceIsARefusedPoint) {
  const CliOutcome outcome =
      run_cli("sweep --json - --over algorithm=flash2,split_kv -- simulate --splits 2");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  EXPECT_EQ(rows[0]["refused"].get<std::string>().rfind("--splits is for split_kv", 0), 0u)
      << rows[0];
  EXPECT_EQ(rows[1]["splits"], 2);
}

TEST(Sweep, WindowsKeepTheirCommas) {
  const json rows =
      swept("--over mask=none,window:3,4,causal -- simulate --algorithm flash2 --seq-len 64");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]["problem"]["mask"], "window:3,4");
  EXPECT_EQ(rows[2]["problem"]["mask"], "causal");
}

TEST(Sweep, ItsFilesAreNotThoseOfAPoint) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(
      "sweep --json r.json --over seq-len=64,128 -- measure --algorithm flash2 --out r.json",
      without_gpu(), scratch.path());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("both name"), std::string::npos) << outcome.err;
  EXPECT_EQ(scratch.names(), std::vector<std::string>{});
}

TEST(Sweep, CsvHasARowPerPoint) {
  const CliOutcome outcome = run_cli(
      "sweep --csv - --over kv-heads=1,4 -- simulate --algorithm flash2 --heads 6 --seq-len 64");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_NE(outcome.out.find("must divide"), std::string::npos);
}

TEST(Sweep, TableHasTheListsAsColumns) {
  const CliOutcome outcome = run_cli("sweep --over seq-len=64,128 -- simulate --algorithm flash2");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("seq-len"), std::string::npos);
  EXPECT_NE(outcome.out.find("modelled"), std::string::npos);
}

TEST(Sweep, TheReasonWhyAPointHasNoResultIsAColumn) {
  const CliOutcome outcome =
      run_cli("sweep --over kv-heads=1,4 -- simulate --algorithm flash2 --heads 6 --seq-len 64");
  EXPECT_EQ(outcome.out.rfind("modelled\n\nkv-heads  requested read", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("bound by  no result\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n4   "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" refused: "), std::string::npos) << outcome.out;
}

TEST(Sweep, WithoutAnyResultItFails) {
  const CliOutcome outcome =
      run_cli("sweep --over kv-heads=4,5 -- simulate --algorithm flash2 --heads 6");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.error_lines(), 1);
}

TEST(Sweep, MeasuringWithoutAGpuSaysWhyInEveryRow) {
  const CliOutcome outcome =
      run_cli("sweep --json - --over seq-len=256,512 -- measure --algorithm flash2", without_gpu());
  EXPECT_EQ(outcome.status, 1);
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) EXPECT_TRUE(row.contains("unavailable")) << row;
  EXPECT_EQ(outcome.err.rfind("unavailable: none of the 2 points has a result; the first: ", 0), 0u)
      << outcome.err;
  EXPECT_NE(outcome.err.find(rows[0]["unavailable"].get<std::string>()), std::string::npos);
  EXPECT_EQ(outcome.error_lines(), 1);
}

TEST(SweepAxes, PointsCountIsTheProductOfTheLists) {
  const std::vector<cli::SweepAxis> axes = {{{"a"}, {{"1"}, {"2"}}},
                                            {{"b"}, {{"x"}, {"y"}, {"z"}}}};
  const auto points = cli::all_points(axes);
  ASSERT_TRUE(points.ok());
  ASSERT_EQ(points.value().size(), 6u);
  EXPECT_EQ(points.value()[4], (cli::SweepPoint{{"a", "2"}, {"b", "y"}}));
}

}  // namespace
}  // namespace attnscope
