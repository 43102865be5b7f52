#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"
#include "tests/app/report/recorded_run.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A recording of an H200 with flash1, flash2, standard and a run that failed.
class CompareCommand : public ::testing::Test {
 protected:
  CompareCommand() {
    const GpuDescription gpu = load_gpu("h200").value();
    Recording recording;
    recording.device.name = "NVIDIA H200";
    recording.device.compute_capability = "9.0";
    recording.device.sm_count = 132;
    recording.device.memory_bytes = gpu.hbm_bytes;
    recording.date = "2026-01-31T12:34:56Z";
    RecordingRow lost = recorded_run("standard");
    lost.run.problem.N = 4096;
    lost.run.problem.N_kv = 4096;
    lost.error = failed("out of memory");
    recording.rows = {agreeing_run("standard", gpu), agreeing_run("flash1", gpu),
                      agreeing_run("flash2", gpu), lost};
    file_ = scratch_.write("recorded.json", recording_text(recording));
  }
  json compared(const std::string& words) const {
    const CliOutcome outcome = run_cli("compare --json - --recording " + file_ + " " + words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out, nullptr, false);
  }
  ScratchFolder scratch_;
  std::string file_;
};

TEST_F(CompareCommand, ShowsEveryRunWithItsProvenance) {
  const json document = compared("");
  EXPECT_EQ(document["schema"], "attnscope.comparison/1");
  EXPECT_EQ(document["gpu"], "h200");
  EXPECT_EQ(document["recorded"]["device"], "NVIDIA H200");
  ASSERT_EQ(document["runs"].size(), 4u);
  EXPECT_EQ(document["runs"][3]["unavailable"], "out of memory");
  for (const json& line : document["runs"][2]["lines"]) {
    for (const char* key : {"level", "quantity", "unit", "modelled", "recorded", "reason"}) {
      EXPECT_TRUE(line.contains(key)) << line;
    }
  }
}

TEST_F(CompareCommand, ATimeWithoutCalibratedStepsSaysWhy) {
  const auto of_time = [this](const std::string& algorithm) {
    const json document = compared("--algorithm " + algorithm);
    for (const json& line : document["runs"][0]["lines"]) {
      if (line["level"] == "time") return line;
    }
    return json();
  };
  const json estimated = of_time("flash2");  // with tiles that no calibration has
  EXPECT_EQ(estimated["calibrated"], false);
  EXPECT_THAT(estimated["calibration_reason"].get<std::string>(), HasSubstr("lacks the steps"));
  const json of_library = of_time("standard");
  EXPECT_TRUE(of_library.contains("modelled"));
  EXPECT_FALSE(of_library.contains("calibrated"));
  EXPECT_FALSE(of_library.contains("calibration_reason"));
}

TEST_F(CompareCommand, OptionsFilterRows) {
  EXPECT_EQ(compared("--algorithm flash2")["runs"].size(), 1u);
  EXPECT_EQ(compared("--algorithm standard")["runs"].size(), 2u);
  EXPECT_EQ(compared("--seq-len 1024")["runs"].size(), 3u);
  EXPECT_EQ(compared("--seq-len 4096 --head-dim 64 --mask none")["runs"].size(), 1u);
}

TEST_F(CompareCommand, OptionsOfTheScoreFunctionAndOfSequencesFilterRows) {
  json document = json::parse(read_text(file_));
  document["rows"][0]["problem"]["softcap"] = 30;
  document["rows"][1]["problem"]["alibi"] = "standard";
  document["rows"][2]["problem"]["dropout"] = {{"probability", 0.5}, {"seed", 7}};
  document["rows"][3]["problem"]["key_lengths"] = {4000};
  scratch_.write("recorded.json", document.dump());
  const std::pair<const char*, const char*> one_row[] = {
      {"--softcap 30", "standard"},
      {"--alibi", "flash1"},
      {"--dropout 0.5", "flash2"},
      {"--dropout 0.5 --dropout-seed 7", "flash2"},
      {"--key-lengths 4000", "standard"}};
  for (const auto& [words, algorithm] : one_row) {
    const json runs = compared(words)["runs"];
    ASSERT_EQ(runs.size(), 1u) << words;
    EXPECT_EQ(runs[0]["algorithm"], algorithm) << words;
  }
  EXPECT_EQ(compared("--dropout 0")["runs"].size(), 3u);
  for (const char* none : {"--softcap 20", "--dropout 0.5 --dropout-seed 8", "--key-lengths 9",
                           "--cu-seqlens-q 0,9", "--cu-seqlens-k 0,9"}) {
    EXPECT_EQ(run_cli("compare --recording " + file_ + " " + none).status, 2) << none;
  }
}

TEST_F(CompareCommand, AnOptionThatChoosesRowsHasNoDefault) {
  const std::string help = run_cli("compare --help").out;
  for (const char* line : {"--seq-len N                  queries per head\n",
                           "--pass PASS                  forward, backward or both\n"}) {
    EXPECT_THAT(help, HasSubstr(line));
  }
}

