#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/recording/recording.h"
#include "tests/kernels/recording/sample_recording.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RecordingWriter, AddsRowsOneByOneAndContinuesAnExistingFile) {
  const auto path = fresh_path("adds.json");
  {
    auto writer = RecordingWriter::open(path, sample());
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    EXPECT_TRUE(read_recording(path).value().rows.empty());
    EXPECT_FALSE(writer.value().find_measured(measured_row(256)));
    ASSERT_FALSE(writer.value().add(measured_row(256), writer.value().lock().value()));
    EXPECT_EQ(read_recording(path).value().rows.size(), 1u);
  }
  auto writer = RecordingWriter::open(path, sample());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  EXPECT_TRUE(writer.value().find_measured(measured_row(256)));
  ASSERT_FALSE(writer.value().add(measured_row(512), writer.value().lock().value()));

  // A repeated run replaces its row
  RecordingRow again = measured_row(256);
  again.measurement->time.median_s = again.measurement->time.max_s = 9.0;
  ASSERT_FALSE(writer.value().add(again, writer.value().lock().value()));
  const auto rows = read_recording(path).value().rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].measurement->time.median_s, 9.0);
  EXPECT_EQ(rows[1].run.problem.N, 512);
}

TEST(RecordingWriter, AFailedRunIsNotTakenForMeasured) {
  auto writer = RecordingWriter::open(fresh_path("failed.json"), sample());
  ASSERT_TRUE(writer.ok());
  RecordingRow row = measured_row(256);
  row.measurement.reset();
  row.error = failed("out of memory");
  ASSERT_FALSE(writer.value().add(row, writer.value().lock().value()));
  EXPECT_FALSE(writer.value().find_measured(row));
}

TEST(RecordingWriter, ARowThatCouldNotBeReadAgainIsRefused) {
  const auto path = fresh_path("unreadable.json");
  auto writer = RecordingWriter::open(path, sample());
  ASSERT_TRUE(writer.ok());
  RecordingRow row = measured_row(256);
  row.measurement->time.min_s = -1.0;
  const auto error = writer.value().add(row, writer.value().lock().value());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("min_s: -1 is out of range"));
  EXPECT_TRUE(read_recording(path).value().rows.empty());

  const RecordingRow failed_row = readable(row);
  ASSERT_FALSE(failed_row.measurement);
  EXPECT_EQ(failed_row.error->message, error->message);
  EXPECT_EQ(readable(measured_row(256)).measurement, measured_row(256).measurement);
}

TEST(RecordingWriter, AFailedRepeatErasesNoMeasurement) {
  const auto path = fresh_path("repeated.json");
  auto writer = RecordingWriter::open(path, sample());
  ASSERT_TRUE(writer.ok());
  const RecordingRow row = measured_row(256);
  ASSERT_FALSE(writer.value().add(row, writer.value().lock().value()));
  RecordingRow repeat = row;
  repeat.measurement.reset();
  repeat.error = failed("out of memory");
  ASSERT_FALSE(writer.value().add(repeat, writer.value().lock().value()));
  EXPECT_TRUE(writer.value().find_measured(row));
}

TEST(RecordingWriter, RefusesAFileOfAnotherDeviceBuildOrProtocol) {
  const auto path = fresh_path("refuses.json");
  ASSERT_TRUE(RecordingWriter::open(path, sample()).ok());
  const auto refusal = [&](auto edit) {
    Recording other = sample();
    edit(other);
    const auto writer = RecordingWriter::open(path, other);
    EXPECT_FALSE(writer.ok());
    return writer.ok() ? "" : writer.error().message;
  };
  EXPECT_THAT(refusal([](auto& r) { r.device.name = "NVIDIA A100"; }), HasSubstr("NVIDIA A100"));
  EXPECT_THAT(refusal([](auto& r) { r.build.commit = "fedcba"; }), HasSubstr("0123abc"));
  EXPECT_THAT(refusal([](auto& r) { r.protocol.repeats = 3; }), HasSubstr("another protocol"));
}

TEST(RecordingWriter, NeverOverwritesAFileThatIsNotARecording) {
  const auto path = fresh_path("notes.json");
  std::ofstream(path) << "my notes";
  EXPECT_FALSE(RecordingWriter::open(path, sample()).ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "my notes");
}

TEST(RecordingWriter, AnUnwritablePathIsRefusedAtOnce) {
  const auto writer = RecordingWriter::open("/no/such/folder/r.json", sample());
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("cannot write /no/such/folder/r.json"));
}

}  // namespace
}  // namespace attnscope
