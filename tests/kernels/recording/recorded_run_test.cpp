/// When two rows of recordings belong to the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"
#include "reference/block_pattern.h"
#include "reference/npy.h"
#include "tests/support/kernel_run.h"
#include "tests/support/temp_dir.h"

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

TEST(RecordedRun, FieldsOfTheModelAloneAreNeitherWrittenNorCompared) {
  const RecordingRow row = flash2_row();
  RecordingRow other = row;
  other.run.asked.gpu = "t4";
  other.run.asked.warps = 8;
  other.run.asked.what_if.sram_bytes = 1 << 16;
  other.run.asked.Bc.reset();
  EXPECT_EQ(text_of(other), text_of(row));
  EXPECT_TRUE(same_run(row, other));
  EXPECT_TRUE(same_run(row, read_back(json::parse(text_of(other)))));
}

TEST(RecordedRun, EveryFieldOfAKernelDistinguishesRuns) {
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

/// A mask file in a folder of the test, and a row that ran with it.
class RecordedMaskFile : public ::testing::Test {
 protected:
  void write_mask(const std::vector<double>& tiles) const {
    ASSERT_FALSE(write_npy(path_.string(), std::vector<Index>{4, 4}, tiles));
  }
  RecordingRow masked_row() const {
    RecordingRow row = flash2_row();
    row.run = test::kernel_run("block_sparse2", row.run.problem, PassKind::forward, row.run.tiling);
    row.run.asked.block_mask = parse_block_pattern(path_.string()).value();
    const auto mask = make_block_mask(*row.run.asked.block_mask, 256, 256, row.run.tiling);
    EXPECT_TRUE(mask.ok());
    row.run.problem.block_mask = mask.value();
    return row;
  }
  /// Expects that the written recording still has the row, and that the row's run is unknown.
  void expect_unidentified(const RecordingRow& row, const std::string& written,
                           std::string_view why) const {
    const auto recording = parse_recording(written, "r.json");
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const RecordingRow read = recording.value().rows.at(0);
    EXPECT_FALSE(same_run(row, read));
    EXPECT_FALSE(same_run(read, read));
    EXPECT_FALSE(read.measurement);
    ASSERT_TRUE(read.error);
    EXPECT_THAT(read.error->message, HasSubstr(why));
    EXPECT_EQ(json::parse(recording_text(recording.value())), json::parse(written));
  }

  const std::vector<double> ones_ = std::vector<double>(16, 1.0);
  test::TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "m.npy";
};

TEST_F(RecordedMaskFile, IsTheSameRunWhileTheFileHoldsTheSameTiles) {
  write_mask(ones_);
  const RecordingRow row = masked_row();
  const std::string written = text_of(row);
  EXPECT_EQ(json::parse(written)["schema"], "attnscope.recording/2");
  EXPECT_TRUE(same_run(row, read_back(json::parse(written))));

  std::vector<double> fewer = ones_;
  fewer[1] = 0.0;
  write_mask(fewer);
  expect_unidentified(row, written, "differs from the one now in");
  EXPECT_FALSE(same_run(row, masked_row()));

  write_mask(ones_);
  EXPECT_TRUE(same_run(row, read_back(json::parse(written))));
  std::filesystem::rename(path_, folder_.path() / "moved.npy");
  expect_unidentified(row, written, "cannot be drawn");
}

TEST_F(RecordedMaskFile, ThatAnOlderRecordingDoesNotIdentifyMatchesNoOtherRow) {
  write_mask(ones_);
  const RecordingRow row = masked_row();
  json document = json::parse(text_of(row));
  document["rows"][0].erase("block_mask_hash");
  expect_unidentified(row, document.dump(), "without a hash of its contents");
}

TEST(RecordedRun, MasksBeyondTheLimitOfAFileLeaveItsOtherRowsReadable) {
  AttentionProblem problem;
  problem.N = problem.N_kv = Index{1} << 17;
  RecordingRow masked =
      row_of(test::kernel_run("block_sparse2", problem, PassKind::forward, Tiling{16, 16}));
  const json plain = json::parse(text_of(flash2_row()));
  json document = plain;
  for (const int seed : {1, 2}) {
    json row = json::parse(text_of(masked))["rows"][0];
    row["block_mask"] = fmt::format("random:0.001,{}", seed);
    document["rows"].push_back(row);
  }
  const auto recording = parse_recording(document.dump(), "r.json");
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const auto& rows = recording.value().rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[0].measurement);
  EXPECT_TRUE(rows[1].measurement);
  ASSERT_TRUE(rows[2].error);
  EXPECT_THAT(rows[2].error->message, HasSubstr("exceeds the limit"));
  EXPECT_EQ(json::parse(recording_text(recording.value()))["rows"], document["rows"]);
}

TEST(RecordedRun, ATimeThatCouldNotBeReadAgainIsAFailedRow) {
  const test::TempDir folder;
  const auto path = folder.path() / "r.json";
  auto writer = RecordingWriter::open(path, parse_recording(text_of(flash2_row()), "r").value());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  RecordingRow row = flash2_row();
  row.measurement->time.min_s = 0.0;
  EXPECT_TRUE(writer.value().add(row, writer.value().lock().value()));
  ASSERT_FALSE(writer.value().add(readable(row), writer.value().lock().value()));
  const auto read = read_recording(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_TRUE(read.value().rows.at(0).error);
  EXPECT_THAT(read.value().rows.at(0).error->message, HasSubstr("min_s"));
}

TEST(RecordedRun, TheUsersOwnTensorsAreIdentifiedByTheirContents) {
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

TEST(RecordedRun, TensorsThatAnOlderFileDoesNotIdentifyMatchNoOtherRow) {
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
