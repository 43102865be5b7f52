#include "kernels/recording/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/block_pattern.h"
#include "tests/kernels/recording/sample_recording.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The error message for text that must be rejected.
std::string refusal_of(const std::string& text) {
  const auto recording = parse_recording(text, "r.json");
  EXPECT_FALSE(recording.ok());
  if (recording) return "";
  EXPECT_EQ(recording.error().kind, Error::Kind::invalid_request);
  EXPECT_THAT(recording.error().message, Not(HasSubstr("\n")));
  return recording.error().message;
}

/// The sample's text after an edit of its JSON.
template <typename Edit>
std::string edited(Edit edit) {
  nlohmann::json document = nlohmann::json::parse(recording_text(sample()));
  edit(document);
  return document.dump();
}

TEST(Recording, RoundTripKeepsEveryField) {
  const Recording before = sample();
  const auto parsed = parse_recording(recording_text(before), "r.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Recording& after = parsed.value();
  EXPECT_EQ(after.device, before.device);
  EXPECT_EQ(after.build, before.build);
  EXPECT_EQ(after.date, before.date);
  EXPECT_EQ(after.protocol, before.protocol);
  ASSERT_EQ(after.rows.size(), 2u);
  EXPECT_TRUE(same_run(after.rows[0], before.rows[0]));
  RecordingRow of_chance = before.rows[0];
  of_chance.run.asked.deterministic = false;
  EXPECT_FALSE(same_run(after.rows[0], of_chance));
  EXPECT_EQ(after.rows[0].measurement, before.rows[0].measurement);
  EXPECT_FALSE(after.rows[1].measurement);
  ASSERT_TRUE(after.rows[1].error);
  EXPECT_EQ(after.rows[1].error->kind, Error::Kind::failed);
  EXPECT_EQ(after.rows[1].error->message, "out of memory: needs 137.4 GB");
  EXPECT_EQ(recording_text(after), recording_text(before));
}

TEST(Recording, ABlockMaskIsKeptByItsSpellingAndDrawnAgain) {
  Recording recording = sample();
  RecordingRow& row = recording.rows[0];
  row.run.tiling = Tiling{64, 64};
  row.run.problem.block_mask =
      make_block_mask(parse_block_pattern("random:0.5,3").value(), 1024, 1027, row.run.tiling)
          .value();
  const std::string text = recording_text(recording);
  const auto read = parse_recording(text, "a.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const RecordingRow& again = read.value().rows[0];
  EXPECT_TRUE(same_run(row, again));
  EXPECT_FALSE(same_run(recording.rows[0], sample().rows[0]));
  EXPECT_EQ(recording_text(read.value()), text);
  RecordingRow other = again;
  other.run.problem.block_mask =
      make_block_mask(parse_block_pattern("random:0.5,4").value(), 1024, 1027, row.run.tiling)
          .value();
  EXPECT_FALSE(same_run(row, other));

  nlohmann::json document = nlohmann::json::parse(text);
  document["rows"][0]["block_mask"] = "butterflies";
  const auto refused = parse_recording(document.dump(), "a.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("rows[0]: block_mask: 'butterflies'"));
}

TEST(Recording, ErrorsOfABrokenKernelSurviveARewrite) {
  Recording before = sample();
  Measurement& measured = *before.rows[0].measurement;
  measured.accuracy->max_abs_error = std::numeric_limits<double>::quiet_NaN();
  measured.accuracy->lse_max_abs_error = std::numeric_limits<double>::infinity();
  measured.gradients->dK.rel_fro_error = std::numeric_limits<double>::infinity();
  const std::string text = recording_text(before);
  EXPECT_THAT(text, Not(HasSubstr("null")));
  const auto parsed = parse_recording(text, "r.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Measurement& read = *parsed.value().rows[0].measurement;
  EXPECT_TRUE(std::isnan(read.accuracy->max_abs_error));
  EXPECT_EQ(read.accuracy->lse_max_abs_error, measured.accuracy->lse_max_abs_error);
  EXPECT_EQ(read.gradients->dK.rel_fro_error, measured.gradients->dK.rel_fro_error);
  EXPECT_EQ(recording_text(parsed.value()), text);
}

TEST(Recording, RowsUseTheKeysOfTheContract) {
  const auto document = nlohmann::json::parse(recording_text(sample()));
  EXPECT_EQ(document["schema"], "attnscope.recording/1");
  const auto& row = document["rows"][0];
  EXPECT_EQ(row["problem"]["seq_len"], 1024);
  EXPECT_EQ(row["problem"]["mask"], "causal:top-left");
  EXPECT_EQ(row["tiling"]["Br"], 128);
  EXPECT_EQ(row["time"]["median_s"], 1.5e-4);
  EXPECT_EQ(row["time"]["sm_clock_hz"], 1.71e9);
  EXPECT_TRUE(row["counters"]["l1tex__m_xbar2l1tex_read_bytes.sum"].is_number_integer());
  EXPECT_EQ(row["launches"][0]["counted"], false);
  EXPECT_EQ(row["errors"]["max_abs_error"], 1e-3);
  EXPECT_EQ(document["rows"][1]["failed"], "out of memory: needs 137.4 GB");
  EXPECT_FALSE(document["rows"][1].contains("time"));
}

TEST(Recording, UnknownFieldsSurviveARewriteAtEveryDepth) {
  const std::string text = edited([](auto& document) {
    document["operator"] = "Ada";
    document["device"]["clocks"]["video_mhz"] = 5;
    document["rows"][0]["note"] = {{"deep", {1, 2}}};
    document["rows"][0]["problem"]["rotary_dim"] = 32;
  });
  const auto recording = parse_recording(text, "r.json");
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const auto rewritten = nlohmann::json::parse(recording_text(recording.value()));
  EXPECT_EQ(rewritten, nlohmann::json::parse(text));
}

TEST(Recording, ARowThatIsMeasuredAgainLosesItsOldFailure) {
  auto recording = parse_recording(recording_text(sample()), "r.json");
  ASSERT_TRUE(recording.ok());
  RecordingRow& row = recording.value().rows[1];
  row.error.reset();
  row.measurement = measured_row(16384).measurement;
  const auto document = nlohmann::json::parse(recording_text(recording.value()));
  EXPECT_FALSE(document["rows"][1].contains("failed"));
  EXPECT_TRUE(document["rows"][1].contains("time"));
}

TEST(Recording, AnOlderFileWithFewFieldsIsRead) {
  const auto recording = parse_recording(R"({"schema": "attnscope.recording/1",
    "device": {"name": "NVIDIA A100"},
    "rows": [{"problem": {"seq_len": 64, "head_dim": 16}, "algorithm": "flash1",
              "time": {"min_s": 1, "median_s": 2, "max_s": 3}}]})",
                                         "r.json");
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const RecordingRow& row = recording.value().rows.at(0);
  EXPECT_EQ(row.run.asked.kernel, "flash1");
  EXPECT_EQ(row.run.problem.N_kv, 64);
  EXPECT_EQ(row.measurement->time.median_s, 2.0);
  EXPECT_FALSE(row.measurement->time.sm_clock_hz);
  EXPECT_FALSE(row.measurement->counter(counter::kDramReadBytes));
}

TEST(Recording, ATimeWithoutItsClockHasNoField) {
  Recording before = sample();
  before.rows[0].measurement->time.sm_clock_hz.reset();
  const auto time = nlohmann::json::parse(recording_text(before))["rows"][0]["time"];
  EXPECT_FALSE(time.contains("sm_clock_hz"));
  const auto read = parse_recording(recording_text(before), "r.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().rows[0].measurement, before.rows[0].measurement);

  // A row that is measured again without a readable clock loses its previous clock
  auto again = parse_recording(recording_text(sample()), "r.json");
  ASSERT_TRUE(again.ok()) << again.error().message;
  again.value().rows[0].measurement->time.sm_clock_hz.reset();
  EXPECT_THAT(recording_text(again.value()), Not(HasSubstr("sm_clock_hz")));
}

TEST(Recording, MalformedTextIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal_of(""), HasSubstr("r.json: the file is empty"));
  EXPECT_THAT(refusal_of("{\n  \"schema\": oops}"), HasSubstr("r.json:2:13: not valid JSON"));
  EXPECT_THAT(refusal_of("[1, 2]"), HasSubstr("no \"schema\" field"));
  EXPECT_THAT(refusal_of("null"), HasSubstr("no \"schema\" field"));
}

TEST(Recording, EveryTruncationIsRefused) {
  const std::string text = recording_text(sample());
  const std::size_t end = text.find_last_not_of(" \n");
  for (std::size_t length = 0; length < end; length += 7) refusal_of(text.substr(0, length));
  EXPECT_THAT(refusal_of(text.substr(0, end)), HasSubstr("ends too early"));
}

TEST(Recording, OtherAndNewerSchemasAreRefused) {
  const auto with_schema = [](const nlohmann::json& schema) {
    return edited([&](auto& document) { document["schema"] = schema; });
  };
  EXPECT_THAT(refusal_of(with_schema("attnscope.recording/3")), HasSubstr("newer"));
  EXPECT_THAT(refusal_of(with_schema("attnscope.scene/1")), HasSubstr("attnscope.recording/2"));
  for (const nlohmann::json& bad :
       {nlohmann::json("attnscope.recording/"), nlohmann::json("attnscope.recording/0"),
        nlohmann::json("attnscope.recording/1x"), nlohmann::json(1), nlohmann::json()}) {
    EXPECT_THAT(refusal_of(with_schema(bad)), HasSubstr("expected")) << bad;
  }
}

TEST(Recording, FieldsOfTheWrongTypeAreNamed) {
  const auto refusal = [](auto edit) { return refusal_of(edited(edit)); };
  EXPECT_THAT(refusal([](auto& d) { d["rows"] = 3; }),
              HasSubstr("r.json: rows: expected an array"));
  EXPECT_THAT(refusal([](auto& d) { d.erase("rows"); }), HasSubstr("rows: the field is missing"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][1] = "x"; }), HasSubstr("rows[1]"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["problem"]["seq_len"] = "many"; }),
              AllOf(HasSubstr("rows[0]: problem: seq_len"), HasSubstr("expected an integer")));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["problem"]["seq_len"] = 1.5; }),
              HasSubstr("expected an integer"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["problem"]["seq_len"] = -4; }),
              HasSubstr("seq_len: '-4' is not accepted"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["problem"]["seq_len"] = 18446744073709551615u; }),
              HasSubstr("too large"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["problem"]["dtype"] = "fp8"; }),
              HasSubstr("dtype: 'fp8' is not accepted; use fp16, bf16 or fp32"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["time"]["median_s"] = nullptr; }),
              HasSubstr("time: median_s: expected a number"));
  for (const double seconds : {0.0, -1e-3}) {
    EXPECT_THAT(refusal([&](auto& d) { d["rows"][0]["time"]["median_s"] = seconds; }),
                HasSubstr("is out of range; use 1e-12 to 1e+09"));
  }
  for (const double hz : {0.0, -1.71e9, 9e5, 1.1e12}) {
    EXPECT_THAT(
        refusal([&](auto& d) { d["rows"][0]["time"]["sm_clock_hz"] = hz; }),
        AllOf(HasSubstr("time: sm_clock_hz: "), HasSubstr("is out of range; use 1e+06 to 1e+12")));
  }
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["time"]["sm_clock_hz"] = "fast"; }),
              HasSubstr("time: sm_clock_hz: expected a number"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["counters"]["dram__bytes_read.sum"] = -5; }),
              HasSubstr("counters: dram__bytes_read.sum: -5 is not a count"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["counters"]["dram__bytes_read.sum"] = "x"; }),
              HasSubstr("counters: dram__bytes_read.sum"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["errors"]["max_abs_error"] = "-inf"; }),
              HasSubstr("errors: max_abs_error: -inf is not an error"));
  EXPECT_THAT(refusal([](auto& d) { d["protocol"]["time_budget_s"] = -1; }),
              HasSubstr("protocol: time_budget_s: -1 is out of range"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["tiling"]["Br"] = 0; }),
              HasSubstr("tiling: Br is 0"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["carry"] = "fp8"; }), HasSubstr("carry"));
  EXPECT_THAT(refusal([](auto& d) { d["rows"][0]["launches"][0] = 3; }), HasSubstr("launches"));
  EXPECT_THAT(refusal([](auto& d) { d["device"] = 3; }), HasSubstr("device"));
  EXPECT_THAT(refusal([](auto& d) { d["protocol"]["cache"] = "tepid"; }),
              HasSubstr("cold or warm"));
}

TEST(Recording, AFileThatCannotBeReadSaysWhy) {
  const auto missing = read_recording("no/such/recording.json");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, Error::Kind::failed);
  EXPECT_THAT(missing.error().message, HasSubstr("No such file"));
  const auto folder = read_recording(::testing::TempDir());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("is a directory"));
}

TEST(BuildInfo, CarriesAVersionAndACommit) {
  EXPECT_FALSE(build_info().version.empty());
  EXPECT_FALSE(build_info().commit.empty());
}

}  // namespace
}  // namespace attnscope
