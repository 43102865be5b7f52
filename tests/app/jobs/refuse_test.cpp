#include "app/jobs/refuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/jobs/step_simulator.h"
#include "app/scene/choice_rules.h"
#include "app/scene/scene.h"
#include "reference/field_rules.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

RunSpec small_choice() {
  return load_scene("default").value().view.choice;
}

class Refuse : public testing::Test {
 protected:
  std::optional<Error> check(const RunSpec& choice) { return check_choice(choice, gpus_); }
  std::string message(const RunSpec& choice) {
    const auto error = check(choice);
    return error ? words(*error, Reader::screen) : "";
  }

  /// The rejection of this choice, with the choice that is offered instead.
  Refusal refused(const RunSpec& choice, const RunSpec& last_valid = small_choice()) {
    const auto error = check(choice);
    EXPECT_TRUE(error) << "the choice can work";
    Refusal refusal = refuse(choice, error.value_or(Error{}), last_valid, gpus_, control_);
    EXPECT_TRUE(!refusal.nearest || !check(*refusal.nearest)) << "the nearest choice must work";
    return refusal;
  }
  /// The same for a choice that results from text typed into a field.
  Refusal refused_after(const RunSpec& valid, std::string_view key, std::string_view text) {
    return refused(change_field(valid, key, text).value(), valid);
  }

  GpuCatalog gpus_;
  WorkControl control_;
};

TEST_F(Refuse, ATileThatDoesNotFitNamesTheNearestThatDoes) {
  const Refusal refusal = refused_after(small_choice(), "Bc", "100000");
  EXPECT_EQ(refusal.field, "Bc");
  ASSERT_TRUE(refusal.nearest);
  EXPECT_GT(*refusal.nearest->Bc, 64);
  EXPECT_EQ(refusal.nearest->Br, small_choice().Br);
  EXPECT_THAT(refusal.nearest_label, testing::StartsWith("Bc = "));
}

TEST_F(Refuse, NoNumberNearerThanTheNearestOneWorks) {
  for (const auto& [key, wanted] :
       {std::pair{"Br", "5000"}, std::pair{"Bc", "5000"}, std::pair{"head_dim", "60000"}}) {
    const Refusal refusal = refused_after(small_choice(), key, wanted);
    EXPECT_EQ(refusal.field, key);
    ASSERT_TRUE(refusal.nearest) << key;
    const Index nearest = std::stoll(run_field(key).print(*refusal.nearest));
    const auto next = change_field(*refusal.nearest, key, std::to_string(nearest + 1));
    EXPECT_TRUE(check(next.value())) << refusal.nearest_label;
  }
}

TEST_F(Refuse, KvHeadsAreAnsweredByTheNearestDivisorOfTheHeads) {
  const RunSpec valid = change_field(small_choice(), "heads", "30").value();
  const Refusal refusal = refused_after(valid, "kv_heads", "12");
  EXPECT_EQ(refusal.field, "kv_heads");
  EXPECT_EQ(refusal.nearest_label, "KV heads = 10");
}

TEST_F(Refuse, AMessageNamesTheFieldsOfTheScreen) {
  RunSpec choice = small_choice();
  choice.problem.N = 0;
  EXPECT_THAT(message(choice), testing::StartsWith("N is "));
  choice = small_choice();
  choice.set_tiling({4096, 4096});
  choice.problem.N = choice.problem.N_kv = 8192;
  EXPECT_THAT(message(choice), testing::Not(HasSubstr("--")));
  EXPECT_THAT(message(choice), HasSubstr("does not fit"));
  choice.what_if.sram_bytes = 1000;
  EXPECT_THAT(message(choice), testing::Not(HasSubstr("--")));
  EXPECT_THAT(message(choice), HasSubstr("the SRAM given has 1000"));
  for (const char* key : {"checkpoint", "skip_first_reads", "d_once"}) {
    choice = small_choice();
    ASSERT_FALSE(set_field(run_field(key), "true", choice));
    EXPECT_THAT(message(choice), HasSubstr(run_field(key).label));
    EXPECT_THAT(message(choice), testing::Not(HasSubstr("--")));
  }
}

TEST_F(Refuse, ZeroIsAnsweredByOne) {
  RunSpec choice = small_choice();
  choice.problem.N = 0;
  const Refusal refusal = refused(choice);
  EXPECT_EQ(refusal.field, "seq_len");
  EXPECT_EQ(refusal.nearest_label, "N = 1");
  ASSERT_TRUE(refusal.nearest);
  EXPECT_EQ(refusal.nearest->problem.N, 1);
}

TEST_F(Refuse, TheFieldIsTheOneWhoseChangeIsToBlame) {
  RunSpec choice = small_choice();
  choice.problem.N = 0;
  choice.inputs.seed = 3;
  choice.problem.dtype = DType::bf16;
  EXPECT_EQ(refused(choice).field, "seq_len");
}

TEST_F(Refuse, MoreTilesThanCanBeSteppedThroughAreRefused) {
  RunSpec choice = small_choice();
  choice.problem.N = choice.problem.N_kv = 1 << 20;
  const Refusal refusal = refused(choice);
  EXPECT_EQ(refusal.error.code, ErrorCode::too_many);
  EXPECT_EQ(refusal.field, "seq_len");
  ASSERT_TRUE(refusal.nearest);
  EXPECT_GT(refusal.nearest->problem.N, 1024);
  EXPECT_EQ(refusal.nearest->problem.N, refusal.nearest->problem.N_kv);
}

TEST_F(Refuse, AnUnknownGpuIsReportedInOneLineWithOneThatExists) {
  const Refusal refusal = refused_after(small_choice(), "gpu", "h2000");
  EXPECT_EQ(refusal.field, "gpu");
  EXPECT_EQ(refusal.error.message.find('\n'), std::string::npos);
  EXPECT_EQ(refusal.nearest_label, "GPU = h200");
}

TEST_F(Refuse, AnInvalidChoiceIsAnsweredByTheNearestValidOne) {
  const RunSpec plain = small_choice();
  EXPECT_EQ(refused_after(plain, "dropout", "1.5").nearest_label, "dropout = 0.99");
  EXPECT_EQ(refused_after(plain, "softcap", "-3").nearest_label, "soft-capping = off");
  EXPECT_EQ(refused_after(plain, "key_lengths", "99").nearest_label, "valid keys = 64");
  EXPECT_EQ(refused_after(plain, "cu_seqlens_q", "0,30,20,64").nearest_label,
            "sequences = 0,20,30,64");
  const RunSpec split = load_scene("split-kv").value().view.choice;
  EXPECT_EQ(refused_after(split, "splits", "99").nearest_label, "splits = 16");
}

TEST_F(Refuse, AnAlgorithmWithoutTheChosenPassIsAnsweredByTheForwardPass) {
  const RunSpec valid = change_field(small_choice(), "pass", "backward").value();
  const Refusal refusal = refused_after(valid, "algorithm", "split_kv");
  EXPECT_EQ(refusal.field, "algorithm");
  EXPECT_EQ(refusal.nearest_label, "Pass = forward");
  ASSERT_TRUE(refusal.nearest);
  EXPECT_EQ(refusal.nearest->algorithm, "split_kv");
}

TEST_F(Refuse, ASearchThatIsCancelledEndsWithoutAnAnswer) {
  control_.cancel();
  const Refusal refusal = refused_after(small_choice(), "Bc", "100000");
  EXPECT_FALSE(refusal.nearest);
  EXPECT_EQ(refusal.error.code, ErrorCode::does_not_fit);
}

}  // namespace
}  // namespace attnscope::app
