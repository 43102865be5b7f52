#include "sim/device/gpu_description.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/device/assets.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json shipped(const std::string& name) {
  std::ifstream file(find_assets_dir().value() / "gpus" / (name + ".json"));
  return json::parse(file);
}

/// Writes a description and reads it back.
Result<GpuDescription> load_text(const std::string& text) {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path path = fs::path(::testing::TempDir()) / (name + ".json");
  std::ofstream(path) << text;
  auto result = load_gpu(path.string());
  fs::remove(path);
  return result;
}

void expect_one_clear_line(const Result<GpuDescription>& result, const std::string& part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
}

TEST(GpuDescription, EveryShippedGpuLoadsUnderItsOwnName) {
  const std::vector<std::string> expected = {"a100-40gb", "a100-80gb", "b200", "h100-sxm",
                                             "h200",      "l4",        "l40s", "rtx3090",
                                             "rtx4090",   "t4",        "v100"};
  EXPECT_EQ(list_gpus(), expected);
  for (const std::string& name : expected) {
    const auto gpu = load_gpu(name);
    ASSERT_TRUE(gpu.ok()) << gpu.error().message;
    EXPECT_EQ(gpu.value().name, name);
  }
}

TEST(GpuDescription, EveryFieldOfEveryGpuHasUnitSourceAndConfidence) {
  for (const std::string& name : list_gpus()) {
    const auto gpu = load_gpu(name);
    ASSERT_TRUE(gpu.ok());
    EXPECT_EQ(gpu.value().provenance.size(), 20u) << name;
    for (const auto& [field, provenance] : gpu.value().provenance) {
      EXPECT_FALSE(provenance.unit.empty()) << name << " " << field;
      EXPECT_FALSE(provenance.source.empty()) << name << " " << field;
      EXPECT_TRUE(provenance.confidence == "high" || provenance.confidence == "medium" ||
                  provenance.confidence == "low")
          << name << " " << field;
    }
  }
}

TEST(GpuDescription, H200HasTheCapacitiesThatTheDeviceReports) {
  const auto gpu = load_gpu("h200");
  ASSERT_TRUE(gpu.ok());
  EXPECT_EQ(gpu.value().sm_count, 132);
  EXPECT_EQ(gpu.value().shared_bytes_per_block, 227 * 1024);
  EXPECT_EQ(gpu.value().register_bytes_per_sm, 256 * 1024);
  EXPECT_EQ(gpu.value().l2_bytes, 60 * 1024 * 1024);
  EXPECT_EQ(gpu.value().matrix_flops_per_s(DType::bf16), 989e12);
  EXPECT_NE(gpu.value().provenance.at("l2_bytes").note.find("datasheets say 50"),
            std::string::npos);
}

TEST(GpuDescription, OnlyTheLargestChipsHaveTwoL2Partitions) {
  for (const std::string& name : list_gpus()) {
    const bool two = name.starts_with("a100") || name.starts_with("h") || name == "b200";
    EXPECT_EQ(load_gpu(name).value().l2_partitions, two ? 2 : 1) << name;
  }
}

TEST(GpuDescription, DramIsCalledHbmOnlyWhereItIs) {
  for (const std::string& name : list_gpus()) {
    const bool graphics = name == "t4" || name.starts_with("l4") || name.starts_with("rtx");
    EXPECT_EQ(dram_name(load_gpu(name).value()).starts_with("GDDR6"), graphics) << name;
    EXPECT_EQ(dram_name(load_gpu(name).value()) == "HBM", !graphics) << name;
  }
  EXPECT_EQ(dram_name(load_gpu("rtx4090").value()), "GDDR6X");
}

TEST(GpuDescription, ABlockHasWhatTheSmHasLessWhatIsReserved) {
  for (const std::string& name : list_gpus()) {
    const GpuDescription gpu = load_gpu(name).value();
    EXPECT_EQ(gpu.reserved_shared_bytes_per_block, name == "v100" || name == "t4" ? 0 : 1024)
        << name;
    EXPECT_EQ(gpu.shared_bytes_per_block + gpu.reserved_shared_bytes_per_block,
              gpu.shared_bytes_per_sm)
        << name;
  }
  const GpuDescription given =
      with_what_if(load_gpu("h200").value(), {.sram_bytes = 256 * 1024, .l2_bytes = {}}, "test");
  EXPECT_EQ(given.shared_bytes_per_sm, 257 * 1024);
}

TEST(GpuDescription, AWhatIfScalesTheRatesThatDependOnIt) {
  const GpuDescription own = load_gpu("h200").value();
  const WhatIf what_if{
      .sm_count = 66, .sm_clock = 1.5, .dram_rate = 2.0, .matrix_rate = 4.0, .exp_rate = 3.0};
  const GpuDescription gpu = with_what_if(own, what_if, "test");
  EXPECT_EQ(gpu.sm_count, 66);
  EXPECT_DOUBLE_EQ(gpu.boost_clock_hz, 1.5 * own.boost_clock_hz);
  EXPECT_DOUBLE_EQ(gpu.dram_bytes_per_s, 2.0 * own.dram_bytes_per_s);
  EXPECT_DOUBLE_EQ(gpu.other_flops_per_s, 0.75 * own.other_flops_per_s);
  EXPECT_DOUBLE_EQ(*gpu.matrix_flops_per_s(DType::fp32),
                   0.75 * *own.matrix_flops_per_s(DType::fp32));
  EXPECT_DOUBLE_EQ(*gpu.matrix_flops_per_s(DType::bf16),
                   3.0 * *own.matrix_flops_per_s(DType::bf16));
  EXPECT_DOUBLE_EQ(gpu.exponentials_per_s(), 2.25 * own.exponentials_per_s());
  EXPECT_EQ(gpu.what_if, what_if);
  EXPECT_TRUE(same_numbers(with_what_if(own, {}, "test"), own));
}

