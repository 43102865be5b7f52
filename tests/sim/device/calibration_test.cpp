#include "sim/device/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/device/assets.h"
#include "sim/device/gpu_description.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

using nlohmann::json;

Calibration sample() {
  return {.device = {"NVIDIA H200", "9.0", 132, "580.1", "13.0"},
          .date = "2026-01-31T12:34:56Z",
          .commit = "0123abcd",
          .local_changes = true,
          .quantities = {{.name = "dram_read_bytes_per_s",
                          .unit = "bytes/s",
                          .how = "reads",
                          .value = 4.25e12,
                          .min = 4.1e12,
                          .max = 4.3e12,
                          .n = 11},
                         {.name = "wgmma",
                          .unit = "FLOP/cycle/SM",
                          .how = "products",
                          .unavailable = "needs compute capability 9.0"}}};
}

json document() {
  return json::parse(calibration_text(sample()));
}

void expect_refused(const std::string& text, const std::string& part) {
  const auto result = parse_calibration(text, "c.json");
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
}

/// Uses a different assets folder during the test.
class ShippedCalibration : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "gpus");
    setenv("ATTNSCOPE_ASSETS", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("ATTNSCOPE_ASSETS"); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / "gpus" / name) << text;
  }
  std::string file(const std::string& name) const {
    return (folder_.path() / "gpus" / name).string();
  }
  const std::filesystem::path own_h200_ = find_asset("gpus", "h200").value();

 private:
  test::TempDir folder_;
};

TEST(Calibration, IsReadAsItWasWritten) {
  const Calibration written = sample();
  const auto read = parse_calibration(calibration_text(written), "c.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), written);
  EXPECT_EQ(calibration_text(read.value()), calibration_text(written));
}

TEST(Calibration, HasOneQuantityPerLine) {
  const std::string text = calibration_text(sample());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5 + 3 + 2);
}

TEST(Calibration, FindsOnlyWhatWasMeasured) {
  const Calibration calibration = sample();
  ASSERT_NE(calibration.find("dram_read_bytes_per_s"), nullptr);
  EXPECT_EQ(calibration.find("dram_read_bytes_per_s")->value, 4.25e12);
  EXPECT_EQ(calibration.find("wgmma"), nullptr);
  EXPECT_EQ(calibration.find("l2"), nullptr);
}

TEST(Calibration, MalformedDocumentsAreRefusedWithTheirPlace) {
  expect_refused("", "empty");
  expect_refused("{\"schema\": \"attnscope.calibration/1\",", "ends too early");
  expect_refused("[1]", "schema");
  expect_refused("{\"schema\": \"attnscope.calibration/2\"}", "newer");
  expect_refused("{\"schema\": \"attnscope.gpu/1\"}", "attnscope.calibration/1");
  for (const char* field : {"device", "date", "build", "quantities"}) {
    json without = document();
    without.erase(field);
    expect_refused(without.dump(), std::string("c.json: ") + field + ": the field is missing");
  }
  for (const char* field : {"name", "value", "min", "max", "n", "unit", "how"}) {
    json without = document();
    without["quantities"][0].erase(field);
    expect_refused(without.dump(), std::string("quantities[0]: ") + field);
  }
  json text = document();
  text["quantities"][0]["value"] = "fast";
  expect_refused(text.dump(), "quantities[0]: value: expected a number, found string");
}

TEST(Calibration, NumbersWithoutMeaningAreRefused) {
  const auto with = [](const char* field, const json& value) {
    json changed = document();
    changed["quantities"][0][field] = value;
    return changed.dump();
  };
  for (const json& value : {json(0), json(-1), json(1e19)}) {
    expect_refused(with("value", value), "value");
    expect_refused(with("min", value), "min");
    expect_refused(with("max", value), "max");
  }
  expect_refused(with("min", 4.26e12), "min: 4260000000000 is out of range");
  expect_refused(with("max", 4.24e12), "max: 4240000000000 is out of range");
  expect_refused(with("n", 0), "n: 0 is out of range");
  expect_refused(with("how", ""), "how: the text is empty");
  expect_refused(with("name", "DRAM rate"), "name: 'DRAM rate' is not a name");
  expect_refused(with("name", "wgmma"), "quantity 'wgmma' appears twice");
  json none = document();
  none["quantities"] = json::array();
  expect_refused(none.dump(), "0 quantities");
}

TEST(Calibration, EveryShippedOneIsOfAShippedGpu) {
  for (const std::string& name : list_calibrations()) {
    const auto calibration = load_calibration(name);
    ASSERT_TRUE(calibration.ok()) << calibration.error().message;
    ASSERT_TRUE(calibration.value()) << name;
    const auto gpu = load_gpu(name);
    ASSERT_TRUE(gpu.ok()) << name;
    EXPECT_EQ(calibration.value()->device.name, gpu.value().device_name);
    EXPECT_EQ(calibration.value()->device.sm_count, gpu.value().sm_count);
  }
}

TEST_F(ShippedCalibration, OfAGpuWithoutOneIsNothing) {
  const auto calibration = load_calibration("h200");
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  EXPECT_FALSE(calibration.value());
  EXPECT_TRUE(list_calibrations().empty());
}

TEST_F(ShippedCalibration, IsBesideTheDescriptionAndIsNotAGpu) {
  write("h200.json", "{}");
  write("h200.calibration.json", calibration_text(sample()));
  const auto calibration = load_calibration("h200");
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  ASSERT_TRUE(calibration.value());
  EXPECT_EQ(*calibration.value(), sample());
  EXPECT_EQ(list_gpus(), std::vector<std::string>{"h200"});
  EXPECT_EQ(list_calibrations(), std::vector<std::string>{"h200"});
  EXPECT_EQ(shipped_as(file("h200.json")), "the description of a GPU");
  EXPECT_EQ(shipped_as(file("h200.calibration.json")), "the calibration of a GPU");
  EXPECT_FALSE(load_gpu("h200.calibration").ok());
}

TEST_F(ShippedCalibration, AndDescriptionAreReadOnce) {
  std::filesystem::copy_file(own_h200_, file("h200.json"));
  write("h200.calibration.json", calibration_text(sample()));
  ASSERT_TRUE(load_gpu("h200").ok());
  const auto calibration = load_calibration("h200");
  ASSERT_TRUE(calibration.ok());
  write("h200.json", "{}");
  write("h200.calibration.json", "{}");
  EXPECT_TRUE(load_gpu("h200").ok());
  EXPECT_EQ(load_calibration("h200").value(), calibration.value());
}

TEST_F(ShippedCalibration, ThatIsMalformedIsAnErrorWithItsFile) {
  write("h200.calibration.json", "{");
  const auto calibration = load_calibration("h200");
  ASSERT_FALSE(calibration.ok());
  EXPECT_NE(calibration.error().message.find("h200.calibration.json"), std::string::npos)
      << calibration.error().message;
  write("h200.calibration.json", calibration_text(sample()));
  EXPECT_TRUE(load_calibration("h200").value());  // the error is not kept
}

TEST(MeasuredQuantity, KeepsSevenDigits) {
  EXPECT_EQ(to_seven_digits(4251234567891.0), 4251235000000.0);
  EXPECT_EQ(to_seven_digits(0.00000212345678), 2.123457e-6);
  EXPECT_EQ(to_seven_digits(28.6), 28.6);
  EXPECT_EQ(to_seven_digits(0.0), 0.0);
}

}  // namespace
}  // namespace attnscope
