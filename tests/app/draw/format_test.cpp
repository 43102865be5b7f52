#include "app/draw/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace attnscope::app::draw {
namespace {

TEST(Format, CountsHaveThousandsSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(-1234), "-1,234");
}

TEST(Format, BytesAreExactBelowTenMegabytes) {
  EXPECT_EQ(format_bytes(Index{512}), "512 B");
  EXPECT_EQ(format_bytes(Index{8448}, false), "8,448");
  EXPECT_EQ(format_bytes(Index{9999999}), "9,999,999 B");
  EXPECT_EQ(format_bytes(Index{12345678}), "12.3 MB");
  EXPECT_EQ(format_bytes(4.4e9), "4.40 GB");
  EXPECT_EQ(format_bytes(Index{0}), "0 B");
}

TEST(Format, ValuesHaveFourDigits) {
  EXPECT_EQ(format_value(1.16), "1.160");
  EXPECT_EQ(format_value(0.31132), "0.3113");
  EXPECT_EQ(format_value(-12.3456), "-12.35");
  EXPECT_EQ(format_value(0.0), "0");
  EXPECT_EQ(format_value(1.1e-16), "1.10e-16");
  EXPECT_EQ(format_value(123456.0), "123456");
  EXPECT_EQ(format_value(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(format_value(std::numeric_limits<double>::quiet_NaN()), "undefined");
}

TEST(Format, ErrorsHaveTwoDigits) {
  EXPECT_EQ(format_error(1.13e-16), "1.1e-16");
  EXPECT_EQ(format_error(0.0), "0");
  EXPECT_EQ(format_error(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(Format, SecondsTakeTheirPrefix) {
  EXPECT_EQ(format_seconds(1.5), "1.50 s");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(4.56e-6), "4.56 µs");
  EXPECT_EQ(format_seconds(5e-9), "5.00 ns");
  EXPECT_EQ(format_seconds(1.7e-12), "1.70 ps");
  EXPECT_EQ(format_seconds(2e-16), "2e-16 s");
}

TEST(Format, TicksAreShort) {
  EXPECT_EQ(format_tick(1e11, "B"), "100 GB");
  EXPECT_EQ(format_tick(1e12, "B"), "1 TB");
  EXPECT_EQ(format_tick(1e-3, "s"), "1 ms");
  EXPECT_EQ(format_tick(1e-5, "s"), "10 µs");
  EXPECT_EQ(format_tick(1.0, "s"), "1 s");
}

TEST(Format, SizesAreInKOf1024WhereWhole) {
  EXPECT_EQ(format_size(512), "512");
  EXPECT_EQ(format_size(1024), "1k");
  EXPECT_EQ(format_size(16384), "16k");
  EXPECT_EQ(format_size(1000), "1,000");
  EXPECT_EQ(format_size(1 << 20), "1M");
}

TEST(Format, PercentHasASign) {
  EXPECT_EQ(format_percent(0.0), "0 %");
  EXPECT_EQ(format_percent(0.024), "+0.02 %");
  EXPECT_EQ(format_percent(-12.34), "-12.3 %");
  EXPECT_EQ(format_percent(250.4), "+250 %");
  EXPECT_EQ(format_percent(1'470'200.0), "14703×");
  EXPECT_EQ(format_percent(900.0), "10×");
  EXPECT_EQ(format_percent(511025.0), "5111×");
}

TEST(Format, QuantitiesTakeThreeDigitsAndAPrefix) {
  EXPECT_EQ(format_si(8.4e9, "FLOP"), "8.40 GFLOP");
  EXPECT_EQ(format_si(Index{512}, "FLOP"), "512 FLOP");
  EXPECT_EQ(format_si(Index{999999}, "B"), "1.00 MB");
}

}  // namespace
}  // namespace attnscope::app::draw