TEST_F(CompareCommand, ARowThatCannotBeModelledStaysWithItsReason) {
  json document = json::parse(read_text(file_));
  document["rows"][0]["algorithm"] = "flash9";
  scratch_.write("recorded.json", document.dump());
  const json runs = compared("")["runs"];
  EXPECT_THAT(runs[0]["unavailable"].get<std::string>(), HasSubstr("flash9"));
  EXPECT_TRUE(runs[2].contains("lines"));
}

TEST_F(CompareCommand, ARowThatCannotBeUnderstoodIsNamed) {
  json document = json::parse(read_text(file_));
  document["rows"][1]["pass"] = "sideways";
  scratch_.write("recorded.json", document.dump());
  const CliOutcome outcome = run_cli("compare --recording " + file_);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.error_lines(), 1);
  EXPECT_THAT(outcome.err, HasSubstr("rows[1]: pass: 'sideways' is not accepted"));
}

TEST_F(CompareCommand, NoMatchingRowIsAnInvalidRequest) {
  const CliOutcome outcome = run_cli("compare --recording " + file_ + " --seq-len 77");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.error_lines(), 1);
}

TEST_F(CompareCommand, ARecordingWithoutRowsIsNotCalledFiltered) {
  json document = json::parse(read_text(file_));
  document["rows"] = json::array();
  scratch_.write("recorded.json", document.dump());
  const CliOutcome outcome = run_cli("compare --recording " + file_);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("has no rows"));
}

TEST_F(CompareCommand, WritesEachOutputToOnePlaceAndNeverOverTheRecording) {
  const std::string before = read_text(file_);
  const std::string one = scratch_.file("one");
  for (const std::string& words : std::vector<std::string>{
           "--json - --report -", "--csv - --report -", fmt::format("--json {0} --report {0}", one),
           "--report " + file_, "--json " + file_,
           fmt::format("--csv {}/./recorded.json", scratch_.path().string())}) {
    const CliOutcome outcome = run_cli("compare --recording " + file_ + " " + words);
    EXPECT_EQ(outcome.status, 2) << words;
    EXPECT_EQ(outcome.out, "") << words;
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  }
  EXPECT_EQ(read_text(file_), before);
  EXPECT_EQ(scratch_.names(), std::vector<std::string>{"recorded.json"});
}

TEST_F(CompareCommand, TheRecordingsFileIsNotTouched) {
  const std::string before = read_text(file_);
  compared("");
  EXPECT_EQ(read_text(file_), before);
  EXPECT_EQ(scratch_.names(), std::vector<std::string>{"recorded.json"});
}

TEST_F(CompareCommand, TableNamesBothKinds) {
  const CliOutcome outcome = run_cli("compare --recording " + file_);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("modelled: NVIDIA H200"));
  EXPECT_THAT(outcome.out, HasSubstr("panel re-reads"));
  EXPECT_THAT(outcome.out, HasSubstr("unavailable: out of memory"));
}

/// Whether the text has no control character except line feeds.
bool is_plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f;
  });
}