TEST(GpuDescription, GpusBeforeAmpereHaveNoBf16Unit) {
  for (const std::string name : {"v100", "t4"}) {
    const auto gpu = load_gpu(name);
    ASSERT_TRUE(gpu.ok());
    EXPECT_FALSE(gpu.value().matrix_flops_per_s(DType::bf16).has_value());
    EXPECT_TRUE(gpu.value().matrix_flops_per_s(DType::fp16).has_value());
  }
}

TEST(GpuDescription, DatasheetRatesAgreeWithClockTimesUnits) {
  // fp32: 64 or 128 lanes per SM, two operations per clock; 4 % covers the rounding of datasheets
  for (const std::string& name : list_gpus()) {
    const GpuDescription gpu = load_gpu(name).value();
    const double per_clock_per_sm =
        gpu.other_flops_per_s / gpu.boost_clock_hz / static_cast<double>(gpu.sm_count);
    const double lanes = per_clock_per_sm / 2.0;
    EXPECT_TRUE(std::abs(lanes - 64.0) <= 2.5 || std::abs(lanes - 128.0) <= 5.0)
        << name << " " << lanes;
  }
}

TEST(GpuDescription, ExponentialsRestOnTheClockOfTheCudaCores) {
  // 16 per clock per SM, compared with 64 or 128 multiply-adds: an eighth or a sixteenth of the
  // operations
  for (const std::string& name : list_gpus()) {
    const GpuDescription gpu = load_gpu(name).value();
    EXPECT_EQ(gpu.exp_per_clock_per_sm, 16.0) << name;
    const double ratio = gpu.other_flops_per_s / gpu.exponentials_per_s();
    EXPECT_TRUE(std::abs(ratio - 8.0) <= 0.32 || std::abs(ratio - 16.0) <= 0.64)
        << name << " " << ratio;
  }
}

TEST(GpuDescription, UnknownNameSuggestsTheNearest) {
  expect_one_clear_line(load_gpu("h20"), "did you mean 'h200'?");
  expect_one_clear_line(load_gpu("quantum"), "known: a100-40gb");
}

TEST(GpuDescription, MissingFileIsRefused) {
  expect_one_clear_line(load_gpu("/nonexistent/gpu.json"), "no such file");
}

TEST(GpuDescription, MalformedFilesAreRefusedWithTheirPlace) {
  expect_one_clear_line(load_text(""), "empty");
  expect_one_clear_line(load_text("{\"schema\": \"attnscope.gpu/1\","), "ends too early");
  expect_one_clear_line(load_text("[1, 2]"), "schema");
  expect_one_clear_line(load_text("{\"schema\": \"attnscope.gpu/2\"}"), "newer");
  expect_one_clear_line(load_text("{\"schema\": \"attnscope.scene/1\"}"), "attnscope.gpu/1");
  expect_one_clear_line(load_text("{\"schema\": 1e999}"), "too large");
}

TEST(GpuDescription, EveryFieldButTheMemoryTypeTheDeviceAndTheL2PartitionsIsRequired) {
  const json good = shipped("h200");
  for (const auto& [key, value] : good.items()) {
    json without = good;
    without.erase(key);
    if (key == "device_name") {
      EXPECT_EQ(load_text(without.dump()).value().device_name, "");
      continue;
    }
    if (key == "dram_type") {
      EXPECT_EQ(dram_name(load_text(without.dump()).value()), "DRAM");
      continue;
    }
    if (key == "l2_partitions") {
      EXPECT_EQ(load_text(without.dump()).value().l2_partitions, 1);
      continue;
    }
    expect_one_clear_line(load_text(without.dump()), key);
  }
}

TEST(GpuDescription, ValuesThatNoGpuHasAreRefused) {
  for (const json& value :
       {json(0), json(-1), json("132"), json(1.5), json(1e30), json(65537), json(nullptr)}) {
    json bad = shipped("h200");
    bad["sm_count"]["value"] = value;
    expect_one_clear_line(load_text(bad.dump()), "sm_count");
  }
  json three = shipped("h200");
  three["l2_partitions"]["value"] = 3;
  expect_one_clear_line(load_text(three.dump()), "l2_partitions");
  json negative = shipped("h200");
  negative["reserved_shared_bytes_per_block"]["value"] = -1;
  expect_one_clear_line(load_text(negative.dump()), "reserved_shared_bytes_per_block");
  json bad = shipped("h200");
  bad["dram_bytes_per_s"].erase("source");
  expect_one_clear_line(load_text(bad.dump()), "source");
}

}  // namespace
}  // namespace attnscope
