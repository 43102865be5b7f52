#include "reference/message_text.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(MessageText, LongTextLosesItsMiddleAndStaysWholeCharacters) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  const std::string cut = shortened("ααααααααααααααα", 15);  // two bytes each
  EXPECT_LE(cut.size(), 15U);
  EXPECT_NE(cut.find("..."), std::string::npos);
  std::size_t letters = 0;
  for (const char byte : cut) letters += static_cast<unsigned char>(byte) >= 0x80 ? 1U : 0U;
  EXPECT_EQ(letters % 2, 0U) << cut;
}

TEST(CapacityText, CountsInPowersOf1024) {
  EXPECT_EQ(capacity_text(0), "0 B");
  EXPECT_EQ(capacity_text(1023), "1023 B");
  EXPECT_EQ(capacity_text(232448), "227 KiB") << "not 232 kB";
  EXPECT_EQ(capacity_text(100400), "98.05 KiB");
  EXPECT_EQ(capacity_text(262144), "256 KiB");
  EXPECT_EQ(capacity_text(62914560), "60 MiB");
  EXPECT_EQ(capacity_text(Index{80} << 30), "80 GiB");
}

TEST(CapacityText, WhatIsUsedHasTheUnitOfTheCapacity) {
  EXPECT_EQ(used_capacity_text(100400, 262144), "98.05 of 256 KiB");
  EXPECT_EQ(used_capacity_text(512, 232448), "0.5 of 227 KiB");
  EXPECT_EQ(used_capacity_text(Index{12} << 20, 232448), "12288 of 227 KiB");
  EXPECT_EQ(used_capacity_text(0, 232448), "0 of 227 KiB");
}

}  // namespace
}  // namespace attnscope
