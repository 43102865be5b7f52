#include "reference/parse_number.h"

#include <gmock/gmock.h>

#include <cstdint>

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ParseNumber, TakesTheWholeText) {
  EXPECT_THAT(parse_number<int>("-12"), Optional(-12));
  EXPECT_THAT(parse_number<double>("2.5e-3"), Optional(2.5e-3));
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1.5", "one"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, RefusesWhatDoesNotFitTheType) {
  EXPECT_THAT(parse_number<std::uint64_t>("18446744073709551615"), Optional(UINT64_MAX));
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e999"), std::nullopt);
}

TEST(ParseNumbers, SeparatesAtCommasAndTakesNoGap) {
  EXPECT_THAT(parse_numbers<int>("7"), Optional(ElementsAre(7)));
  EXPECT_THAT(parse_numbers<double>("0.5,1,-2"), Optional(ElementsAre(0.5, 1.0, -2.0)));
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1, 2", "1;2"}) {
    EXPECT_EQ(parse_numbers<int>(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace attnscope
