/// Key lengths and packed sequences: what a query sees, and what is rejected.

#include <gtest/gtest.h>

#include "reference/attention_problem.h"
#include "reference/inputs.h"

namespace attnscope {
namespace {

AttentionProblem packed_problem(const Mask& mask) {
  AttentionProblem problem;
  problem.N = 10;
  problem.N_kv = 12;
  problem.mask = mask;
  problem.cu_seqlens_q = {0, 4, 4, 7, 10};
  problem.cu_seqlens_k = {0, 3, 5, 11, 12};
  return problem;
}

TEST(KeyLengths, HideTheKeysBeyondThem) {
  AttentionProblem problem;
  problem.batch = 3;
  problem.N = 4;
  problem.N_kv = 6;
  problem.key_lengths = {6, 2, 0};
  ASSERT_EQ(validate(problem), std::nullopt);
  EXPECT_EQ(problem.keys_of(1, 0), (KeyRange{0, 6}));
  EXPECT_EQ(problem.keys_of(1, 1), (KeyRange{0, 2}));
  EXPECT_EQ(problem.keys_of(1, 2).size(), 0);
  problem.mask = Mask::causal();
  EXPECT_EQ(problem.keys_of(0, 0), (KeyRange{0, 3})) << "the diagonal stays";
  EXPECT_EQ(problem.keys_of(0, 1), (KeyRange{0, 2}));
  EXPECT_EQ(one_head_of(problem, 1, 0).keys_of(0), (KeyRange{0, 2}));
}

TEST(PackedSequences, AQueryFindsItsSequencePastEmptyOnes) {
  const AttentionProblem problem = packed_problem(Mask::none());
  ASSERT_EQ(validate(problem), std::nullopt);
  EXPECT_EQ(problem.sequence_count(), 4);
  EXPECT_EQ(problem.sequence_of(3), problem.sequence(0));
  EXPECT_EQ(problem.sequence_of(4), problem.sequence(2));
  EXPECT_EQ(problem.sequence_of(9), problem.sequence(3));
}

TEST(PackedSequences, SeeWhatEachSequenceAloneWouldSee) {
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                           Mask::window(1, 2), Mask{0, -1, Mask::Alignment::top_left}}) {
    const AttentionProblem problem = packed_problem(mask);
    for (Index s = 0; s < problem.sequence_count(); ++s) {
      const Sequence own = problem.sequence(s);
      AttentionProblem alone;
      alone.N = own.queries();
      alone.N_kv = own.keys.size();
      alone.mask = mask;
      for (Index query = 0; query < alone.N; ++query) {
        for (Index key = 0; key < problem.N_kv; ++key) {
          const Index own_key = key - own.keys.begin;
          const bool visible =
              own_key >= 0 && own_key < alone.N_kv && alone.attends(query, own_key);
          ASSERT_EQ(problem.attends(own.query_begin + query, key), visible)
              << to_string(mask) << " sequence " << s << " query " << query << " key " << key;
        }
      }
    }
  }
}

/// The message with which the problem is rejected.
template <typename Change>
std::string refusal(Change change) {
  AttentionProblem problem = packed_problem(Mask::none());
  change(problem);
  const auto error = validate(problem);
  if (!error) return "accepted";
  EXPECT_EQ(error->message.find('\n'), std::string::npos) << error->message;
  return words(*error, Reader::file);
}

TEST(PackedSequences, BoundariesThatCannotBeAreRefused) {
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_EQ(refusal([](auto& p) { p.cu_seqlens_q[2] = 2; }),
            "cu_seqlens_q has 2 after 4; its numbers must not decrease");
  EXPECT_EQ(refusal([](auto& p) { p.cu_seqlens_k[0] = 1; }),
            "cu_seqlens_k must begin with 0 and have at least two numbers, for example 0,12");
  EXPECT_EQ(refusal([](auto& p) { p.cu_seqlens_k.back() = 13; }),
            "cu_seqlens_k ends with 13; it must end with kv_len, which is 12");
  EXPECT_TRUE(refusal([](auto& p) {
                p.cu_seqlens_q.pop_back();
              }).starts_with("cu_seqlens_q has 4 numbers and cu_seqlens_k has 5"));
  EXPECT_TRUE(refusal([](auto& p) { p.cu_seqlens_k.clear(); }).starts_with("cu_seqlens_q has 5"));
  EXPECT_TRUE(refusal([](auto& p) { p.batch = 2; }).starts_with("batch is 2 with packed"));
  EXPECT_TRUE(refusal([](auto& p) { p.key_lengths = {3}; }).starts_with("key_lengths and cu_"));
}

TEST(KeyLengths, WrongCountsAndLengthsAreRefused) {
  AttentionProblem problem;
  problem.batch = 2;
  problem.N_kv = 8;
  problem.key_lengths = {4};
  EXPECT_EQ(words(*validate(problem), Reader::file),
            "key_lengths has 1 numbers and batch is 2; it needs one for each entry");
  problem.key_lengths = {4, 9};
  EXPECT_EQ(words(*validate(problem), Reader::file),
            "key_lengths has 9; each must lie between 0 and kv_len, which is 8");
  problem.key_lengths = {-1, 8};
  EXPECT_TRUE(validate(problem).has_value());
}

TEST(ExtrasText, NamesLengthsAndPacking) {
  AttentionProblem problem;
  EXPECT_EQ(extras_text(problem), "");
  problem.score.soft_cap = 30;
  problem.key_lengths = {5};
  EXPECT_EQ(extras_text(problem), "softcap 30, key lengths 5");
  EXPECT_EQ(extras_text(packed_problem(Mask::none())), "4 packed sequences");
}

}  // namespace
}  // namespace attnscope
