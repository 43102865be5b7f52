#include "app/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/measuring_session.h"
#include "tests/support/temp_dir.h"

namespace attnscope::cli {
namespace {

using ::testing::HasSubstr;

Recording header() {
  Recording recording;
  recording.device.name = "NVIDIA H200";
  recording.build = {"1.0", "0123abc", false};
  recording.date = "2026-01-01T00:00:00Z";
  return recording;
}

RecordingRow row_of(Index N) {
  RecordingRow row;
  row.run.asked.kernel = "flash2";
  row.run.tiling = {128, 128};
  row.run.problem.N = row.run.problem.N_kv = N;
  row.run.asked.problem = row.run.problem;
  row.measurement.emplace();
  row.measurement->time = {1.0, 2.0, 3.0, 5};
  return row;
}

std::vector<Index> lengths_of(const std::filesystem::path& path) {
  std::vector<Index> lengths;
  const auto recording = read_recording(path);
  EXPECT_TRUE(recording.ok());
  for (const RecordingRow& row : recording.value().rows) lengths.push_back(row.run.problem.N);
  return lengths;
}

class MeasuringSessionTest : public ::testing::Test {
 protected:
  void add(Index N) {
    const auto writer = session_.open_recording(path_, header());
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_FALSE(session_.add(row_of(N)));
  }

  MeasuringSession session_{GivenOptions()};
  test::TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "recording.json";
};

TEST_F(MeasuringSessionTest, AddsTheRowsOfOneMeasurementAfterTheOther) {
  add(256);
  add(512);
  add(256);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{256, 512}));
}

TEST_F(MeasuringSessionTest, KeepsWhatAnotherProgramHasAddedInBetween) {
  add(256);
  auto other = RecordingWriter::open(path_, header());
  ASSERT_TRUE(other.ok());
  ASSERT_FALSE(other.value().add(row_of(1024), other.value().lock().value()));
  add(512);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{256, 1024, 512}));
}

TEST_F(MeasuringSessionTest, RefusesAnotherProtocolWhileTheFileIsOpen) {
  add(256);
  Recording other = header();
  other.protocol.repeats += 1;
  const auto writer = session_.open_recording(path_, other);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("another protocol"));
}

TEST_F(MeasuringSessionTest, ChecksAFileAgainWhenItHasChanged) {
  EXPECT_FALSE(session_.check_recording(path_));  // nothing there
  add(256);
  EXPECT_FALSE(session_.check_recording(path_));
  std::ofstream(path_) << "my notes";
  EXPECT_TRUE(session_.check_recording(path_));
  EXPECT_FALSE(session_.open_recording(path_, header()).ok());
}

TEST_F(MeasuringSessionTest, RecreatesAFileThatIsGone) {
  add(256);
  std::filesystem::remove(path_);
  add(512);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{512}));
}

}  // namespace
}  // namespace attnscope::cli
