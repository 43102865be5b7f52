#include "app/draw/wordings.h"

#include <gtest/gtest.h>

#include "tests/app/panels/headless_imgui.h"

namespace attnscope::app::draw {
namespace {

using Texts = std::vector<std::string>;

TEST(Wordings, LoseTheirLastPartOneByOne) {
  EXPECT_EQ(wordings_of("N = 64, d = 16, causal", ", "),
            (Texts{"N = 64, d = 16, causal", "N = 64, d = 16", "N = 64"}));
  constexpr std::string_view kSeparators[] = {"; ", ": "};
  EXPECT_EQ(wordings_of("block 0: on SM 3; on SM 5", kSeparators),
            (Texts{"block 0: on SM 3; on SM 5", "block 0: on SM 3", "block 0"}));
  EXPECT_EQ(wordings_of("one part", "; "), (Texts{"one part"}));
  EXPECT_EQ(wordings_of("", "; "), (Texts{}));
}

class WordingInLines : public testing::Test {
 protected:
  test::HeadlessImGui imgui_{400, 300};
  const FontRef& font_ = imgui_.fonts().ui;
};

TEST_F(WordingInLines, IsTheLongestThatFits) {
  const std::string wordings[] = {"predicted on SM 3, recorded on SM 5", "predicted on SM 3"};
  const float whole = font_.measure(wordings[0]).x;
  EXPECT_EQ(wording_in_lines(font_, wordings, whole, 1), wordings[0]);
  EXPECT_EQ(wording_in_lines(font_, wordings, whole - 1.0f, 1), wordings[1]);
  EXPECT_EQ(wording_in_lines(font_, wordings, whole - 1.0f, 2), wordings[0]);
  EXPECT_EQ(wording_in_lines(font_, wordings, 1.0f, 1), wordings[1]) << "never nothing";
}

TEST_F(WordingInLines, HasNoWordThatIsWiderThanTheLine) {
  const std::string wordings[] = {"requested_bytes_of_all_heads", "bytes"};
  EXPECT_EQ(wording_in_lines(font_, wordings, font_.measure(wordings[0]).x - 1.0f, 3), wordings[1]);
}

}  // namespace
}  // namespace attnscope::app::draw
