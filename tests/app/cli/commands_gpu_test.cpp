/// The commands that need a GPU, on a GPU. Without one the tests are skipped, with a message; with
/// ATTNSCOPE_REQUIRE_GPU=1 that is a failure.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const CliOutcome probe = run_cli("run --algorithm flash2 --seq-len 16 --head-dim 16");
    if (probe.status == 0) return;
    const char* required = std::getenv("ATTNSCOPE_REQUIRE_GPU");
    if (required != nullptr && std::string_view(required) == "1") FAIL() << probe.err;
    GTEST_SKIP() << probe.err;
  }
};

TEST_F(OnGpu, EveryKernelRunsTheDefaultSceneWithinTolerance) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
      const CliOutcome outcome = run_cli(fmt::format(
          "run --json - --seq-len 64 --head-dim 16 --algorithm {} --dtype {}", algorithm, dtype));
      EXPECT_EQ(outcome.status, 0) << algorithm << " " << dtype << " " << outcome.err;
      const json document = json::parse(outcome.out, nullptr, false);
      EXPECT_EQ(document["schema"], "attnscope.run/1");
      EXPECT_EQ(document["accuracy"]["within_tolerance"], true);
      EXPECT_GT(document["time"]["measured_s"].get<double>(), 0.0);
      EXPECT_GT(document["time"]["sm_clock_hz"].get<double>(), 1e8);
    }
  }
}

TEST_F(OnGpu, OutputsOfAModelledAndARealRunAgree) {
  const ScratchFolder scratch;
  const std::string words =
      " --algorithm flash2 --seq-len 100 --head-dim 64 --heads 2 --mask causal --dtype fp32 --out ";
  ASSERT_EQ(run_cli("simulate" + words + scratch.file("modelled")).status, 0);
  ASSERT_EQ(run_cli("run" + words + scratch.file("real")).status, 0);
  for (const std::string tensor : {"o", "lse"}) {
    const auto modelled = read_npy(scratch.file("modelled/" + tensor + ".npy"));
    const auto real = read_npy(scratch.file("real/" + tensor + ".npy"));
    ASSERT_TRUE(modelled.ok() && real.ok());
    ASSERT_EQ(modelled.value().shape, real.value().shape);
    for (std::size_t i = 0; i < real.value().data.size(); ++i) {
      EXPECT_NEAR(real.value().data[i], modelled.value().data[i], 1e-5) << tensor << " " << i;
    }
  }
}

TEST_F(OnGpu, AMeasurementIsARecordingThatCompareReads) {
  const ScratchFolder scratch;
  const CliOutcome measured =
      run_cli("measure --algorithm flash2 --seq-len 1024 --heads 16 --batch 2 --out " +
              scratch.file("a.json"));
  ASSERT_EQ(measured.status, 0) << measured.err;
  const CliOutcome compared = run_cli("compare --json - --recording " + scratch.file("a.json"));
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json run = json::parse(compared.out)["runs"][0];
  for (const json& line : run["lines"]) {
    if (line["level"] != "requested" || !line.contains("recorded")) continue;
    EXPECT_TRUE(std::abs(line["gap_percent"].get<double>()) <= 0.5) << line;
  }
}

