/// `lesson run` on a machine with a GPU, which echoes its inputs (tests/support/echo_gpu.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLesson = R"({"schema": "attnscope.lesson/1", "title": "Small",
  "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64%s}}},
  "vary": {"seq-len": [64, 128]},
  "steps": [{"say": "It has {a.gpu.sm_count} SMs.",
             "ask": {"number": "?", "answer": "a.gpu.sm_count"}}]})";

class LessonOfGpu : public testing::Test {
 protected:
  /// Plays the lesson, whose run has these further fields, on a machine with a GPU of this kind.
  CliOutcome play(const std::string& options, const std::string& gpu_at_hand,
                  const std::string& fields = "") {
    std::string text = kLesson;
    text.replace(text.find("%s"), 2, fields);
    folder_.write("small.json", text);
    folder_.write("in", "show\n");
    const std::string hand =
        gpu_at_hand == "none" ? "CUDA_VISIBLE_DEVICES=" : "ATTNSCOPE_ECHO_GPU=" + gpu_at_hand;
    return run_shell(hand + " CLI lesson run small.json " + options + " < in", folder_);
  }

  ScratchFolder folder_;
};

TEST_F(LessonOfGpu, ModelsTheGpuAtHandIfItIsAShippedOne) {
  const auto at_hand = play("--answers ann.jsonl", "l4");
  EXPECT_EQ(at_hand.status, 0) << at_hand.err;
  EXPECT_THAT(at_hand.out, HasSubstr("\nModelled GPU: l4\n"));
  EXPECT_THAT(at_hand.out, HasSubstr("It has 58 SMs."));
  const json answer = json::parse(read_text(folder_.file("ann.jsonl")));
  EXPECT_EQ(answer.at("gpu"), "l4");
  EXPECT_EQ(answer.at("changes"), json({{"gpu", "l4"}}));
  EXPECT_THAT(play("--set seq-len=128", "l4").out, HasSubstr("It has 58 SMs."));
}

TEST_F(LessonOfGpu, WithoutAShippedGpuAtHandTheLessonModelsItsOwn) {
  for (const char* hand : {"none", "unknown"}) {
    const auto outcome = play("--answers ann.jsonl", hand);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("It has 132 SMs."));
    EXPECT_THAT(outcome.out, Not(HasSubstr("Modelled GPU"))) << hand;
  }
  EXPECT_THAT(play("", "h200").out, Not(HasSubstr("Modelled GPU"))) << "the lesson's own";
}

TEST_F(LessonOfGpu, AnOptionNamesAnotherGpu) {
  EXPECT_THAT(play("--gpu a100-80gb", "l4").out, HasSubstr("It has 108 SMs."));
  EXPECT_THAT(play("--set gpu=a100-80gb", "l4").out, HasSubstr("It has 108 SMs."));
  EXPECT_THAT(play("--gpu h200", "l4").out, HasSubstr("It has 132 SMs."));
  const auto twice = play("--gpu l4 --set gpu=t4", "none");
  EXPECT_EQ(twice.status, 2);
  EXPECT_EQ(twice.err, "error: --gpu and --set gpu set the same field; give one\n");
}

TEST_F(LessonOfGpu, ALessonAboutACertainGpuKeepsIt) {
  const std::string fixed = R"(, "gpu": "t4")";
  EXPECT_THAT(play("", "l4", fixed).out, HasSubstr("It has 40 SMs."));
  const auto refused = play("--gpu l4", "none", fixed);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("'gpu' is not a field that this lesson lets you change"));
}

/// The echo's time is the seed: 5 s.
TEST(MeasuredLesson, IsAnsweredWithARecordingOfMeasure) {
  const ScratchFolder folder;
  const Environment l4 = {{"ATTNSCOPE_ECHO_GPU", "l4"}};
  const auto measured = run_cli(
      "measure --algorithm flash2 --seq-len 448 --head-dim 64 --inputs outlier --seed 5 "
      "--no-counters --out " +
          folder.file("r.json"),
      l4);
  ASSERT_EQ(measured.status, 0) << measured.err;
  folder.write("in", "5 s\n");
  folder.write("small.json", R"({"schema": "attnscope.lesson/1", "title": "Small",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 448, "head-dim": 64,
                           "tiling": "kernel"}}},
    "steps": [{"say": "Time.", "ask": {"number": "?", "answer": "a.measured.time.median_s"}}]})");
  const auto without = run_shell("CLI lesson run small.json --gpu l4 < in", folder);
  EXPECT_THAT(without.out, HasSubstr("Not measured: no shipped recording has this run on NVIDIA"));
  const auto with = run_shell(
      "CLI lesson run small.json --gpu l4 --measured r.json --answers ann.jsonl < in", folder);
  EXPECT_EQ(with.status, 0) << with.err;
  EXPECT_THAT(with.out, HasSubstr("Right. The answer is 5 s (measured)."));
  const auto marks = run_shell("CLI lesson grade . --lesson small.json --csv -", folder);
  EXPECT_THAT(marks.out, HasSubstr("ann,1,1,1,1,1,0,0,0,1,1,1")) << marks.err;

  const auto missing = run_shell("CLI lesson run small.json --measured none.json < in", folder);
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.error_lines(), 1) << missing.err;
}

}  // namespace
}  // namespace attnscope
