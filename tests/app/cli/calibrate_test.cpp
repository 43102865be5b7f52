/// `calibrate` with a GPU that echoes its inputs (tests/support/echo_gpu.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(Calibrate, PrintsEachQuantityWithItsSpread) {
  const CliOutcome outcome = run_cli("calibrate");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "Echo (measured), 132 SMs\n\n"
            "quantity                           median  max - min   n  datasheet\n"
            "dram_read_bytes_per_s           4.25 TB/s      7.1 %  11\n"
            "launch_overhead_s                 2.25 us     44.4 %  11\n"
            "sm_clock_hz                    1500.0 MHz     13.3 %  11\n"
            "l2_capacity_shared_bytes        28.61 MiB      6.7 %  11\n"
            "wgmma_flops_per_cycle_per_sm  unavailable\n"
            "\n1 unavailable: needs compute capability 9.0\n");
}

TEST(Calibrate, WritesOneDocumentToEveryFile) {
  const ScratchFolder scratch;
  const CliOutcome outcome =
      run_cli("calibrate --repeats 5 --json - --out " + scratch.file("echo.calibration.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_text(scratch.file("echo.calibration.json")), outcome.out);
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "attnscope.calibration/1");
  EXPECT_EQ(document["device"]["name"], "Echo");
  const json quantity = document["quantities"][0];
  EXPECT_EQ(quantity["name"], "dram_read_bytes_per_s");
  EXPECT_EQ(quantity["value"], 4.25e12);
  EXPECT_EQ(quantity["n"], 5);
  EXPECT_EQ(document["quantities"][4]["unavailable"], "needs compute capability 9.0");
}

TEST(Calibrate, WritesTheQuantitiesAsCsv) {
  const CliOutcome outcome = run_cli("calibrate --csv -");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("name,value,min,max,n,unit,how,unavailable\n"));
  EXPECT_THAT(outcome.out, HasSubstr("launch_overhead_s,2.25e-06,2e-06,3e-06,11,s,"));
}

TEST(Calibrate, ReplacesAShippedCalibrationOnly) {
  const ScratchFolder assets;
  std::filesystem::create_directories(assets.path() / "gpus");
  assets.write("gpus/h200.json", "{}");
  assets.write("gpus/h200.calibration.json", "{}");
  const Environment environment{{"ATTNSCOPE_ASSETS", assets.path().string()}};
  const CliOutcome refused =
      run_cli("calibrate --out " + assets.file("gpus/h200.json"), environment);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("is the description of a GPU"));
  const CliOutcome replaced =
      run_cli("calibrate --out " + assets.file("gpus/h200.calibration.json"), environment);
  EXPECT_EQ(replaced.status, 0) << replaced.err;
  EXPECT_EQ(json::parse(read_text(assets.file("gpus/h200.calibration.json")))["schema"],
            "attnscope.calibration/1");
}

TEST(Calibrate, RefusesBeforeItMeasures) {
  for (const std::string words : {"--repeats 2", "--repeats many", "--out /nonexistent/c.json"}) {
    const CliOutcome outcome = run_cli("calibrate " + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Calibrate, WithoutAGpuIsUnavailableAndWritesNothing) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli("calibrate --out " + scratch.file("c.json"), without_gpu());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("unavailable: no GPU"));
  EXPECT_EQ(outcome.error_lines(), 1);
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace attnscope