TEST_F(OnGpu, EveryValueOfASwitchAsksForTheBytesOfItsSchedule) {
  const ScratchFolder scratch;
  for (const std::string axis : {"stages=1,2,3", "warps=4,8", "copies=registers", "swizzle=off",
                                 "rescale=always", "mask=all", "order=first"}) {
    const CliOutcome measured =
        run_cli("sweep --over knob." + axis +
                " -- measure --algorithm flash2 --seq-len 2048 --heads 16 --batch 2 --mask causal "
                "--knob instructions=mma --repeats 3 --out " +
                scratch.file("a.json"));
    ASSERT_EQ(measured.status, 0) << measured.err;
  }
  for (const std::string axis :
       {"stages=1,2", "rescale=always", "mask=all", "overlap=off", "ping-pong=off",
        "schedule=blocks", "heads=apart", "trim=off", "exp=mixed"}) {
    const CliOutcome on_hopper =
        run_cli("sweep --over knob." + axis +
                " -- measure --algorithm flash2 --seq-len 2048 --heads 16 --batch 2 --mask causal "
                "--head-dim 128 --block-rows 128 --block-cols 128 --repeats 3 --out " +
                scratch.file("a.json"));
    ASSERT_EQ(on_hopper.status, 0) << on_hopper.err;
  }
  const CliOutcome sliced = run_cli(
      "measure --algorithm flash2 --seq-len 2048 --heads 16 --batch 2 --mask causal --repeats 3 "
      "--block-rows 64 --block-cols 64 --knob instructions=mma --knob partition=sliced-k --out " +
      scratch.file("a.json"));
  ASSERT_EQ(sliced.status, 0) << sliced.err;
  const CliOutcome hidden = run_cli(
      "measure --algorithm flash2 --seq-len 2048 --heads 16 --batch 2 --mask causal "
      "--head-dim 128 --block-rows 128 --block-cols 128 --repeats 3 --visit-hidden --out " +
      scratch.file("a.json"));
  ASSERT_EQ(hidden.status, 0) << hidden.err;
  const CliOutcome compared = run_cli("compare --json - --recording " + scratch.file("a.json"));
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json runs = json::parse(compared.out)["runs"];
  EXPECT_EQ(runs.size(), 22u);
  int spilling = 0;
  for (const json& run : runs) {
    ASSERT_TRUE(run.contains("lines")) << run;
    for (const json& line : run["lines"]) {
      if (line["level"] != "requested" || !line.contains("recorded")) continue;
      if (line.value("in_place_of_gap", "") == "not comparable: spills") {
        ++spilling;
        continue;
      }
      ASSERT_TRUE(line.contains("gap_percent")) << run << line;
      EXPECT_TRUE(std::abs(line["gap_percent"].get<double>()) <= 0.1) << run << line;
    }
  }
  EXPECT_LE(spilling, 2 * 3);  // read and written, of at most three runs
}

TEST_F(OnGpu, ConsumersWithoutRowsAskForNothing) {
  const ScratchFolder scratch;
  // The last row tile of a head has 128 and 64 rows for three consumers of 64
  const CliOutcome measured = run_cli(
      "sweep --over seq-len=512,1024 -- measure --algorithm flash2 --dtype bf16 --heads 32 "
      "--batch 4 --head-dim 64 --block-rows 192 --block-cols 128 --repeats 3 --out " +
      scratch.file("a.json"));
  ASSERT_EQ(measured.status, 0) << measured.err;
  const CliOutcome compared = run_cli("compare --json - --recording " + scratch.file("a.json"));
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json runs = json::parse(compared.out)["runs"];
  ASSERT_EQ(runs.size(), 2u);
  for (const json& run : runs) {
    ASSERT_TRUE(run.contains("lines")) << run;
    for (const json& line : run["lines"]) {
      if (line["level"] != "requested" || line["quantity"] != "read") continue;
      ASSERT_TRUE(line.contains("gap_percent")) << run << line;
      EXPECT_TRUE(std::abs(line["gap_percent"].get<double>()) <= 0.1) << run["problem"] << line;
    }
  }
}

TEST_F(OnGpu, BlockSparseAsksForTheBytesOfItsMask) {
  const ScratchFolder scratch;
  const CliOutcome measured = run_cli(
      "sweep --over pass=forward,backward --over mask=none,causal --over "
      "block-mask=uniform:0.3,butterfly,local-global:1,1 -- measure --algorithm block_sparse2 "
      "--seq-len 2048 --heads 16 --batch 2 --repeats 3 --out " +
      scratch.file("a.json"));
  ASSERT_EQ(measured.status, 0) << measured.err;
  // With three stages, loads run two tiles ahead; they must stop at the end of a list
  const CliOutcome ahead = run_cli(
      "sweep --over knob.stages=2,3 -- measure --algorithm block_sparse2 --seq-len 2048 "
      "--heads 16 --batch 2 --block-mask butterfly --knob instructions=mma --repeats 3 --out " +
      scratch.file("a.json"));
  ASSERT_EQ(ahead.status, 0) << ahead.err;
  const CliOutcome compared = run_cli("compare --json - --recording " + scratch.file("a.json"));
  ASSERT_EQ(compared.status, 0) << compared.err;
  const json runs = json::parse(compared.out)["runs"];
  ASSERT_EQ(runs.size(), 14u);
  for (const json& run : runs) {
    ASSERT_TRUE(run.contains("lines")) << run;
    for (const json& line : run["lines"]) {
      if (line["level"] != "requested" || !line.contains("recorded")) continue;
      ASSERT_TRUE(line.contains("gap_percent")) << run << line;
      EXPECT_TRUE(std::abs(line["gap_percent"].get<double>()) <= 0.5) << run["pass"] << line;
    }
  }
}

