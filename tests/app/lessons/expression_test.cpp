#include "app/lessons/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace attnscope::lessons {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A source of values that looks them up by the text of their path.
class FakeRuns : public ValueSource {
 public:
  Result<Value> value(const Path& path) override {
    const auto found = values.find(path.text);
    if (found == values.end()) return invalid_request("no {}", path.text);
    return found->second;
  }
  Result<Index> visit(const std::string&, Index n) override { return 10 * n; }
  Result<Index> launch(const std::string&, Index n) override { return 100 * n; }
  Result<TilePlace> tile(const std::string&, Index step) override {
    return TilePlace{step, step + 1};
  }
  Result<Index> first_difference(const std::string&, const std::string&) override {
    return unavailable("no result differs");
  }

  std::map<std::string, Value> values = {
      {"a.x_bytes", 6.0}, {"a.y_bytes", 3.0}, {"b.t_s", 0.5}, {"a.name", std::string("dram")}};
};

Result<Value> evaluated(std::string_view text) {
  FakeRuns runs;
  auto expression = Expression::parse(text);
  return expression ? expression.value().evaluate(runs) : Result<Value>(expression.error());
}

double number(std::string_view text) {
  const auto value = evaluated(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value ? "" : value.error().message);
  return value ? std::get<double>(value.value()) : 0.0;
}

bool condition(std::string_view text) {
  const auto value = evaluated(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value ? "" : value.error().message);
  return value && std::get<bool>(value.value());
}

std::string refusal(std::string_view text) {
  const auto value = evaluated(text);
  EXPECT_FALSE(value.ok()) << text;
  return value ? "" : value.error().message;
}

TEST(Expression, FollowsTheOrderOfOperators) {
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("8 / 2 / 2"), 2);
  EXPECT_EQ(number("5 - 2 - 1"), 2);
  EXPECT_EQ(number("-2 * -3"), 6);
  EXPECT_EQ(number("1.5e3 + 1"), 1501);
  EXPECT_TRUE(condition("1 + 1 == 2 and not 1 > 2 or false"));
  EXPECT_TRUE(condition("false and false or true"));
  EXPECT_FALSE(condition("false and (false or true)"));
  EXPECT_TRUE(condition("2 <= 2 and 2 >= 2 and 1 < 2"));
}

TEST(Expression, HasFunctionsOfNumbersAndRuns) {
  EXPECT_EQ(number("min(2, 3) + max(2, 3) + abs(0 - 4) + log2(8)"), 12);
  EXPECT_EQ(number("visit(a, 2)"), 20);
  EXPECT_EQ(number("launch(a, 2)"), 200);
  const auto tile = evaluated("tile(a, visit(a, 1))");
  ASSERT_TRUE(tile.ok());
  EXPECT_EQ(std::get<TilePlace>(tile.value()), (TilePlace{10, 11}));
  const auto difference = evaluated("first_difference(a, b)");
  ASSERT_FALSE(difference.ok());
  EXPECT_EQ(difference.error().kind, Error::Kind::unavailable);
}

TEST(Expression, ReadsValuesByTheirPath) {
  EXPECT_EQ(number("a.x_bytes / a.y_bytes"), 2);
  EXPECT_TRUE(condition("a.name == 'dram'"));
  EXPECT_FALSE(condition("a.name == 'l2'"));
}

TEST(Expression, KeepsThePartsOfAPath) {
  const auto expression = Expression::parse("1 + r.list[2].key[a=b,c=].last");
  ASSERT_TRUE(expression.ok());
  const auto paths = expression.value().paths();
  ASSERT_EQ(paths.size(), 1U);
  const Path& path = paths[0];
  EXPECT_EQ(path.run, "r");
  EXPECT_EQ(path.begin, 4U);
  EXPECT_EQ(path.text, "r.list[2].key[a=b,c=].last");
  ASSERT_EQ(path.parts.size(), 5U);
  EXPECT_EQ(path.parts[1].index, 2U);
  EXPECT_THAT(path.parts[3].selects, ElementsAre(std::pair<std::string, std::string>{"a", "b"},
                                                 std::pair<std::string, std::string>{"c", ""}));
}

TEST(Expression, KnowsTheUnitOfANumber) {
  const auto unit = [](std::string_view text) { return Expression::parse(text).value().unit(); };
  EXPECT_EQ(unit("a.x_bytes + a.y_bytes"), "bytes");
  EXPECT_EQ(unit("2 * a.x_bytes"), "bytes");
  EXPECT_EQ(unit("a.x_bytes / 2"), "bytes");
  EXPECT_EQ(unit("a.x_bytes / a.y_bytes"), "");
  EXPECT_EQ(unit("b.t_s"), "s");
  EXPECT_EQ(unit("a.time.parts.idle"), "s");
  EXPECT_EQ(unit("a.flops.matmul"), "FLOP");
  EXPECT_EQ(unit("a.lines[level=bound,quantity=time].recorded"), "s");
  EXPECT_EQ(unit("a.gpu.dram_bytes_per_s"), "bytes/s");
  EXPECT_EQ(unit("a.gpu.l2_bytes"), "bytes on chip");
  EXPECT_EQ(unit("log2(a.x_bytes)"), "");
  EXPECT_EQ(unit("a.x_bytes / a.gpu.dram_bytes_per_s"), "s");
  EXPECT_EQ(unit("a.flops.matmul / a.gpu.matrix_flops_per_s.bf16"), "s");
  EXPECT_EQ(unit("a.flops.exponentials / a.gpu.exponentials_per_s"), "s");
}

TEST(Expression, RefusesWhatIsNotAnExpression) {
  EXPECT_THAT(refusal("1 +"), HasSubstr("a value is missing at the end"));
  EXPECT_THAT(refusal("(1"), HasSubstr("')' is missing at the end"));
  EXPECT_THAT(refusal("1 2"), HasSubstr("'2' is unexpected"));
  EXPECT_THAT(refusal("a"), HasSubstr("alone is not a value"));
  EXPECT_THAT(refusal("a."), HasSubstr("a key is missing"));
  EXPECT_THAT(refusal("a.b[c]"), HasSubstr("selects nothing"));
  EXPECT_THAT(refusal("sqrt(2)"), HasSubstr("unknown function"));
  EXPECT_THAT(refusal("visit(2, 1)"), HasSubstr("takes the name of a run first"));
  EXPECT_THAT(refusal("'open"), HasSubstr("is not closed"));
  EXPECT_THAT(refusal(std::string(1000, '(')), HasSubstr("nested"));
}

TEST(Expression, RefusesOperandsOfTheWrongKind) {
  EXPECT_THAT(refusal("1 + true"), HasSubstr("'+' needs numbers, not a condition"));
  EXPECT_THAT(refusal("1 and 2"), HasSubstr("'and' needs conditions, not a number"));
  EXPECT_THAT(refusal("a.name < 2"), HasSubstr("'<' needs numbers, not a string"));
  EXPECT_THAT(refusal("a.name == 1"), HasSubstr("compares a string with a number"));
  EXPECT_THAT(refusal("visit(a, 0.5)"), HasSubstr("whole number"));
}

TEST(Expression, FindsAWrongPathOnEitherSideOfAnOperator) {
  EXPECT_THAT(refusal("false and a.none == 1"), HasSubstr("no a.none"));
  EXPECT_THAT(refusal("true or a.none == 1"), HasSubstr("no a.none"));
}

TEST(Expression, ANumberMustBeFinite) {
  FakeRuns runs;
  const auto number = Expression::parse("1 / 0").value().number(runs);
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace attnscope::lessons
