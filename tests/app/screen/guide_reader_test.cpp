/// The guide inside the app.
#include "app/screen/guide_reader.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

TEST(GuideReader, OpensWithTheButtonInTheBarAndClosesWithEscape) {
  ScreenSession session;
  session.click("help");
  ASSERT_TRUE(session.rects().find("guide"));
  EXPECT_TRUE(session.rects().find("guide.page.keys"));
  for (const GuidePage& page : session.app().listed.guide.pages) {
    EXPECT_TRUE(session.rects().find("guide.page." + page.name)) << page.name;
  }
  session.key(Key::escape);
  EXPECT_FALSE(session.rects().find("guide"));
}

TEST(GuideReader, DrawsEveryPageWithinItsCard) {
  ScreenSession session;
  const auto places = [&] {
    std::set<std::pair<float, float>> all;
    for (const Rect& letter : session.letters()) all.emplace(letter.center().x, letter.center().y);
    return all;
  };
  while (session.busy()) session.settle();  // the panels behind it no longer change
  const auto behind = places();
  session.click("help");
  std::vector<std::string> names{std::string(kKeysPage)};
  for (const GuidePage& page : session.app().listed.guide.pages) names.push_back(page.name);
  for (const std::string& name : names) {
    session.click("guide.page." + name);
    const Rect text = *session.rects().find("guide.text");
    const Rect card = *session.rects().find("guide");
    int letters = 0;
    for (const auto& [x, y] : places()) {
      if (behind.contains({x, y})) continue;
      EXPECT_TRUE(card.contains({x, y})) << name << " at " << x << ", " << y;
      letters += text.contains({x, y}) ? 1 : 0;
    }
    EXPECT_GT(letters, 200) << name;
  }
}

TEST(GuideReader, GoesBackToThePageBefore) {
  ScreenSession session;
  session.click("help");
  session.click("guide.page.glossary");
  session.click("guide.page.keys");
  session.click("guide.back");
  session.click("guide.back");
  session.click("guide.close");
  EXPECT_FALSE(session.rects().find("guide"));
}

}  // namespace
}  // namespace attnscope::app
