#include "reference/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attnscope {
namespace {

/// One 16-bit format under test.
struct Format {
  DType dtype;
  std::uint16_t (*to_bits)(double);
  double (*from_bits)(std::uint16_t);
  std::uint16_t infinity_bits;
};

constexpr Format kFormats[] = {{DType::bf16, to_bf16_bits, from_bf16_bits, 0x7f80},
                               {DType::fp16, to_fp16_bits, from_fp16_bits, 0x7c00}};

TEST(Rounding, EveryBitPatternRoundTrips) {
  for (const Format& format : kFormats) {
    for (std::uint32_t n = 0; n < 0x10000; ++n) {
      const auto bits = static_cast<std::uint16_t>(n);
      const double value = format.from_bits(bits);
      if (std::isnan(value)) {
        ASSERT_GT(bits & 0x7fff, format.infinity_bits);
        ASSERT_TRUE(std::isnan(round_to(format.dtype, value)));
        ASSERT_TRUE(std::isnan(format.from_bits(format.to_bits(value))));
        continue;
      }
      ASSERT_EQ(format.to_bits(value), bits);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(round_to(format.dtype, value)),
                std::bit_cast<std::uint64_t>(value))
          << "pattern " << n;
    }
  }
}

TEST(Rounding, BetweenNeighboursTheNearerWinsAndTiesGoToEven) {
  for (const Format& format : kFormats) {
    for (std::uint16_t bits = 0; bits + 1 < format.infinity_bits; ++bits) {
      const double low = format.from_bits(bits);
      const double high = format.from_bits(static_cast<std::uint16_t>(bits + 1));
      const double middle = (low + high) / 2;  // exact in double
      const double even = bits % 2 == 0 ? low : high;
      ASSERT_EQ(round_to(format.dtype, middle), even) << "pattern " << bits;
      // The next double after the tie: rounding through fp32 would lose the difference
      ASSERT_EQ(round_to(format.dtype, std::nextafter(middle, 0.0)), low) << "pattern " << bits;
      ASSERT_EQ(round_to(format.dtype, std::nextafter(middle, kInfinity)), high)
          << "pattern " << bits;
      ASSERT_EQ(round_to(format.dtype, -middle), -even) << "pattern " << bits;
    }
  }
}

TEST(Rounding, OverflowBeginsHalfAUnitAboveTheLargestFiniteValue) {
  const std::pair<DType, double> largest[] = {
      {DType::fp16, 65504.0}, {DType::bf16, 0x1.fep127}, {DType::fp32, 0x1.fffffep127}};
  for (const auto& [dtype, max] : largest) {
    const double tie = max + unit_in_last_place(dtype, max) / 2;
    EXPECT_EQ(round_to(dtype, max), max);
    EXPECT_EQ(round_to(dtype, std::nextafter(tie, 0.0)), max) << to_string(dtype);
    EXPECT_EQ(round_to(dtype, tie), kInfinity) << to_string(dtype);
    EXPECT_EQ(round_to(dtype, -tie), -kInfinity) << to_string(dtype);
    EXPECT_EQ(round_to(dtype, std::numeric_limits<double>::max()), kInfinity);
  }
  EXPECT_EQ(to_fp16_bits(1e6), 0x7c00);
  EXPECT_EQ(to_bf16_bits(-1e300), 0xff80);
}

TEST(Rounding, InfinitiesNanAndSignedZerosStay) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    EXPECT_EQ(round_to(dtype, kInfinity), kInfinity);
    EXPECT_EQ(round_to(dtype, -kInfinity), -kInfinity);
    EXPECT_TRUE(std::isnan(round_to(dtype, std::numeric_limits<double>::quiet_NaN())));
    EXPECT_TRUE(std::signbit(round_to(dtype, -0.0)));
    EXPECT_FALSE(std::signbit(round_to(dtype, 0.0)));
    EXPECT_TRUE(std::signbit(round_to(dtype, -1e-300)));
  }
}

TEST(Rounding, NanBitPatternsAreQuietNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(to_bf16_bits(nan) & 0x7fff, 0x7fc0);
  EXPECT_EQ(to_fp16_bits(nan) & 0x7fff, 0x7e00);
}

TEST(Rounding, Fp32RoundsOnceAndKeepsSubnormals) {
  EXPECT_EQ(round_to(DType::fp32, 1.0 + 0x1p-24), 1.0);
  EXPECT_EQ(round_to(DType::fp32, 1.0 + 0x1p-24 + 0x1p-50), 1.0 + 0x1p-23);
  EXPECT_EQ(round_to(DType::fp32, 0x1p-149), 0x1p-149);
  EXPECT_EQ(round_to(DType::fp32, 0x1p-150), 0.0);
  EXPECT_EQ(round_to(DType::fp32, 0x1.8p-149), 0x1p-148);
}

TEST(UnitInLastPlace, IsTheDistanceToTheNextMagnitude) {
  for (const Format& format : kFormats) {
    for (std::uint16_t bits = 0; bits + 1 < format.infinity_bits; ++bits) {
      const double value = format.from_bits(bits);
      const double next = format.from_bits(static_cast<std::uint16_t>(bits + 1));
      ASSERT_EQ(unit_in_last_place(format.dtype, value), next - value) << "pattern " << bits;
    }
  }
  EXPECT_EQ(unit_in_last_place(DType::fp32, -1.0), 0x1p-23);
}

}  // namespace
}  // namespace attnscope
