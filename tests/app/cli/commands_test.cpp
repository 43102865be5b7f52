#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

TEST(Help, EveryCommandExplainsItself) {
  const CliOutcome overview = run_cli("--help");
  EXPECT_EQ(overview.status, 0);
  EXPECT_EQ(overview.err, "");
  for (const std::string command : {"simulate", "run", "measure", "compare", "sweep", "accuracy",
                                    "calibrate", "list", "guide", "lesson"}) {
    EXPECT_NE(overview.out.find("\n  " + command), std::string::npos) << command;
    const CliOutcome help = run_cli(command + " --help");
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.out.find("--json"), std::string::npos) << command;
  }
}

TEST(Help, AfterASweepIsTheSweptCommands) {
  for (const std::string command : {"simulate", "measure"}) {
    const std::string help = run_cli(command + " --help").out;
    EXPECT_EQ(run_cli("sweep --over seq-len=64 -- " + command + " --help").out, help);
    EXPECT_EQ(run_cli("help " + command).out, help);
  }
  const std::string help = run_cli("sweep --help").out;
  EXPECT_NE(help.find("sweep [options] -- COMMAND"), std::string::npos) << help;
  EXPECT_EQ(run_cli("sweep --help -- simulate").out, help);
  EXPECT_EQ(run_cli("sweep -- --help").out, help);
}

TEST(Help, NamesEveryOptionOfTheContract) {
  const std::string help = run_cli("simulate --help").out;
  for (const char* option :
       {"--algorithm",  "--pass",       "--batch",    "--heads",          "--kv-heads",
        "--seq-len",    "--kv-len",     "--head-dim", "--dtype",          "--mask",
        "--block-rows", "--block-cols", "--carry",    "--allow-overflow", "--gpu",
        "--sram-bytes", "--l2-bytes",   "--inputs",   "--seed",           "--q",
        "--k",          "--v",          "--do",       "--check",          "--out",
        "--json",       "--csv"}) {
    EXPECT_NE(help.find(std::string("  ") + option + " "), std::string::npos) << option;
  }
}

TEST(Version, IsPrinted) {
  const CliOutcome outcome = run_cli("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("attnscope-cli ", 0), 0u);
}

TEST(Program, NeedsNoLibraryOfCudaToStart) {
  const std::string needed = run_cli("--version", {{"LD_TRACE_LOADED_OBJECTS", "1"}}).out;
  EXPECT_NE(needed.find("libc.so"), std::string::npos) << needed;
  for (const char* library : {"libcuda", "libnvrtc", "libcublas", "libcupti", "libnvidia"}) {
    EXPECT_EQ(needed.find(library), std::string::npos) << needed;
  }
}

TEST(List, EachListHasItsEntries) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"algorithms", {"standard", "flash1", "flash2", "block_sparse", "block_sparse2", "split_kv"}},
      {"kernels", {"standard", "flash1", "flash2", "block_sparse2", "split_kv"}},
      {"gpus",
       {"a100-40gb", "a100-80gb", "b200", "h100-sxm", "h200", "l4", "l40s", "rtx3090", "rtx4090",
        "t4", "v100"}}};
  for (const auto& [list, names] : expected) {
    const CliOutcome outcome = run_cli("list " + list + " --json -");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const json document = json::parse(outcome.out);
    EXPECT_EQ(document["schema"], "attnscope.list/1");
    std::vector<std::string> found;
    for (const json& row : document[list]) found.push_back(row["name"]);
    EXPECT_EQ(found, names);
    EXPECT_EQ(run_cli("list " + list).status, 0);
  }
}

TEST(List, ScenesHoldTheDefault) {
  const json document = json::parse(run_cli("list scenes --json -").out);
  const auto& scenes = document["scenes"];
  EXPECT_TRUE(std::any_of(scenes.begin(), scenes.end(),
                          [](const json& scene) { return scene["name"] == "default"; }));
}

TEST(List, WithoutAssetsSaysWhereItLookedForThem) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli("list gpus", {{"ATTNSCOPE_ASSETS", scratch.file("absent")}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err.rfind("unavailable: ", 0), 0u) << outcome.err;
  EXPECT_EQ(outcome.error_lines(), 1);
}

TEST(List, AMalformedRecordingIsARowWithItsReason) {
  const ScratchFolder scratch;
  std::filesystem::create_directories(scratch.path() / "recordings");
  scratch.write("recordings/broken.json", "{");
  const CliOutcome outcome =
      run_cli("list recordings --json -", {{"ATTNSCOPE_ASSETS", scratch.path().string()}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_TRUE(document["recordings"][0].contains("error")) << document;
}

TEST(Gpu, RunAndMeasureWithoutAGpuAreUnavailableNotACrash) {
  for (const std::string command : {"run", "measure"}) {
    const CliOutcome outcome =
        run_cli(command + " --algorithm flash2 --seq-len 64 --json -", without_gpu());
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.error_lines(), 1);
    EXPECT_EQ(outcome.err.rfind("unavailable: ", 0), 0u) << outcome.err;
  }
}

TEST(Gpu, MeasureWithoutAGpuLeavesNoRecording) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(
      "measure --algorithm flash2 --seq-len 64 --out " + scratch.file("a.json"), without_gpu());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(scratch.names().empty());
}

TEST(Memory, NumbersBeyondTheMachineAreRefusedBeforeTheyAreTried) {
  const std::string words = " --algorithm flash2 --seq-len 1048576 --head-dim 128 --heads 1024";
  for (const std::string command : {"simulate --check", "run"}) {
    const CliOutcome outcome = run_cli(command + words, without_gpu());
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.error_lines(), 1);
    EXPECT_NE(outcome.err.find("of memory, and this machine has"), std::string::npos)
        << outcome.err;
  }
}

}  // namespace
}  // namespace attnscope
