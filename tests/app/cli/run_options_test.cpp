/// The options of a run as values: which values follow from others when only some are given.
#include "app/cli/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/npy.h"
#include "tests/support/temp_dir.h"

namespace attnscope::cli {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<std::pair<std::string, std::string>>;

Result<RunSpec> parsed(const Words& words, const RunSpec& defaults = {}) {
  GivenOptions given;
  for (const auto& [option, value] : words) given.add(option, {value});
  return parse_run(given, defaults);
}

AttentionProblem problem_of(const Words& words, const RunSpec& defaults = {}) {
  const auto spec = parsed(words, defaults);
  EXPECT_TRUE(spec.ok()) << spec.error().message;
  return spec.value().problem;
}

class TensorFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::vector<Index>& shape) const {
    std::string path = (folder_.path() / name).string();
    const std::vector<double> zeros(
        static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
    EXPECT_FALSE(write_npy(path, shape, zeros));
    return path;
  }

  test::TempDir folder_;
};

TEST(ParseRun, KeysFollowQueriesAndKvHeadsFollowHeadsUnlessTheyAreGiven) {
  const AttentionProblem follows = problem_of({{"heads", "6"}, {"seq-len", "48"}});
  EXPECT_EQ(follows.kv_heads, 6);
  EXPECT_EQ(follows.N_kv, 48);
  const AttentionProblem own =
      problem_of({{"heads", "6"}, {"kv-heads", "2"}, {"seq-len", "48"}, {"kv-len", "64"}});
  EXPECT_EQ(own.kv_heads, 2);
  EXPECT_EQ(own.N_kv, 64);
  const RunSpec decoding{.problem = {.N = 1, .N_kv = 512}};
  EXPECT_EQ(problem_of({{"seq-len", "4"}}, decoding).N_kv, 512);
}

TEST(ParseRun, AlibiHasASlopeForEachHead) {
  EXPECT_EQ(problem_of({{"alibi", ""}, {"heads", "4"}}).score.alibi_slopes,
            standard_alibi_slopes(4));
}

TEST_F(TensorFiles, GiveTheSizesThatNoOptionGives) {
  const std::string q = file("q.npy", {2, 4, 24, 16});
  const std::string k = file("k.npy", {2, 2, 40, 16});
  const AttentionProblem problem = problem_of({{"q", q}, {"k", k}, {"alibi", ""}});
  EXPECT_EQ(problem.batch, 2);
  EXPECT_EQ(problem.heads, 4);
  EXPECT_EQ(problem.kv_heads, 2);
  EXPECT_EQ(problem.N, 24);
  EXPECT_EQ(problem.N_kv, 40);
  EXPECT_EQ(problem.d, 16);
  EXPECT_EQ(problem.score.alibi_slopes, standard_alibi_slopes(4));
}

TEST_F(TensorFiles, OfKeysKeepTheirSizesWhateverTheQueriesAre) {
  const std::string k = file("k.npy", {1, 2, 40, 16});
  const AttentionProblem problem = problem_of({{"k", k}, {"heads", "8"}, {"seq-len", "24"}});
  EXPECT_EQ(problem.heads, 8);
  EXPECT_EQ(problem.kv_heads, 2);
  EXPECT_EQ(problem.N, 24);
  EXPECT_EQ(problem.N_kv, 40);
}

TEST(ParseRun, PackedSequencesGiveTheirLengths) {
  const AttentionProblem problem =
      problem_of({{"cu-seqlens-q", "0,16,40"}, {"cu-seqlens-k", "0,32,60"}});
  EXPECT_EQ(problem.N, 40);
  EXPECT_EQ(problem.N_kv, 60);
}

TEST(ParseRun, AnErrorIsAboutTheFieldThatWasGiven) {
  const auto spec = parsed({{"tiling", "papers"}});
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code, ErrorCode::not_understood);
  EXPECT_EQ(spec.error().field, "tiling_rule");
  EXPECT_EQ(spec.error().value, "papers");
  EXPECT_EQ(spec.error().accepted, "paper, largest or kernel");
  EXPECT_EQ(words(spec.error(), Reader::command_line),
            "--tiling is 'papers'; did you mean 'paper'? it must be paper, largest or kernel");
  EXPECT_EQ(parsed({{"head-dim", "4097"}}).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(parsed({{"q", ""}}).error().field, "q");
  EXPECT_EQ(parsed({{"dropout-seed", "3"}}).error().code, ErrorCode::contradiction);
}

TEST(ParseList, TakesEachValueOrNamesTheOneThatIsWrong) {
  const auto lengths = parse_list("seq_len", "16,1024", {});
  ASSERT_TRUE(lengths.ok());
  ASSERT_EQ(lengths.value().size(), 2u);
  EXPECT_EQ(lengths.value()[1].problem.N, 1024);
  for (const char* list : {"16,many", "16,", "0,16"}) {
    const auto refused = parse_list("seq_len", list, {});
    ASSERT_FALSE(refused.ok()) << list;
    EXPECT_EQ(refused.error().field, "seq_len");
  }
}

TEST(FieldOptions, SayWhatHoldsIfTheOptionIsNotGiven) {
  const RunSpec defaults{.problem = {.N = 4096, .N_kv = 4096}, .Bc = 128};
  const auto options = field_options({"seq_len", "kv_len", "Br", "Bc", "alibi"}, defaults);
  ASSERT_EQ(options.size(), 5u);
  EXPECT_THAT(options[0].help, HasSubstr("[4096]"));
  EXPECT_THAT(options[1].help, HasSubstr("[seq-len]"));
  EXPECT_EQ(options[2].help.find('['), std::string::npos) << "a switch is off";
  EXPECT_THAT(options[3].help, HasSubstr("[default tiling]"));
  EXPECT_THAT(options[4].help, HasSubstr("[128]"));
}

}  // namespace
}  // namespace attnscope::cli
