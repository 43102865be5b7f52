#include "app/report/product_tiles.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/device/assets.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kShippedWithKernels[] = {"h200", "h200-sweeps", "h100"};

Recording shipped(std::string_view name) {
  return read_recording(find_asset("recordings", name).value()).value();
}

LaunchCounters& launch_of(RecordingRow& row, std::string_view name) {
  auto& launches = row.measurement->launches;
  return *std::ranges::find(launches, name, &LaunchCounters::name);
}

/// A run of standard whose kernel for Q K^T makes tiles of 128 x 256, and whose kernel for P V
/// makes tiles of 256 x 64; its counters are the model's.
RecordingRow run_with_named_kernels(const GpuDescription& gpu) {
  RecordingRow row = recorded_run("standard");
  const ProductTiles tiles{.S = {128, 256}, .O = {256, 64}};
  const SimulationReport model = model_kernel_run(row.run, gpu, tiles).value();
  Measurement measurement;
  measurement.time = {1e-3, 1e-3, 1e-3, 20};
  measurement.counters = counters_of(model.requested, model.compulsory);
  for (const LaunchReport& launch : model.launches) {
    measurement.launches.push_back(
        {launch.name, true, counters_of(launch.requested, launch.compulsory)});
  }
  row.measurement = measurement;
  launch_of(row, "scores").kernels = {{.name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"}};
  launch_of(row, "output").kernels = {{.name = "nvjet_sm90_tst_64x256_64x5_1x2_h_bz_NNN"}};
  return row;
}

std::string reason_of(const Comparison& comparison, std::string_view launch) {
  for (const ComparisonLine& line : comparison.lines) {
    if (line.level != Level::requested || line.quantity != "read") continue;
    if (line.launch == launch) return line.reason;
  }
  return "no such line";
}

TEST(TileInName, IsTheTileOfTheRowMajorResult) {
  const std::pair<const char*, ProductTile> names[] = {
      {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", {128, 256}},
      {"nvjet_sm90_hsh_64x8_64x16_1x4_h_bz_NNT", {8, 64}},
      {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x64x32_stage4", {64, 128}},
      {"cutlass_80_simt_sgemm_128x32_8x5_nn_align1", {32, 128}}};
  for (const auto& [name, tile] : names) EXPECT_EQ(tile_in_name(name), tile) << name;
  for (const char* name : {"", "_", "gemv2T_kernel_val", "a_x128", "a_128", "a_128x", "a_0x64",
                           "a_99999999999999999999x64", "a_-4x64"}) {
    EXPECT_EQ(tile_in_name(name), std::nullopt) << name;
  }
}

TEST(ProductTilesOfARecording, AreThoseOfItsKernelsNames) {
  const GpuDescription gpu = load_gpu("h200").value();
  const RecordingRow row = run_with_named_kernels(gpu);
  const RecordedProductTiles recorded = recorded_product_tiles(row);
  EXPECT_EQ(recorded.from, ProductTilesFrom::kernel_names);
  EXPECT_EQ(recorded.tiles.S, (ProductTile{128, 256}));
  EXPECT_EQ(recorded.tiles.O, (ProductTile{256, 64}));

  const Comparison comparison = model_and_compare(row, h200_device(), gpu).value();
  for (const ComparisonLine& line : comparison.lines) {
    if (line.level != Level::requested || line.quantity != "read") continue;
    EXPECT_EQ(line.gap_percent, 0.0) << line.launch;
  }
  EXPECT_EQ(reason_of(comparison, "output"),
            "agrees; tiles of 256 x 64, from the name of cuBLAS's kernel");
  EXPECT_EQ(reason_of(comparison, ""),
            "agrees; modelled with the tiles in the names of cuBLAS's kernels");
  EXPECT_EQ(reason_of(comparison, "softmax"), "agrees");
}

TEST(ProductTilesOfARecording, WithoutNamesAreThoseExpectedByRule) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = run_with_named_kernels(gpu);
  for (LaunchCounters& launch : row.measurement->launches) launch.kernels.clear();
  const RecordedProductTiles recorded = recorded_product_tiles(row);
  EXPECT_EQ(recorded.from, ProductTilesFrom::rule);
  EXPECT_EQ(recorded.tiles, expected_product_tiles(row.run.problem));

  row.run.problem.dtype = DType::fp32;
  EXPECT_EQ(recorded_product_tiles(row).from, ProductTilesFrom::nothing);
  row.run.problem.dtype = DType::bf16;
  row.run.asked.algorithm = "flash2";
  EXPECT_EQ(recorded_product_tiles(row).from, ProductTilesFrom::nothing);
}

/// A launch of two kernels, whose parts are unknown, and a name without a tile.
TEST(ProductTilesOfARecording, AreUnknownIfTheNamesDoNotGiveThem) {
  RecordingRow row = run_with_named_kernels(load_gpu("h200").value());
  std::vector<LaunchShape>& kernels = launch_of(row, "output").kernels;
  kernels.push_back(kernels.front());
  EXPECT_EQ(recorded_product_tiles(row).tiles.O, ProductTile{});
  kernels = {{.name = "gemv2T_kernel_val"}};
  EXPECT_EQ(recorded_product_tiles(row).tiles.O, ProductTile{});
  EXPECT_EQ(recorded_product_tiles(row).tiles.S, (ProductTile{128, 256}));
}

TEST(ProductTilesOfARecording, OtherBytesThanTheTilesGiveAreExplained) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = run_with_named_kernels(gpu);
  row.measurement->counters[std::string(counter::kRequestedReadBytes)] *= 1.1;
  const Comparison comparison = model_and_compare(row, h200_device(), gpu).value();
  EXPECT_THAT(reason_of(comparison, ""), HasSubstr("beyond the edges of the matrices"));
  EXPECT_THAT(reason_of(comparison, ""), Not(HasSubstr("agrees")));
  EXPECT_THAT(comparison.find(Level::paper, "read")->reason, HasSubstr("panel re-reads"));
}

/// cuBLAS chooses by its own measurements; the rule is right for most 16-bit products in the sizes
/// of the recordings.
TEST(ExpectedProductTiles, AreThoseOfMostShippedProducts) {
  int products = 0;
  int right = 0;
  for (const std::string_view name : kShippedWithKernels) {
    for (const RecordingRow& row : shipped(name).rows) {
      RecordedProductTiles recorded = recorded_product_tiles(row);
      if (recorded.from != ProductTilesFrom::kernel_names) continue;
      ProductTiles expected = expected_product_tiles(row.run.problem);
      for (const LaunchCounters& launch : row.measurement->launches) {
        const ProductTile* const tile = product_tile_of(recorded.tiles, launch.name);
        if (tile == nullptr || *tile == ProductTile{}) continue;
        ++products;
        right += *tile == *product_tile_of(expected, launch.name) ? 1 : 0;
      }
    }
  }
  EXPECT_GE(products, 500);
  EXPECT_GE(right, products * 85 / 100) << products;
}

/// The requested bytes agree within 0.5 % where the tiles divide the matrices (others read beyond
/// the edges) and each sum runs over a multiple of 64 elements, which a kernel loads at once.
TEST(NamedProductTiles, GiveTheReadBytesOfShippedProducts) {
  const GpuDescription gpu = load_gpu("h200").value();
  int launches = 0;
  for (const RecordingRow& row : shipped("h200").rows) {
    RecordedProductTiles recorded = recorded_product_tiles(row);
    if (recorded.from != ProductTilesFrom::kernel_names) continue;
    const Index N = row.run.problem.N;
    const Comparison comparison = model_and_compare(row, h200_device(), gpu).value();
    for (const ComparisonLine& line : comparison.lines) {
      if (line.level != Level::requested || line.quantity != "read") continue;
      const ProductTile* const tile = product_tile_of(recorded.tiles, line.launch);
      if (tile == nullptr || tile->rows == 0) continue;
      if (N % tile->rows != 0 || N % 256 != 0 || row.run.problem.d % 64 != 0) continue;
      if (!line.gap_percent) continue;
      ++launches;
      EXPECT_LE(std::abs(*line.gap_percent), 0.5)
          << fmt::format("{} N {} d {}", line.launch, N, row.run.problem.d);
    }
  }
  EXPECT_GE(launches, 200);
}

}  // namespace
}  // namespace attnscope
