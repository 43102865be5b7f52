/// --block-mask on the command line: its bytes and JSON, sweeps over the density, files,
/// rejections.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::expect_refused;

const std::string kSparse =
    "simulate --algorithm block_sparse --seq-len 256 --block-rows 64 --block-cols 64 ";

TEST(BlockMaskOption, CountsTheKeptTilesAlone) {
  const json document = answered(kSparse + "--block-mask butterfly --check");
  EXPECT_EQ(document["block_mask"], (json{{"pattern", "butterfly"},
                                          {"Tr", 4},
                                          {"Tc", 4},
                                          {"nonzeros", 12},
                                          {"density", 0.75},
                                          {"skip_unused_kv", false}}));
  // K and V once; Q, O, l and m for each of the 12 tiles
  EXPECT_EQ(document["traffic"]["requested"]["read_bytes"],
            2 * 256 * 64 * 2 + 12 * (2 * 64 * 64 * 2 + 2 * 64 * 4));
  EXPECT_LT(document["accuracy"]["max_abs_error"].get<double>(), 1e-10);
}

TEST(BlockMaskOption, SkippingUnusedKeysIsReportedAndSavesBytes) {
  const std::string words =
      "simulate --algorithm block_sparse --seq-len 4096 --block-rows 64 "
      "--block-cols 64 --block-mask random:0.01";
  const json all = answered(words);
  const json used = answered(words + " --skip-unused-kv");
  EXPECT_EQ(used["block_mask"]["skip_unused_kv"], true);
  EXPECT_LT(used["traffic"]["requested"]["read_bytes"], all["traffic"]["requested"]["read_bytes"]);
}

TEST(BlockMaskOption, SweepsOverTheDensity) {
  const CliOutcome outcome = run_cli(
      "sweep --json - --over block-mask=uniform:0.25,uniform:0.5,3,local-global:1,0,butterfly -- "
      "simulate "
      "--algorithm block_sparse2 --seq-len 1024 --block-rows 64 --block-cols 64");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["block_mask"]["density"], 0.25);
  EXPECT_EQ(rows[1]["block_mask"]["pattern"], "uniform:0.5,3");
  EXPECT_EQ(rows[1]["flops"]["matmul"], 2 * rows[0]["flops"]["matmul"].get<std::int64_t>());
  EXPECT_EQ(rows[2]["block_mask"]["pattern"], "local-global:1,0");
  EXPECT_EQ(rows[3]["block_mask"]["pattern"], "butterfly");
}

TEST(BlockMaskOption, TakesAFile) {
  const ScratchFolder folder;
  const std::vector<double> ones = {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1};
  const std::vector<Index> shape = {4, 4};
  ASSERT_EQ(write_npy(folder.file("mask.npy"), shape, ones), std::nullopt);
  const json document = answered(kSparse + "--block-mask " + folder.file("mask.npy"));
  EXPECT_EQ(document["block_mask"]["nonzeros"], 6);
}

TEST(BlockMaskOption, IsRefusedInOneLine) {
  const ScratchFolder folder;
  const std::vector<double> bad = {1, 0, 0, 2, 1, 1};
  const std::vector<Index> shape = {2, 3};
  ASSERT_EQ(write_npy(folder.file("mask.npy"), shape, bad), std::nullopt);
  expect_refused(kSparse + "--block-mask " + folder.file("mask.npy"),
                 "shape [2, 3]; the block mask of this problem and tiling has shape [4, 4]");
  expect_refused(
      "simulate --algorithm block_sparse --seq-len 128 --kv-len 192 --block-rows 64 "
      "--block-cols 64 --block-mask " +
          folder.file("mask.npy"),
      "the value at [1, 0] is 2; a block mask contains only 0 and 1");
  expect_refused(kSparse + "--block-mask " + folder.file("none.npy"), "no such file");
  expect_refused(kSparse + "--block-mask butterflies", "it must be butterfly");
  expect_refused(kSparse + "--block-mask random:2", "0 < DENSITY <= 1");
  expect_refused("simulate --algorithm flash2 --block-mask butterfly", "is for block_sparse");
  expect_refused("simulate --algorithm flash1 --skip-unused-kv", "is for block_sparse");
  expect_refused("measure --algorithm flash2 --block-mask butterfly", "is for block_sparse");
  expect_refused("run --algorithm block_sparse2 --block-mask butterflies", "it must be butterfly");
  expect_refused("run --algorithm block_sparse2 --block-mask butterfly --block-rows 40",
                 "cannot compute tiles of 40x128");
  expect_refused(
      "measure --algorithm block_sparse2 --pass backward --head-dim 128 "
      "--block-mask butterfly --block-rows 256 --block-cols 256",
      "bytes of shared memory");
}

}  // namespace
}  // namespace attnscope