TEST_F(CompareCommand, ARecordingsTextNeitherForgesLinesNorReachesTheTerminalAsEscapes) {
  json document = json::parse(read_text(file_));
  for (json& row : document["rows"]) {  // a counter that is missing, so that its reason is shown
    if (!row.contains("counters")) continue;
    row["counters"].erase(std::string(counter::kDramReadBytes));
    row["unavailable_counters"][std::string(counter::kDramReadBytes)] = "no permission";
  }
  document["rows"][0]["algorithm"] = "flash9";
  document["device"]["name"] = "NVIDIA X200";  // a name that no shipped GPU begins with
  const auto write = [&](const json& recording) {
    std::filesystem::create_directories(scratch_.path() / "recordings");
    scratch_.write("recordings/foreign.json", recording.dump());
    scratch_.write("recorded.json", recording.dump());
  };
  const auto shown = [&](const std::string& words) {
    const Environment assets = {{"ATTNSCOPE_ASSETS", scratch_.path().string()}};
    const CliOutcome outcome =
        words == "list" ? run_cli("list recordings", assets)
                        : run_cli("compare --gpu h200 --recording " + file_ + " " + words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  std::vector<std::string> clean;
  write(document);
  for (const char* words : {"", "--report -", "list"}) clean.push_back(shown(words));

  const std::string foreign = "\x1b[2J\r\n\a\x7f";
  for (const char* key : {"name", "driver", "cuda"}) {
    document["device"][key] = document["device"].value(key, "") + foreign;
  }
  document["date"] = document["date"].get<std::string>() + foreign;
  document["build"]["commit"] = document["build"].value("commit", "") + foreign;
  document["rows"][0]["algorithm"] = "flash9" + foreign;
  document["rows"][3]["failed"] = "out of memory" + foreign;
  for (json& row : document["rows"]) {
    if (!row.contains("counters")) continue;
    row["unavailable_counters"][std::string(counter::kDramReadBytes)] = "no permission" + foreign;
  }
  write(document);
  std::size_t n = 0;
  for (const char* words : {"", "--report -", "list"}) {
    const std::string text = shown(words);
    EXPECT_TRUE(is_plain(text)) << words << "\n" << text;
    EXPECT_THAT(text, HasSubstr("NVIDIA X200?[2J????"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
              std::count(clean[n].begin(), clean[n].end(), '\n'))
        << text;
    ++n;
  }
  const CliOutcome refused = run_cli("compare --recording " + file_ + " --seq-len 77");
  EXPECT_EQ(refused.error_lines(), 1);
}

TEST_F(CompareCommand, SelectsTheRowsOfAKernel) {
  for (const char* kernel : {"flash1", "flash2", "standard"}) {
    SCOPED_TRACE(kernel);
    const json runs = compared(std::string("--kernel ") + kernel)["runs"];
    ASSERT_FALSE(runs.empty());
    for (const json& run : runs) EXPECT_EQ(run["kernel"], kernel) << run;
  }
}

TEST_F(CompareCommand, WithAnEditedDescriptionTheRecordingIsShownAlone) {
  json gpu = json::parse(read_text(find_assets_dir().value() / "gpus" / "h200.json"));
  const std::string same = scratch_.write("same.json", gpu.dump());
  EXPECT_FALSE(compared("--algorithm flash2 --gpu " + same)["runs"][0].contains("no_gap"));
  gpu["dram_bytes_per_s"]["value"] = 1e12;
  const std::string slower = scratch_.write("slower.json", gpu.dump());
  gpu.erase("device_name");
  gpu["hbm_bytes"]["value"] = gpu["hbm_bytes"]["value"].get<Index>() - 1;
  const std::string nameless = scratch_.write("nameless.json", gpu.dump());
  for (const std::string& edited : {slower, nameless}) {
    EXPECT_THAT(compared("--algorithm flash2 --gpu " + edited)["runs"][0]["no_gap"],
                HasSubstr("with values that differ from the shipped description"));
  }
}

TEST_F(CompareCommand, ReplacesNoFileThatItReads) {
  const test::TempDir assets;
  std::filesystem::copy(find_assets_dir().value(), assets.path(),
                        std::filesystem::copy_options::recursive);
  const Environment copied = {{"ATTNSCOPE_ASSETS", assets.path().string()}};
  json document = json::parse(read_text(file_));
  ASSERT_FALSE(write_npy(scratch_.file("m.npy"), std::vector<Index>{1, 1}, std::vector{1.0}));
  json row = document["rows"][1];
  row["block_mask"] = scratch_.file("m.npy");
  document["rows"].push_back(row);
  const std::string masked = scratch_.write("masked.json", document.dump());
  const std::string compared = "compare --recording " + masked + " --algorithm flash2 --json ";
  const std::string gpu = assets.file("gpus/h200.json");
  for (const std::string& words :
       {compared + gpu, compared + scratch_.file("m.npy"),
        "simulate --algorithm flash2 --csv " + gpu,
        "list recordings --json " + assets.file("recordings/h200.json")}) {
    const CliOutcome refused = run_cli(words, copied);
    EXPECT_EQ(refused.status, 2) << words;
    EXPECT_EQ(refused.error_lines(), 1) << words;
    EXPECT_THAT(refused.err, HasSubstr("would replace")) << words;
  }
}

TEST_F(CompareCommand, WritesAReportAndCsv) {
  const CliOutcome outcome = run_cli("compare --recording " + file_ + " --report " +
                                     scratch_.file("report.md") + " --csv -");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(read_text(scratch_.path() / "report.md"), HasSubstr("# Modelled and recorded"));
  EXPECT_THAT(outcome.out, HasSubstr("gap_percent"));
}

TEST_F(CompareCommand, WithAnotherGpuOrOtherCapacitiesTheRecordingIsShownAlone) {
  for (const char* other :
       {"--gpu t4", "--gpu h100-sxm", "--l2-bytes 1000000", "--sram-bytes 65536"}) {
    SCOPED_TRACE(other);
    const json run = compared(std::string("--algorithm flash2 ") + other)["runs"][0];
    EXPECT_THAT(run["no_gap"].get<std::string>(),
                HasSubstr("recorded on NVIDIA H200, modelled for NVIDIA"));
    ASSERT_FALSE(run["lines"].empty());
    for (const json& line : run["lines"]) {
      EXPECT_TRUE(line.contains("recorded")) << line;
      for (const char* key : {"modelled", "gap_percent", "reason"}) {
        EXPECT_FALSE(line.contains(key)) << line;
      }
    }
    const CliOutcome text =
        run_cli("compare --recording " + file_ + " --algorithm flash2 " + other);
    EXPECT_THAT(text.out, HasSubstr("no gap: recorded on NVIDIA H200, modelled for NVIDIA"));
    EXPECT_THAT(text.out, HasSubstr("  level      quantity  recorded on NVIDIA H200"));
    EXPECT_THAT(text.out, ::testing::Not(HasSubstr(" %")));
  }
  EXPECT_FALSE(compared("--algorithm flash2 --gpu h200")["runs"][0].contains("no_gap"));
}

}  // namespace
}  // namespace attnscope
