#include "app/guide/guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace attnscope::app {
namespace {

const Guide& checked_guide() {
  static const Guide guide = [] {
    std::vector<std::string> problems;
    Guide loaded = load_guide(problems);
    EXPECT_THAT(problems, testing::IsEmpty());
    return loaded;
  }();
  return guide;
}

/// Calls `visit` with every line of text of a block.
template <typename Visit>
void for_each_line(const MarkdownBlock& block, const Visit& visit) {
  if (const auto* heading = std::get_if<Heading>(&block)) visit(heading->text);
  if (const auto* paragraph = std::get_if<Paragraph>(&block)) visit(paragraph->text);
  if (const auto* item = std::get_if<ListItem>(&block)) visit(item->text);
  if (const auto* table = std::get_if<MarkdownTable>(&block)) {
    for (const TextLine& cell : table->header) visit(cell);
    for (const auto& row : table->rows) {
      for (const TextLine& cell : row) visit(cell);
    }
  }
}

TEST(Guide, BeginsWithTheScreenAndHasEveryPageOnce) {
  ASSERT_GE(checked_guide().pages.size(), 9u);
  EXPECT_EQ(checked_guide().pages[0].name, "screen");
  EXPECT_EQ(checked_guide().pages[0].title, "The screen");
  std::set<std::string> names;
  for (const GuidePage& page : checked_guide().pages) names.insert(page.name);
  EXPECT_EQ(names.size(), checked_guide().pages.size());
  EXPECT_NE(checked_guide().find("glossary"), nullptr);
  EXPECT_EQ(checked_guide().find("no such page"), nullptr);
}

TEST(Guide, ShowsNoMarkup) {
  for (const GuidePage& page : checked_guide().pages) {
    for (const MarkdownBlock& block : page.blocks) {
      for_each_line(block, [&](const TextLine& line) {
        for (const TextSpan& span : line) {
          if (span.style == TextStyle::code) continue;
          EXPECT_THAT(span.text,
                      testing::Not(testing::AnyOf(testing::HasSubstr("`"), testing::HasSubstr("]("),
                                                  testing::HasSubstr("**"))))
              << page.name;
        }
      });
    }
  }
}

TEST(Guide, LinksBetweenPagesLeadToAHeading) {
  int links = 0;
  for (const GuidePage& page : checked_guide().pages) {
    for (const MarkdownBlock& block : page.blocks) {
      for_each_line(block, [&](const TextLine& line) {
        for (const TextSpan& span : line) {
          if (span.link.empty()) continue;
          const GuidePlace place = place_of_link(span.link, page.name);
          if (place.page.empty()) continue;
          ++links;
          const GuidePage* target = checked_guide().find(place.page);
          ASSERT_NE(target, nullptr) << page.name << ": " << span.link;
          if (place.anchor.empty()) continue;
          EXPECT_TRUE(std::ranges::any_of(target->blocks,
                                          [&](const MarkdownBlock& each) {
                                            const auto* heading = std::get_if<Heading>(&each);
                                            return heading != nullptr &&
                                                   heading->anchor == place.anchor;
                                          }))
              << page.name << ": " << span.link;
        }
      });
    }
  }
  EXPECT_GT(links, 10);
}

TEST(Guide, DistinguishesItsPagesFromOtherFilesAndAddresses) {
  EXPECT_EQ(place_of_link("model.md#time", "screen"), (GuidePlace{"model", "time"}));
  EXPECT_EQ(place_of_link("#units", "numbers"), (GuidePlace{"numbers", "units"}));
  EXPECT_EQ(place_of_link("numbers.md", "screen"), (GuidePlace{"numbers", ""}));
  EXPECT_EQ(place_of_link("../../README.md#first-steps", "screen"), GuidePlace{});
  EXPECT_EQ(place_of_link("https://ui.perfetto.dev", "screen"), GuidePlace{});
}

}  // namespace
}  // namespace attnscope::app
