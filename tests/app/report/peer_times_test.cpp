#include "app/report/peer_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/device/assets.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

/// The times of the shipped file with one change, read from a copy.
template <typename Change>
Result<std::vector<PeerTime>> read_changed(const Change& change) {
  std::ifstream shipped(find_asset("recordings/peers", "h200").value());
  nlohmann::json document = nlohmann::json::parse(shipped);
  change(document);
  const std::string path = testing::TempDir() + "attnscope_peers.json";
  std::ofstream(path) << document;
  return read_peer_times(path);
}

TEST(PeerTimes, OfTheShippedFileNameLibraryGpuAndProblem) {
  std::vector<std::string> problems;
  const std::vector<PeerTime> times = load_shipped_peer_times(problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  ASSERT_FALSE(times.empty());
  std::ifstream shipped(find_asset("recordings/peers", "h200").value());
  const nlohmann::json first = nlohmann::json::parse(shipped)["rows"][0];
  const PeerTime& time = times.front();
  EXPECT_EQ(time.name, "PyTorch flash2");
  EXPECT_EQ(time.gpu, "NVIDIA H200");
  EXPECT_EQ(time.problem.N, first["N"]);
  EXPECT_EQ(time.problem.heads, first["heads"]);
  EXPECT_EQ(time.problem.dtype, DType::bf16);
  EXPECT_FALSE(time.backward);
  EXPECT_DOUBLE_EQ(time.time_s,
                   1e-3 * first["passes"]["forward"]["median_ms"]["pytorch flash2"].get<double>());
  EXPECT_THAT(time.how, HasSubstr("PyTorch 2.11"));
}

TEST(PeerTimes, OfGroupedHeadsHaveTheirHeadsOfKAndV) {
  std::vector<std::string> problems;
  const auto times = load_shipped_peer_times(problems);
  const auto grouped = std::ranges::find_if(
      times, [](const PeerTime& time) { return time.problem.kv_heads != time.problem.heads; });
  ASSERT_NE(grouped, times.end());
  EXPECT_EQ(grouped->problem.heads, 32);
  EXPECT_EQ(grouped->problem.kv_heads, 8);
  EXPECT_EQ(grouped->problem.d, 128);
}

TEST(PeerTimes, OfAWrongFileNameTheField) {
  const auto no_size = read_changed([](auto& document) { document["rows"][1].erase("d"); });
  ASSERT_FALSE(no_size);
  EXPECT_THAT(no_size.error().message, HasSubstr("rows[1]: d: the field is missing"));
  const auto negative = read_changed([](auto& document) {
    document["rows"][0]["passes"]["forward"]["median_ms"]["cudnn"] = -1.0;
  });
  ASSERT_FALSE(negative);
  EXPECT_THAT(negative.error().message, HasSubstr("cudnn"));
  const auto type = read_changed([](auto& document) { document["protocol"]["dtype"] = "int8"; });
  ASSERT_FALSE(type);
  EXPECT_THAT(type.error().message, HasSubstr("'int8' is not a type"));
}

}  // namespace
}  // namespace attnscope
