/// attnscope-cli trace: a file that a trace viewer opens.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

TEST(Trace, WritesAFileAndSaysWhatIsInIt) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(
      "trace --algorithm flash2 --seq-len 256 --heads 2 --out trace.json", {}, scratch.path());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("a lower bound from the datasheet's peak rates"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(scratch.names(), (std::vector<std::string>{"trace.json"}));
  const json document = json::parse(read_text(scratch.path() / "trace.json"));
  EXPECT_EQ(document.at("otherData").at("kind"), "modelled");
  EXPECT_GT(document.at("traceEvents").size(), 10u);
}

TEST(Trace, OnStandardOutputIsNothingButTheTrace) {
  const CliOutcome outcome = run_cli("trace --algorithm flash1 --pass both --seq-len 64 --out -");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(json::accept(outcome.out));
}

TEST(Trace, ARecordedRunsTextIsShownAsOneLine) {
  const ScratchFolder scratch;
  json saved = json::parse(
      read_text(find_assets_dir().value() / "recordings" / "traces" / "flash2-forward-64.json"));
  const auto shown = [&] {
    const std::string file = scratch.write("saved.json", saved.dump());
    const CliOutcome outcome = run_cli("trace --recording " + file + " --out /dev/null");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  const std::string clean = shown();
  saved["device"]["name"] = "GPU\n\x1b[2J";
  saved["date"] = "now\n\x1b[2J";
  const std::string text = shown();
  EXPECT_NE(text.find("on GPU??[2J\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" now??[2J\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            std::count(clean.begin(), clean.end(), '\n'));
}

TEST(Trace, ARecordedRunsSwitchesAndProgramAreNamed) {
  const ScratchFolder scratch;
  json saved = json::parse(
      read_text(find_assets_dir().value() / "recordings" / "traces" / "flash2-forward-64.json"));
  saved["switches"] = "instructions=mma,stages=1";
  saved["instructions"] = "mma.sync";
  const CliOutcome outcome = run_cli(
      "trace --recording " + scratch.write("saved.json", saved.dump()) + " --out trace.json", {},
      scratch.path());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string run =
      "flash2, N 64, d 16, B 1, H 1, fp16, instructions=mma, stages=1, tiles 16x16, mma.sync, on ";
  EXPECT_NE(outcome.out.find(run), std::string::npos) << outcome.out;
  EXPECT_NE(read_text(scratch.path() / "trace.json").find(run), std::string::npos);
}

TEST(Trace, OfARecordedRunIsTheRealGpusInTheSameFormat) {
  const ScratchFolder scratch;
  const CliOutcome outcome =
      run_cli("trace --recording flash2-forward-64 --out trace.json", {}, scratch.path());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("measured, recorded by the kernel"), std::string::npos) << outcome.out;
  const json document = json::parse(read_text(scratch.path() / "trace.json"));
  EXPECT_EQ(document.at("otherData").at("schema"), "attnscope.trace/1");
  EXPECT_EQ(document.at("otherData").at("kind"), "measured");
  int blocks = 0, products = 0;
  double end_us = 0.0;
  for (const json& event : document.at("traceEvents")) {
    const std::string category = event.value("cat", "");
    blocks += category == "thread block" ? 1 : 0;
    products += category == "matrix products" ? 1 : 0;
    if (category == "thread block") {
      EXPECT_GE(event.at("ts").get<double>(), 0.0);
      end_us = std::max(end_us, event.at("ts").get<double>() + event.at("dur").get<double>());
    }
  }
  EXPECT_EQ(blocks, 4);            // one for each row tile
  EXPECT_EQ(products, 4 * 4 * 2);  // S and P V of four column tiles
  EXPECT_GT(end_us, 0.0);
}

TEST(Trace, IsNotWrittenOverTheRunThatItIsMadeOf) {
  const ScratchFolder scratch;
  const auto traces = find_assets_dir().value() / "recordings" / "traces";
  const std::string text = read_text(traces / "flash2-forward-64.json");
  const std::string file = scratch.write("run.json", text);
  const CliOutcome outcome = run_cli("trace --recording " + file + " --out " + file);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("which --recording reads"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_text(file), text);
}

TEST(Trace, AFullDiskIsReported) {
  const CliOutcome outcome = run_cli("trace --algorithm flash2 --seq-len 256 --out /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write /dev/full"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace attnscope
