/// Kernels of launches in recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// A recording of one launch without and one with kernels.
json document() {
  return json::parse(R"({"schema": "attnscope.recording/1",
    "device": {"name": "NVIDIA H200"},
    "rows": [{"problem": {"seq_len": 1024, "head_dim": 64}, "algorithm": "standard",
              "time": {"min_s": 1, "median_s": 2, "max_s": 3},
              "launches": [
                {"name": "initialise", "counted": false, "counters": {}},
                {"name": "scores", "counted": true, "counters": {"dram__bytes_read.sum": 4096},
                 "kernels": [
                   {"name": "_ZN7cutlass6KernelE", "grid": [128, 2, 3], "cluster": [2, 1, 1],
                    "threads": 256, "registers": 168, "shared_bytes": 66560, "local_bytes": 24,
                    "resident_blocks": 3},
                   {"name": "splitKreduce_kernel", "grid": [2147483647, 65535, 65535],
                    "cluster": [1, 1, 1], "threads": 32, "registers": 0, "shared_bytes": 0,
                    "local_bytes": 0, "resident_blocks": 0}]}]}]})");
}

TEST(RecordedLaunches, KernelsAreReadAndWrittenWithEveryField) {
  const json before = document();
  const auto recording = parse_recording(before.dump(), "r.json");
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  const auto& launches = recording.value().rows.at(0).measurement->launches;
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_TRUE(launches[0].kernels.empty());
  const LaunchShape product{.name = "_ZN7cutlass6KernelE",
                            .grid = {128, 2, 3},
                            .cluster = {2, 1, 1},
                            .threads = 256,
                            .registers = 168,
                            .shared_bytes = 66560,
                            .local_bytes = 24,
                            .resident_blocks = 3};
  const LaunchShape reduction{
      .name = "splitKreduce_kernel", .grid = {2147483647, 65535, 65535}, .threads = 32};
  EXPECT_THAT(launches[1].kernels, ::testing::ElementsAre(product, reduction));

  const json after = json::parse(recording_text(recording.value()));
  EXPECT_EQ(after["rows"][0]["launches"], before["rows"][0]["launches"]);
}

TEST(RecordedLaunches, LaunchesWithoutKernelsStillOpen) {
  for (const json& kernels : {json(), json::array()}) {
    json older = document();
    json& launch = older["rows"][0]["launches"][1];
    launch.erase("kernels");
    const json expected = older["rows"][0]["launches"];
    if (kernels.is_array()) launch["kernels"] = kernels;
    const auto recording = parse_recording(older.dump(), "r.json");
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    EXPECT_TRUE(recording.value().rows.at(0).measurement->launches.at(1).kernels.empty());
    EXPECT_EQ(json::parse(recording_text(recording.value()))["rows"][0]["launches"], expected);
  }
}

/// The message about the recording with edited kernels, without the place that it names first.
template <typename Edit>
std::string refusal(Edit edit) {
  const std::string place = "r.json: rows[0]: launches[1]: kernels";
  json edited = document();
  edit(edited["rows"][0]["launches"][1]["kernels"]);
  const auto recording = parse_recording(edited.dump(), "r.json");
  if (recording.ok()) return "accepted";
  EXPECT_EQ(recording.error().kind, Error::Kind::invalid_request);
  const std::string& message = recording.error().message;
  EXPECT_TRUE(message.starts_with(place)) << message;
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

TEST(RecordedLaunches, MalformedKernelsAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal([](json&) {}), "accepted");
  EXPECT_EQ(refusal([](json& k) { k = json::object(); }), ": expected an array, found object");
  EXPECT_EQ(refusal([](json& k) { k[1] = 3; }), "[1]: expected an object, found number");
  EXPECT_EQ(refusal([](json& k) { k[1]["name"] = 3; }),
            "[1]: name: expected a string, found number");
  EXPECT_EQ(refusal([](json& k) { k[1]["name"] = std::string(1000, 'x'); }), "accepted");
  EXPECT_EQ(refusal([](json& k) { k[1]["name"] = std::string(1001, 'x'); }),
            "[1]: name: a string of 1001 bytes is too long; use at most 1000");
  EXPECT_EQ(refusal([](json& k) { k[0]["registers"] = 1.5; }),
            "[0]: registers: expected an integer, found number");
  EXPECT_EQ(refusal([](json& k) { k[0]["shared_bytes"] = -1; }),
            "[0]: shared_bytes: -1 is out of range; use 0 to 2147483647");
  EXPECT_EQ(refusal([](json& k) { k[0]["threads"] = 0; }),
            "[0]: threads: 0 is out of range; use 1 to 2147483647");
  EXPECT_EQ(refusal([](json& k) { k[0]["resident_blocks"] = 2147483648; }),
            "[0]: resident_blocks: 2147483648 is out of range; use 0 to 2147483647");
  for (const char* field : {"name", "grid", "cluster", "threads", "registers", "shared_bytes",
                            "local_bytes", "resident_blocks"}) {
    EXPECT_EQ(refusal([&](json& k) { k[0].erase(field); }),
              "[0]: " + std::string(field) + ": the field is missing");
  }
}

TEST(RecordedLaunches, AGridHasThreeCountsOfWhichCudaCanLaunchTheProduct) {
  EXPECT_EQ(refusal([](json& k) { k[0]["grid"] = 128; }),
            "[0]: grid: expected an array, found number");
  EXPECT_EQ(refusal([](json& k) {
              k[0]["grid"] = {128, 1};
            }),
            "[0]: grid: expected 3 numbers, found 2");
  EXPECT_EQ(refusal([](json& k) { k[0]["grid"][0] = 2147483648; }),
            "[0]: grid[0]: 2147483648 is not a whole number from 1 to 2147483647");
  for (const json& bad : {json(0), json(65536), json(2.0), json("2"), json(), json(-1),
                          json(18446744073709551615u), json::array({1})}) {
    EXPECT_EQ(refusal([&](json& k) { k[0]["cluster"][1] = bad; }),
              "[0]: cluster[1]: " + bad.dump() + " is not a whole number from 1 to 65535");
  }
}

}  // namespace
}  // namespace attnscope
