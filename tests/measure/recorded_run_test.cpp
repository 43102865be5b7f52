/// When two rows of recordings are of the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"
#include "reference/block_pattern.h"
#include "tests/support/kernel_run.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

RecordingRow row_of(const ResolvedRun& run) {
  RecordingRow row{.run = run};
  row.measurement.emplace().time = {1e-4, 2e-4, 3e-4, 20};
  return row;
}

RecordingRow flash2_row() {
  AttentionProblem problem;
  problem.N = problem.N_kv = 256;
  return row_of(test::kernel_run("flash2", problem, PassKind::forward, Tiling{64, 64}));
}

std::string text_of(const RecordingRow& row) {
  Recording recording;
  recording.device.name = "NVIDIA H200";
  recording.rows = {row};
  return recording_text(recording);
}

RecordingRow read_back(const json& document) {
  auto recording = parse_recording(document.dump(), "r.json");
  EXPECT_TRUE(recording.ok()) << recording.error().message;
  return recording ? recording.value().rows.at(0) : RecordingRow{};
}

TEST(RecordedRun, WhatOnlyTheModelKnowsIsNeitherWrittenNorCompared) {
  const RecordingRow row = flash2_row();
  RecordingRow other = row;
  other.run.asked.gpu = "t4";
  other.run.asked.warps = 8;
  other.run.asked.sram_bytes = 1 << 16;
  other.run.asked.Bc.reset();
  EXPECT_EQ(text_of(other), text_of(row));
  EXPECT_TRUE(same_run(row, other));
  EXPECT_TRUE(same_run(row, read_back(json::parse(text_of(other)))));
}

TEST(RecordedRun, EveryFieldOfAKernelTellsRunsApart) {
  const RecordingRow row = flash2_row();
  const auto same_after = [&](const auto& change) {
    RecordingRow other = row;
    change(other.run);
    return same_run(row, other) || same_run(row, read_back(json::parse(text_of(other))));
  };
  EXPECT_TRUE(same_after([](ResolvedRun&) {}));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.problem.score.soft_cap = 30; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.problem.key_lengths = {200}; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.tiling.Br = 128; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.kernel = "other"; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.algorithm = "flash1"; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.pass = PassKind::backward; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.deterministic = true; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.variant.carry = Carry::fp32; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.asked.inputs.seed = 1; }));
  EXPECT_FALSE(same_after([](ResolvedRun& run) { run.files_hash = 5; }));
}

TEST(RecordedRun, BlockMasksAreComparedByTheTilesThatTheyKeep) {
  RecordingRow row = flash2_row();
  const auto masked = [&](std::string_view pattern) {
    RecordingRow other = row;
    other.run.asked.block_mask = parse_block_pattern(pattern).value();
    other.run.problem.block_mask =
        make_block_mask(*other.run.asked.block_mask, 256, 256, row.run.tiling).value();
    return other;
  };
  EXPECT_TRUE(same_run(masked("uniform:1"), masked("random:1,7")));
  EXPECT_FALSE(same_run(masked("uniform:1"), masked("local-global:0,0")));
  EXPECT_FALSE(same_run(masked("uniform:1"), row));
}

TEST(RecordedRun, TensorsOfOnesOwnAreIdentifiedByTheirContents) {
  RecordingRow row = flash2_row();
  EXPECT_EQ(json::parse(text_of(row))["schema"], "attnscope.recording/1");
  row.run.files_hash = 0x0123456789abcdef;
  const json document = json::parse(text_of(row));
  EXPECT_EQ(document["schema"], "attnscope.recording/2");
  EXPECT_EQ(document["rows"][0]["inputs"],
            json({{"kind", "files"}, {"seed", 0}, {"hash", "0123456789abcdef"}}));
  const RecordingRow again = read_back(document);
  EXPECT_TRUE(same_run(row, again));
  EXPECT_EQ(json::parse(text_of(again)), document);
  RecordingRow other = row;
  ++other.run.files_hash;
  EXPECT_FALSE(same_run(row, other));

  json wrong = document;
  wrong["rows"][0]["inputs"]["hash"] = "none";
  const auto refused = parse_recording(wrong.dump(), "r.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("rows[0]: inputs: hash: expected 16"));
}

TEST(RecordedRun, TensorsThatAnOlderFileDoesNotIdentifyAreThoseOfNoOtherRow) {
  json document = json::parse(text_of(flash2_row()));
  document["rows"][0]["inputs"] = {{"kind", "files"}, {"seed", 0}};
  const RecordingRow row = read_back(document);
  EXPECT_EQ(row.run.files_hash, kUnknownFiles);
  EXPECT_FALSE(same_run(row, row));
  EXPECT_EQ(json::parse(text_of(row)), document);
}

TEST(RecordedRun, ARowWithFieldsThatThisVersionDoesNotKnowIsKeptAndNeverMatched) {
  const json known = json::parse(text_of(flash2_row()));
  const RecordingRow row = flash2_row();
  EXPECT_TRUE(same_run(row, read_back(known)));
  for (const char* place : {"/rows/0/stages", "/rows/0/gpu", "/rows/0/problem/rotary_dim",
                            "/rows/0/inputs/scale", "/rows/0/inputs/q", "/rows/0/tiling/Bd"}) {
    json document = known;
    document[json::json_pointer(place)] = 32;
    const bool is_text =
        std::string_view(place).ends_with("gpu") || std::string_view(place).ends_with("q");
    if (is_text) document[json::json_pointer(place)] = "h200.npy";
    const RecordingRow newer = read_back(document);
    EXPECT_FALSE(same_run(row, newer)) << place;
    EXPECT_EQ(json::parse(text_of(newer)), document) << place;
  }
  json measured = known;
  measured["rows"][0]["time"]["deviation_s"] = 1e-6;
  EXPECT_TRUE(same_run(row, read_back(measured)));
}

TEST(RecordedRun, ARowWithUnknownFieldsIsMeasuredAgainBesideIt) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "unknown_fields.json";
  json document = json::parse(text_of(flash2_row()));
  document["rows"][0]["stages"] = 3;
  std::filesystem::remove(path);
  ASSERT_FALSE(write_recording(parse_recording(document.dump(), "r.json").value(), path));
  auto writer = RecordingWriter::open(path, read_recording(path).value());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  EXPECT_EQ(writer.value().find_measured(flash2_row()), nullptr);
  ASSERT_FALSE(writer.value().add(flash2_row(), writer.value().lock().value()));
  EXPECT_EQ(writer.value().recording().rows.size(), 2u);
  EXPECT_NE(writer.value().find_measured(flash2_row()), nullptr);
}

}  // namespace
}  // namespace attnscope
