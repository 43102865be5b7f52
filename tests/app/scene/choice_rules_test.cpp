#include "app/scene/choice_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/scene/field_options.h"
#include "reference/field_rules.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

RunSpec choice_of(Index N) {
  RunSpec choice;
  choice.problem.N = choice.problem.N_kv = N;
  choice.problem.d = 16;
  choice.set_tiling({16, 16});
  return choice;
}

RunSpec changed(const RunSpec& before, std::string_view key, std::string_view text) {
  const auto after = change_field(before, key, text);
  EXPECT_TRUE(after) << key << ": " << after.error().message;
  return after ? after.value() : before;
}

TEST(ChoiceRules, StandardSlopesFollowTheHeads) {
  RunSpec choice = changed(choice_of(64), "alibi", "standard");
  choice = changed(choice, "heads", "4");
  EXPECT_EQ(choice.problem.score.alibi_slopes, standard_alibi_slopes(4));
  EXPECT_EQ(choice.problem.kv_heads, 4);
  choice = changed(changed(choice_of(64), "alibi", "0.3"), "heads", "4");
  EXPECT_EQ(choice.problem.score.alibi_slopes, std::vector<double>{0.3});
}

TEST(ChoiceRules, KeyLengthsAndSequencesKeepTheirProportions) {
  RunSpec choice = changed(choice_of(64), "key_lengths", "48");
  choice = changed(changed(choice, "seq_len", "128"), "batch", "2");
  EXPECT_EQ(choice.problem.key_lengths, (std::vector<Index>{96, 96}));

  choice = choice_of(60);
  choice.problem.cu_seqlens_q = choice.problem.cu_seqlens_k = packed_ends(3, 60);
  const AttentionProblem problem = changed(choice, "seq_len", "120").problem;
  EXPECT_EQ(problem.cu_seqlens_q, (std::vector<Index>{0, 20, 60, 120}));
  EXPECT_FALSE(validate(problem));
}

TEST(ChoiceRules, PackedSequencesGrowAndFillTheAxis) {
  EXPECT_EQ(packed_ends(3, 60), (std::vector<Index>{0, 10, 30, 60}));
  EXPECT_EQ(packed_ends(2, 64), (std::vector<Index>{0, 21, 64}));
}

TEST(ChoiceRules, PackedQueriesDetermineTheirKeys) {
  RunSpec choice = changed(choice_of(64), "cu_seqlens_q", "0,20,64");
  EXPECT_EQ(choice.problem.cu_seqlens_k, (std::vector<Index>{0, 20, 64}));
  EXPECT_FALSE(validate(choice.problem));
  choice = changed(changed(choice_of(64), "kv_len", "32"), "cu_seqlens_q", "0,5,20,64");
  EXPECT_FALSE(validate(choice.problem));
  EXPECT_FALSE(changed(choice, "cu_seqlens_q", "").problem.is_packed());
}

TEST(ChoiceRules, OneKeyLengthIsThatOfEveryBatchEntry) {
  const RunSpec choice = changed(choice_of(64), "batch", "3");
  EXPECT_EQ(changed(choice, "key_lengths", "40").problem.key_lengths,
            (std::vector<Index>{40, 40, 40}));
}

TEST(ChoiceRules, FieldsThatTheNewAlgorithmDoesNotHaveGoBackToTheirDefaults) {
  RunSpec choice = changed(choice_of(64), "algorithm", "split_kv");
  choice = changed(changed(choice, "splits", "3"), "separate_heads", "true");
  choice = changed(choice, "algorithm", "standard");
  EXPECT_FALSE(choice.splits);
  EXPECT_FALSE(choice.separate_heads);
  choice = changed(changed(choice, "checkpoint", "true"), "algorithm", "flash1");
  EXPECT_EQ(choice.variant, ScheduleVariant{});
  choice = changed(changed(choice, "d_once", "true"), "carry", "fp32");
  EXPECT_EQ(changed(choice, "algorithm", "flash2").variant, ScheduleVariant{});
}

TEST(ChoiceRules, ABlockMaskComesAndGoesWithTheAlgorithm) {
  const RunSpec sparse = changed(choice_of(64), "algorithm", "block_sparse");
  ASSERT_TRUE(sparse.block_mask);
  EXPECT_EQ(to_string(*sparse.block_mask), "butterfly");
  EXPECT_FALSE(changed(sparse, "algorithm", "flash2").block_mask);
  EXPECT_FALSE(changed(sparse, "block_mask", "").block_mask) << "all tiles";
}

