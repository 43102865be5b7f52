/// `measure` with a GPU that echoes what it was given (tests/support/echo_gpu.cpp): the first
/// values of Q, K and V as times.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "tests/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

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

}  // namespace
}  // namespace attnscope
