/// `measure` with a GPU that echoes its inputs (tests/support/echo_gpu.cpp): the first values of Q,
/// K and V as times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Measure, TakesTheUsersOwnTensors) {
  const ScratchFolder scratch;
  const std::vector<Index> shape{1, 1, 8, 64};
  std::string files;
  double value = 1.5;
  for (const std::string name : {"q", "k", "v", "do"}) {
    ASSERT_FALSE(write_npy(scratch.file(name + ".npy"), shape,
                           std::vector<double>(std::size_t{8} * 64, value)));
    files += " --" + name + " " + scratch.file(name + ".npy");
    value += 1.0;
  }
  const CliOutcome outcome =
      run_cli("measure --algorithm flash2 --seq-len 8 --pass both --no-counters --json -" + files);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) {
    EXPECT_EQ(row["inputs"]["kind"], "files");
    EXPECT_EQ(row["time"]["min_s"], 1.5);
    EXPECT_EQ(row["time"]["median_s"], 2.5);
    EXPECT_EQ(row["time"]["max_s"], 3.5);
  }
  EXPECT_EQ(rows[1]["gradient_errors"]["dQ"]["max_abs_error"], 4.5) << rows[1];
}

TEST(Measure, AMeasurementWithoutMeaningFails) {
  const ScratchFolder scratch;
  const std::vector<Index> shape{1, 1, 8, 64};
  ASSERT_FALSE(
      write_npy(scratch.file("q.npy"), shape, std::vector<double>(std::size_t{8} * 64, -1.5)));
  const std::string file = scratch.file("r.json");
  const CliOutcome outcome = run_cli("measure --algorithm flash2 --seq-len 8 --no-counters --q " +
                                     scratch.file("q.npy") + " --out " + file);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("min_s: -1.5 is out of range"));
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(json::parse(read_text(file))["rows"][0]["failed"].get<std::string>(),
              HasSubstr("min_s"));
}

TEST(Measure, DrawsTheTensorsThatHaveNoFile) {
  const ScratchFolder scratch;
  const std::vector<Index> shape{1, 1, 8, 64};
  ASSERT_FALSE(
      write_npy(scratch.file("k.npy"), shape, std::vector<double>(std::size_t{8} * 64, 2.5)));
  const CliOutcome outcome = run_cli(
      "measure --algorithm flash2 --seq-len 8 --no-counters --json - --k " + scratch.file("k.npy"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json row = json::parse(outcome.out)["rows"][0];
  EXPECT_EQ(row["inputs"]["kind"], "files");
  EXPECT_EQ(row["time"]["median_s"], 2.5);
}

TEST(Measure, ReportsTheSmClockWhereItWasRead) {
  const ScratchFolder scratch;
  const std::string words =
      "measure --algorithm flash2 --seq-len 1710 --inputs needle --no-counters --seed ";
  const CliOutcome text = run_cli(words + "5 --out " + scratch.file("r.json"));
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("SM clock +1.71 GHz"));
  EXPECT_EQ(json::parse(read_text(scratch.file("r.json")))["rows"][0]["time"]["sm_clock_hz"],
            1.71e9);
  const CliOutcome document = run_cli(words + "5 --json -");
  EXPECT_EQ(json::parse(document.out)["rows"][0]["time"]["sm_clock_hz"], 1.71e9);

  const CliOutcome without = run_cli(words + "23");
  ASSERT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, Not(HasSubstr("SM clock")));
  const json time = json::parse(run_cli(words + "23 --json -").out)["rows"][0]["time"];
  EXPECT_EQ(time["median_s"], 23.0);
  EXPECT_FALSE(time.contains("sm_clock_hz"));
}

TEST(Measure, ShowsCompilationThatTakesAWhile) {
  const std::string words = "measure --algorithm flash2 --seq-len 8 --no-counters --seed ";
  const CliOutcome slow = run_cli_on_terminal(words + "17");
  EXPECT_EQ(slow.status, 0) << slow.err;
  EXPECT_THAT(slow.err, HasSubstr("measuring: compiling 1 of 2"));
  EXPECT_THAT(slow.err, HasSubstr("measuring: compiling 2 of 2"));
  const CliOutcome cached = run_cli_on_terminal(words + "3");
  EXPECT_EQ(cached.status, 0) << cached.err;
  EXPECT_THAT(cached.err, HasSubstr("measuring"));
  EXPECT_THAT(cached.err, Not(HasSubstr("compiling")));
  EXPECT_EQ(run_cli(words + "17").err, "") << "no terminal";
}

TEST(Measure, SaysWhereTheCompilerRefusesAKernel) {
  const ScratchFolder scratch;
  const CliOutcome refused =
      run_cli("measure --algorithm flash2 --seq-len 8 --seed 19 --out " + scratch.file("r.json"));
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.error_lines(), 1);
  EXPECT_THAT(refused.err, HasSubstr("kernels/echo.cuh(12): error: no echo"));
  EXPECT_THAT(read_text(scratch.file("r.json")), HasSubstr("kernels/echo.cuh(12): error: no echo"));
}

}  // namespace
}  // namespace attnscope