TEST(ChoiceRules, TheSeedOfDropoutGoesWithDropoutAndDOWithTheBackwardPass) {
  RunSpec choice = changed(changed(choice_of(64), "dropout", "0.25"), "dropout_seed", "7");
  EXPECT_FALSE(validate(changed(choice, "dropout", "0")));
  choice = changed(changed(choice_of(64), "pass", "backward"), "do", "/a/do.npy");
  EXPECT_TRUE(changed(choice, "pass", "both").files.dO == "/a/do.npy");
  EXPECT_FALSE(validate(changed(choice, "pass", "forward")));
}

TEST(ChoiceRules, PathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(changed(choice_of(64), "q", "a/q.npy").files.Q, here + "/a/q.npy");
  const RunSpec sparse = changed(choice_of(64), "algorithm", "block_sparse");
  EXPECT_EQ(changed(sparse, "block_mask", "m.npy").block_mask->path, here + "/m.npy");
}

TEST(ChoiceRules, WhatIsTypedIsWhatIsShown) {
  const std::pair<const char*, const char*> cases[] = {{"mask", "window:15,0:top-left"},
                                                       {"mask", "causal:top-left"},
                                                       {"softcap", "30"},
                                                       {"dropout", "0.25"},
                                                       {"seed", "18446744073709551615"},
                                                       {"key_lengths", "48"},
                                                       {"cu_seqlens_q", "0,20,64"},
                                                       {"sram_bytes", "49152"},
                                                       {"q", "/a/q.npy"}};
  for (const auto& [key, typed] : cases) {
    EXPECT_EQ(run_field(key).print(changed(choice_of(64), key, typed)), typed) << key;
  }
}

TEST(ChoiceRules, WhatCannotBeUnderstoodNamesTheFieldTheTextAndWhatIsAccepted) {
  for (const RunField& field : run_fields()) {
    const bool takes_any_text =
        field.kind == FieldKind::text && field.parse("nonsense", *std::make_unique<RunSpec>());
    if (takes_any_text) continue;
    const auto after = change_field(choice_of(64), field.key, "nonsense");
    ASSERT_FALSE(after) << field.key;
    EXPECT_EQ(after.error().code, ErrorCode::not_understood) << field.key;
    EXPECT_EQ(after.error().field, field.key);
    EXPECT_EQ(after.error().value, "nonsense");
    const std::string message = words(after.error(), Reader::screen);
    EXPECT_THAT(message, HasSubstr("nonsense")) << field.key;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(ChoiceRules, SequencesFollowTheirAxisAndNothingElse) {
  RunSpec choice = choice_of(1024);
  choice.problem.cu_seqlens_q = {0, 500, 1000};  // the last offset is not yet N
  choice.problem.cu_seqlens_k = {0, 512, 1024};
  const auto changed = [&](const char* field, const char* text) {
    return change_field(choice, field, text).value().problem;
  };
  EXPECT_EQ(changed("head_dim", "128").cu_seqlens_q, choice.problem.cu_seqlens_q);
  const AttentionProblem longer = changed("kv_len", "2048");
  EXPECT_EQ(longer.cu_seqlens_k, (std::vector<Index>{0, 1024, 2048}));
  EXPECT_EQ(longer.cu_seqlens_q, choice.problem.cu_seqlens_q);
  for (const char* axis : {"cu_seqlens_q", "cu_seqlens_k"}) {
    EXPECT_TRUE(changed(axis, "").cu_seqlens_q.empty()) << axis;
    EXPECT_TRUE(changed(axis, "").cu_seqlens_k.empty()) << axis;
  }
}

TEST(FieldOptions, EveryTextOfAListIsUnderstood) {
  RunSpec plain = choice_of(64);
  plain.problem.batch = 2;
  RunSpec packed = choice_of(64);
  packed.problem.cu_seqlens_q = packed.problem.cu_seqlens_k = {0, 10, 64};
  for (const RunSpec& choice : {plain, packed}) {
    for (const RunField& field : run_fields()) {
      if (field.kind == FieldKind::slopes) continue;
      for (const FieldOption& option : options_of(field, choice)) {
        EXPECT_TRUE(change_field(choice, field.key, option.text))
            << field.key << " " << option.text;
        EXPECT_FALSE(option.label.empty()) << field.key;
      }
    }
  }
}

TEST(FieldOptions, AFieldThatCanBeUnsetOffersThatFirst) {
  const RunSpec choice = choice_of(64);
  for (const char* key : {"softcap", "splits", "sram_bytes", "q", "key_lengths", "cu_seqlens_q"}) {
    const std::vector<FieldOption> options = options_of(run_field(key), choice);
    ASSERT_FALSE(options.empty()) << key;
    EXPECT_EQ(options.front().text, "") << key;
    EXPECT_EQ(options.front().label, unset_word(run_field(key))) << key;
  }
  EXPECT_FALSE(can_be_unset(run_field("seq_len")));
  EXPECT_FALSE(can_be_unset(run_field("Br"))) << "the screen's tiles are always given";
}

}  // namespace
}  // namespace attnscope::app
