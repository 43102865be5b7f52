#include "app/cli/recording_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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
  row.algorithm = row.kernel = "flash2";
  row.pass = "forward";
  row.problem.N = row.problem.N_kv = N;
  row.measurement.emplace();
  row.measurement->time = {1.0, 2.0, 3.0, 5};
  return row;
}

std::vector<Index> lengths_of(const std::filesystem::path& path) {
  std::vector<Index> lengths;
  const auto recording = read_recording(path);
  EXPECT_TRUE(recording.ok());
  for (const RecordingRow& row : recording.value().rows) lengths.push_back(row.problem.N);
  return lengths;
}

class RecordingFile : public ::testing::Test {
 protected:
  void add(Index N) {
    const auto writer = open_recording_file(path_, header());
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_FALSE(add_to_recording_file(row_of(N)));
  }

  test::TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "recording.json";
};

TEST_F(RecordingFile, TakesTheRowsOfOneMeasurementAfterTheOther) {
  add(256);
  add(512);
  add(256);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{256, 512}));
}

TEST_F(RecordingFile, KeepsWhatAnotherProgramHasAddedInBetween) {
  add(256);
  auto other = RecordingWriter::open(path_, header());
  ASSERT_TRUE(other.ok());
  ASSERT_FALSE(other.value().add(row_of(1024)));
  add(512);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{256, 1024, 512}));
}

TEST_F(RecordingFile, IsRefusedToAnotherProtocolWhileItIsOpen) {
  add(256);
  Recording other = header();
  other.protocol.repeats += 1;
  const auto writer = open_recording_file(path_, other);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("another protocol"));
}

TEST_F(RecordingFile, IsCheckedAgainWhenItHasChanged) {
  EXPECT_FALSE(check_recording_file(path_));  // nothing there
  add(256);
  EXPECT_FALSE(check_recording_file(path_));
  std::ofstream(path_) << "my notes";
  EXPECT_TRUE(check_recording_file(path_));
  EXPECT_FALSE(open_recording_file(path_, header()).ok());
}

TEST_F(RecordingFile, ThatIsGoneIsBegunAnew) {
  add(256);
  std::filesystem::remove(path_);
  add(512);
  EXPECT_EQ(lengths_of(path_), (std::vector<Index>{512}));
}

}  // namespace
}  // namespace attnscope::cli