TEST_F(OnGpu, AMeasuredTraceHasAWindowAndScoreFunctions) {
  const ScratchFolder scratch;
  const std::string saved = scratch.file("saved.json");
  const CliOutcome measured = run_cli(
      "trace --measured --algorithm flash2 --heads 2 --seq-len 1024 --block-rows 128 "
      "--block-cols 128 --mask window:200,0 "
      "--softcap 30 --alibi --dropout 0.1 --rows 64 --out " +
      scratch.file("a.json") + " --save " + saved);
  ASSERT_EQ(measured.status, 0) << measured.err;
  EXPECT_NE(measured.out.find("bf16, window:200,0, softcap 30, alibi, dropout 0.1"),
            std::string::npos)
      << measured.out;
  const CliOutcome read =
      run_cli("trace --recording " + saved + " --out " + scratch.file("b.json"));
  ASSERT_EQ(read.status, 0) << read.err;
  const auto blocks = [&](const std::string& file) {
    int count = 0;
    const json document = json::parse(read_text(scratch.path() / file));
    for (const json& event : document.at("traceEvents")) {
      count += event.value("cat", "") == "thread block" ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(blocks("a.json"), 2 * 8);
  EXPECT_EQ(blocks("b.json"), 2 * 8);
}

TEST_F(OnGpu, AMeasuredTraceNamesItsSwitchesAndProgramAndKeepsThem) {
  const ScratchFolder scratch;
  const std::string saved = scratch.file("saved.json");
  const CliOutcome measured = run_cli(
      "trace --measured --algorithm flash2 --heads 2 --seq-len 256 --rows 64 --block-rows 64 "
      "--block-cols 64 --knob instructions=mma --knob partition=sliced-k --out " +
      scratch.file("a.json") + " --save " + saved);
  ASSERT_EQ(measured.status, 0) << measured.err;
  const std::string named =
      "flash2, N 256, d 64, B 1, H 2, bf16, instructions=mma, partition=sliced-k, tiles 64x64, "
      "mma.sync, on ";
  EXPECT_NE(measured.out.find(named), std::string::npos) << measured.out;
  const CliOutcome read =
      run_cli("trace --recording " + saved + " --out " + scratch.file("b.json"));
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_NE(read.out.find(named), std::string::npos) << read.out;
  const json row = json::parse(read_text(saved))["rows"][0];
  ASSERT_EQ(row.size(), 7u) << row;
  EXPECT_EQ(row[6].size(), 4u) << "a part for each warp";
}

TEST_F(OnGpu, ASweepOfMeasurementsFillsOneRecording) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(
      "sweep --json - --over algorithm=standard,flash2 --over seq-len=256,512 -- measure "
      "--repeats 3 --out " +
      scratch.file("a.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).size(), 4u);
  EXPECT_EQ(json::parse(read_text(scratch.path() / "a.json"))["rows"].size(), 4u);
}

TEST_F(OnGpu, ACalibrationIsADocumentWithEveryQuantity) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli("calibrate --repeats 3 --out " + scratch.file("c.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(read_text(scratch.path() / "c.json"));
  EXPECT_EQ(document["schema"], "attnscope.calibration/1");
  EXPECT_GT(document["quantities"].size(), 60u);
  for (const json& quantity : document["quantities"]) {
    EXPECT_NE(outcome.out.find(quantity["name"].get<std::string>()), std::string::npos) << quantity;
  }
}

TEST_F(OnGpu, OutOfMemoryIsARowOfTheSweep) {
  const CliOutcome outcome = run_cli(
      "sweep --json - --over seq-len=256,262144 -- measure --algorithm standard --dtype bf16 "
      "--heads 32 --head-dim 64 --repeats 3 --no-counters --checked-rows 0");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  EXPECT_TRUE(rows[0].contains("time"));
  // S and P of 2^43 bytes, and Q, K, V, O and LSE
  const std::string message = rows[1].value("failed", "");
  EXPECT_EQ(message.rfind("out of memory: needs 8800.4 GB (8796.1 GB of workspace), ", 0), 0u)
      << rows[1];
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace
}  // namespace attnscope
