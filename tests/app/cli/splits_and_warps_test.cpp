/// --splits, --warps and --warp-partition on the command line.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::expect_refused;

const std::string kDecode =
    "simulate --algorithm split_kv --seq-len 1 --kv-len 4096 --block-rows 16 --block-cols 64 ";

TEST(SplitsOption, CutsTheKeysAndIsReported) {
  const json document = answered(kDecode + "--splits 8 --check");
  EXPECT_EQ(document["splits"], 8);
  EXPECT_LT(document["accuracy"]["max_abs_error"].get<double>(), 1e-10);
  EXPECT_EQ(document["traffic"]["requested"]["by_tensor"]["O_split"]["write_bytes"], 8 * 64 * 4);
  const json causal = answered(kDecode + "--splits 8 --mask causal");
  EXPECT_EQ(causal["traffic"], document["traffic"]) << "the last query sees every key";
}

TEST(SplitsOption, PacksTheQueryHeadsOfAGroup) {
  const std::string words = kDecode + "--heads 8 --kv-heads 2 --mask causal --splits 8 --check ";
  const json packed = answered(words);
  const json separate = answered(words + "--separate-heads");
  EXPECT_EQ(packed["query_heads_per_tile"], 4);
  EXPECT_EQ(packed["problem"], separate["problem"]);
  EXPECT_FALSE(separate.contains("query_heads_per_tile"));
  const auto key_bytes = [](const json& document) {
    return document["traffic"]["requested"]["by_tensor"]["K"]["read_bytes"].get<std::int64_t>();
  };
  EXPECT_EQ(key_bytes(packed), 2 * 4096 * 64 * 2);
  EXPECT_EQ(key_bytes(separate), 4 * key_bytes(packed));
  EXPECT_LT(packed["accuracy"]["max_abs_error"].get<double>(), 1e-10);
}

TEST(SplitsOption, WritesTheOutputsOfEveryHead) {
  const ScratchFolder packed, separate;
  const std::string words = kDecode + "--heads 8 --kv-heads 2 --splits 8 --out ";
  ASSERT_EQ(run_cli(words + packed.path().string()).status, 0);
  ASSERT_EQ(run_cli(words + separate.path().string() + " --separate-heads").status, 0);
  for (const char* name : {"o.npy", "lse.npy"}) {
    const auto one = read_npy(packed.file(name));
    const auto other = read_npy(separate.file(name));
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one.value().shape, other.value().shape);
    ASSERT_EQ(one.value().data.size(), other.value().data.size());
    for (std::size_t n = 0; n < one.value().data.size(); ++n) {
      ASSERT_NEAR(one.value().data[n], other.value().data[n], 1e-12);
    }
  }
}

TEST(SplitsOption, IsRefusedInOneLine) {
  expect_refused(kDecode + "--splits 65", "at most 64 splits");
  expect_refused(kDecode + "--splits 0", "--splits is '0'");
  expect_refused(kDecode + "--pass backward",
                 "split_kv, which is for decoding and has no backward pass");
  expect_refused(kDecode + "--pass both",
                 "split_kv, which is for decoding and has no backward pass");
  expect_refused("simulate --algorithm flash2 --splits 2", "--splits is for split_kv");
  expect_refused("simulate --algorithm flash2 --separate-heads",
                 "--separate-heads is for split_kv");
}

TEST(WarpsOption, ComparesTheTwoPartitions) {
  const std::string words =
      "simulate --algorithm flash2 --seq-len 1024 --batch 2 --heads 3 "
      "--block-rows 64 --block-cols 64 ";
  const json split = answered(words)["warps"];
  const json sliced = answered(words + "--warp-partition sliced-k")["warps"];
  EXPECT_EQ(split["partition"], "split-q");
  EXPECT_EQ(split["warps_per_block"], 4);
  EXPECT_EQ(split["exchange_write_bytes"], 0);
  EXPECT_EQ(split["barriers"], 6 * 16 * (2 * 16 - 1));
  EXPECT_EQ(sliced["partition"], "sliced-k");
  EXPECT_EQ(sliced["exchange_write_bytes"], 6 * 16 * 4 * 1024 * (2 + 64) * 4);
  EXPECT_EQ(answered(words + "--warps 8")["warps"]["warps_per_block"], 8);
}

TEST(WarpsOption, IsOfBothPassesOfTheFlashAlgorithms) {
  EXPECT_EQ(answered("simulate --algorithm flash1")["warps"]["partition"], "sliced-k");
  const std::string tiles = "simulate --algorithm flash2 --block-rows 64 --block-cols 64";
  const json forward = answered(tiles)["warps"];
  const json backward = answered(tiles + " --pass backward")["warps"];
  const json both = answered(tiles + " --pass both")["warps"];
  EXPECT_EQ(backward["exchange_write_bytes"], 2 * 1024 * 1024 * 2);  // P and dS, in bf16
  for (const char* field : {"shared_read_bytes", "shared_write_bytes", "barriers"}) {
    EXPECT_EQ(both[field].get<Index>(), forward[field].get<Index>() + backward[field].get<Index>());
  }
  EXPECT_FALSE(answered("simulate --algorithm standard").contains("warps"));
}

TEST(WarpsOption, ACountOf2To63OrMoreIsRefused) {
  const std::string words =
      "simulate --algorithm flash2 --pass both --warps 32 --warp-partition sliced-k --seq-len "
      "32768 "
      "--kv-len 32 --head-dim 1 --heads 1048576 --dtype fp32 --block-rows 32 --block-cols 32 "
      "--softcap 30 --allow-overflow --batch ";
  expect_refused(words + "32768", "2^63");
  EXPECT_GT(answered(words + "1024")["warps"]["shared_read_bytes"].get<Index>(), Index{1} << 57);
}

TEST(WarpsOption, IsRefusedInOneLine) {
  expect_refused("simulate --algorithm flash2 --warps 33", "from 1 to 32");
  expect_refused("simulate --algorithm flash2 --warp-partition split-k", "split-q or sliced-k");
  expect_refused("simulate --algorithm standard --warps 4", "--warps is for the flash algorithms");
}

}  // namespace
}  // namespace attnscope
