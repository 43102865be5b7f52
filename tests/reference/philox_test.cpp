#include "reference/philox.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

void expect_words(const PhiloxWords& words, const PhiloxWords& expected) {
  for (int w = 0; w < 4; ++w) EXPECT_EQ(words.word[w], expected.word[w]) << "word " << w;
}

// Known answers of the authors' library Random123, kat_vectors, "philox4x32 10"
TEST(Philox, ZeroCounterAndKeyGiveTheKnownAnswer) {
  expect_words(philox4x32_10({{0, 0, 0, 0}}, 0, 0),
               {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
}

TEST(Philox, AllOnesGiveTheKnownAnswer) {
  expect_words(philox4x32_10({{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}}, 0xffffffffu,
                             0xffffffffu),
               {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
}

TEST(Philox, DigitsOfPiGiveTheKnownAnswer) {
  expect_words(philox4x32_10({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u,
                             0x299f31d0u),
               {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

TEST(Philox, RunsAtCompileTime) {
  constexpr PhiloxWords kWords = philox4x32_10({{0, 0, 0, 0}}, 0, 0);
  static_assert(kWords.word[0] == 0x6627e8d5u);
}

}  // namespace
}  // namespace attnscope
