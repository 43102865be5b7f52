#include "reference/attention_problem.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace attnscope {
namespace {

constexpr Index kHuge = std::numeric_limits<Index>::max();

AttentionProblem problem_with(const std::function<void(AttentionProblem&)>& change) {
  AttentionProblem problem;
  change(problem);
  return problem;
}

TEST(AttentionProblem, DefaultIsValid) {
  EXPECT_EQ(validate(AttentionProblem{}), std::nullopt);
  EXPECT_EQ(validate(Tiling{}), std::nullopt);
}

TEST(AttentionProblem, SizesBelowOneOrHugeAreRefusedByName) {
  const std::pair<const char*, Index AttentionProblem::*> axes[] = {
      {"batch", &AttentionProblem::batch},       {"heads", &AttentionProblem::heads},
      {"kv_heads", &AttentionProblem::kv_heads}, {"seq_len", &AttentionProblem::N},
      {"kv_len", &AttentionProblem::N_kv},       {"head_dim", &AttentionProblem::d}};
  for (const auto& [name, axis] : axes) {
    for (const Index value : {Index{0}, Index{-1}, -kHuge, kHuge}) {
      AttentionProblem problem;
      problem.*axis = value;
      const auto error = validate(problem);
      ASSERT_TRUE(error.has_value()) << name << " = " << value;
      EXPECT_EQ(error->code, ErrorCode::out_of_range);
      EXPECT_EQ(error->field, name);
      EXPECT_TRUE(words(*error, Reader::file).starts_with(name)) << error->message;
      EXPECT_EQ(error->message.find('\n'), std::string::npos) << error->message;
    }
  }
}

TEST(AttentionProblem, HeadsThatKvHeadsDoNotDivideAreRefused) {
  const auto error = validate(problem_with([](auto& p) { p.heads = 6, p.kv_heads = 4; }));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->field, "kv_heads");
  EXPECT_EQ(words(*error, Reader::file),
            "heads is 6 and kv_heads is 4; kv_heads must divide heads");
  EXPECT_TRUE(validate(problem_with([](auto& p) { p.heads = 2, p.kv_heads = 4; })).has_value());
  EXPECT_FALSE(validate(problem_with([](auto& p) { p.heads = 6, p.kv_heads = 3; })).has_value());
}

TEST(AttentionProblem, WorkWhoseCountsWouldOverflowIsRefused) {
  const auto largest = [](Index N) {
    return problem_with([N](auto& p) { p.N = p.N_kv = N, p.d = 8; });
  };
  EXPECT_FALSE(validate(largest(kMaxSequenceLength)).has_value());
  auto beyond = largest(kMaxSequenceLength);
  beyond.batch = 2;
  ASSERT_TRUE(validate(beyond).has_value());
  EXPECT_EQ(validate(beyond)->code, ErrorCode::too_many);
  EXPECT_NE(validate(beyond)->message.find("at most"), std::string::npos);
  auto all_largest = problem_with([](auto& p) {
    p.batch = p.heads = p.kv_heads = kMaxHeads, p.N = p.N_kv = kMaxSequenceLength,
    p.d = kMaxHeadDim;
  });
  EXPECT_TRUE(validate(all_largest).has_value());
}

TEST(AttentionProblem, MaskSidesBelowMinusOneAreRefused) {
  EXPECT_TRUE(validate(problem_with([](auto& p) { p.mask.left = -2; })).has_value());
  EXPECT_TRUE(validate(problem_with([](auto& p) { p.mask.right = -kHuge; })).has_value());
}

TEST(Tiling, SizesBelowOneOrHugeAreRefusedByName) {
  EXPECT_EQ(validate(Tiling{0, 64})->field, "Br");
  EXPECT_EQ(validate(Tiling{64, -3})->field, "Bc");
  EXPECT_EQ(words(*validate(Tiling{64, -3}), Reader::command_line).substr(0, 12), "--block-cols");
  EXPECT_TRUE(validate(Tiling{kHuge, 64}).has_value());
}

TEST(Mask, SpellingsRoundTrip) {
  for (const char* text : {"none", "causal", "causal:top-left", "window:3,0", "window:-1,2",
                           "window:0,-1", "window:7,5:top-left", "window:9223372036854775807,0"}) {
    const auto mask = parse_mask(text);
    ASSERT_TRUE(mask.has_value()) << text;
    EXPECT_EQ(to_string(*mask), text);
  }
}

TEST(Mask, AWindowOfKeysEndsAtTheDiagonal) {
  EXPECT_EQ(parse_mask("window:1"), Mask::window(0, 0));
  EXPECT_EQ(parse_mask("window:4"), Mask::window(3, 0));
}

TEST(Mask, MalformedSpellingsAreRefused) {
  for (const char* text : {"",
                           "Causal",
                           "causal ",
                           " causal",
                           "causal:",
                           "causal:bottom",
                           "window",
                           "window:",
                           "window:0",
                           "window:-1",
                           "window:3:top-left",
                           "window:3,",
                           "window:,3",
                           "window:3,4,5",
                           "window:3, 4",
                           "window:-2,0",
                           "window:+3,4",
                           "window:3.0,4",
                           "window:a,b",
                           "window:99999999999999999999,0",
                           "window:3,4:top",
                           "window:top-left",
                           "none:top-left"}) {
    EXPECT_FALSE(parse_mask(text).has_value()) << '"' << text << '"';
  }
}

TEST(DTypeNames, RoundTripAndRefuseOthers) {
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    EXPECT_EQ(parse_name<DType>(to_string(dtype)), dtype);
  }
  for (const char* name : {"", "FP16", "half", "fp64", "bf16 "}) {
    EXPECT_FALSE(parse_name<DType>(name).has_value()) << name;
  }
}

TEST(KeysOf, BottomRightCausalLetsTheLastQuerySeeTheLastKey) {
  const auto problem = problem_with([](auto& p) { p.N = 3, p.N_kv = 5, p.mask = Mask::causal(); });
  EXPECT_EQ(problem.keys_of(0), (KeyRange{0, 3}));
  EXPECT_EQ(problem.keys_of(2), (KeyRange{0, 5}));
}

TEST(KeysOf, BottomRightCausalWithMoreQueriesThanKeysLeavesEarlyRowsEmpty) {
  const auto problem = problem_with([](auto& p) { p.N = 5, p.N_kv = 3, p.mask = Mask::causal(); });
  EXPECT_EQ(problem.keys_of(0).size(), 0);
  EXPECT_EQ(problem.keys_of(1).size(), 0);
  EXPECT_EQ(problem.keys_of(2), (KeyRange{0, 1}));
  EXPECT_EQ(problem.keys_of(4), (KeyRange{0, 3}));
}

TEST(KeysOf, TopLeftCausalStartsAtTheFirstKey) {
  const auto problem = problem_with(
      [](auto& p) { p.N = 5, p.N_kv = 3, p.mask = Mask::causal(Mask::Alignment::top_left); });
  EXPECT_EQ(problem.keys_of(0), (KeyRange{0, 1}));
  EXPECT_EQ(problem.keys_of(4), (KeyRange{0, 3}));
}

TEST(KeysOf, MatchesTheBandForEveryWindow) {
  for (const Index N : {1, 4, 7}) {
    for (const Index N_kv : {1, 5, 9}) {
      for (const Index left : {-1, 0, 2, 20}) {
        for (const Index right : {-1, 0, 3, 20}) {
          for (const auto alignment : {Mask::Alignment::bottom_right, Mask::Alignment::top_left}) {
            const auto problem = problem_with([&](auto& p) {
              p.N = N, p.N_kv = N_kv, p.mask = Mask{left, right, alignment};
            });
            const Index offset = alignment == Mask::Alignment::top_left ? 0 : N_kv - N;
            for (Index q = 0; q < N; ++q) {
              for (Index k = 0; k < N_kv; ++k) {
                const Index distance = k - (q + offset);
                const bool visible =
                    (left < 0 || distance >= -left) && (right < 0 || distance <= right);
                ASSERT_EQ(problem.attends(q, k), visible)
                    << "N " << N << " N_kv " << N_kv << " " << to_string(problem.mask) << " q " << q
                    << " k " << k;
              }
            }
          }
        }
      }
    }
  }
}

TEST(KeysOf, WindowsBeyondEverySequenceSeeAllKeys) {
  const auto problem =
      problem_with([](auto& p) { p.N = 8, p.N_kv = 8, p.mask = Mask::window(kHuge, kHuge); });
  for (Index q = 0; q < problem.N; ++q) EXPECT_EQ(problem.keys_of(q), (KeyRange{0, 8}));
}

TEST(AttentionProblem, QueryHeadsShareKvHeadsInGroups) {
  const auto problem = problem_with([](auto& p) { p.heads = 6, p.kv_heads = 2; });
  EXPECT_EQ(problem.kv_head_of(0), 0);
  EXPECT_EQ(problem.kv_head_of(2), 0);
  EXPECT_EQ(problem.kv_head_of(3), 1);
  EXPECT_EQ(problem.kv_head_of(5), 1);
}

}  // namespace
}  // namespace attnscope
