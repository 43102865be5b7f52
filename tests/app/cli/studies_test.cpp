/// The studies of the command line: fusion, IO theorems, operations, memory of models.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

json step(const json& document, const std::string& name) {
  for (const json& row : document.at("steps")) {
    if (row.at("name") == name) return row;
  }
  ADD_FAILURE() << "no step " << name;
  return {};
}

TEST(Fusion, IsFigure2sProblemUnlessAskedOtherwise) {
  const json document = answered("fusion");
  EXPECT_EQ(document.at("schema"), "attnscope.fusion/1");
  EXPECT_EQ(document.at("problem").at("batch"), 64);
  EXPECT_EQ(document.at("problem").at("heads"), 16);
  EXPECT_EQ(document.at("tiling"), (json{{"Br", 64}, {"Bc", 256}}));
  EXPECT_NEAR(step(document, "figure2").at("paper_bytes").get<double>(), 40.3e9, 0.05e9);
  EXPECT_NEAR(step(document, "flash1").at("matrix_bytes").get<double>(), 5.1e9, 0.01e9);
  EXPECT_NEAR(step(document, "flash1, refined").at("matrix_bytes").get<double>(), 4.56e9, 0.01e9);
}

TEST(Fusion, ThePapersNumbersAreShownOnlyForItsOwnProblem) {
  const json figure2 = answered("fusion");
  EXPECT_TRUE(step(figure2, "figure2").contains("figure2_printed_bytes"));
  const char* const ours = "figure2 is one accounting that yields 40.3 GB";
  EXPECT_NE(figure2.at("figure2_note").get<std::string>().find(ours), std::string::npos);
  EXPECT_NE(run_cli("fusion").out.find(ours), std::string::npos);
  for (const std::string other : {"fusion --batch 8", "fusion --batch 8 --mask causal"}) {
    const json document = answered(other);
    EXPECT_FALSE(document.contains("figure2_note")) << other;
    for (const json& row : document.at("steps")) {
      EXPECT_FALSE(row.contains("figure2_printed_bytes")) << other << " " << row.at("name");
    }
  }
}

TEST(Fusion, SaysWhichLaunchesAreLeftOut) {
  const std::string words = "no mask, no dropout: their launches are left out";
  const std::string plain = "fusion --seq-len 100 --batch 1 --dropout 0";
  EXPECT_NE(run_cli(plain).out.find("\n" + words + "\n"), std::string::npos);
  EXPECT_EQ(answered(plain).at("left_out"), words);
  EXPECT_EQ(answered(plain).at("steps").size(), 5u);
  EXPECT_FALSE(answered("fusion").contains("left_out"));
}

TEST(Fusion, NamesTheKeyPaddingMaskOfFigure2AndAddsItNowhereElse) {
  EXPECT_NE(run_cli("fusion").out.find("key padding mask"), std::string::npos);
  EXPECT_TRUE(answered("fusion").at("problem").contains("key_lengths"));
  const std::string own = "fusion --seq-len 100 --batch 1 --dropout 0";
  EXPECT_EQ(run_cli(own).out.find("key padding mask"), std::string::npos);
  EXPECT_FALSE(answered(own).at("problem").contains("key_lengths"));
  EXPECT_NE(run_cli(own + " --key-lengths 90").out.find("key lengths 90"), std::string::npos);
}

TEST(Fusion, MarksStepsThatDoNotFitAndSaysWhyFlash2MovesMore) {
  const json document = answered("fusion");
  EXPECT_EQ(step(document, "flash1").at("fits"), false);
  EXPECT_EQ(step(document, "flash1").at("forward").at("fits"), true);
  EXPECT_EQ(step(document, "rows").at("fits"), true);
  EXPECT_NE(document.at("flash2_moves_more").get<std::string>().find("every 64 queries"),
            std::string::npos);
  const std::string text = run_cli("fusion").out;
  const std::string row = text.substr(text.find("\nflash1 ") + 1);
  EXPECT_NE(row.substr(0, row.find('\n')).find("backward does not fit, counted anyway"),
            std::string::npos)
      << text;
  const json square = answered("fusion --block-rows 32 --block-cols 32");
  EXPECT_EQ(step(square, "flash1").at("fits"), true);
  EXPECT_FALSE(square.contains("flash2_moves_more"));
}

TEST(Fusion, LaunchesAddUpToThePass) {
  const json document = answered("fusion --seq-len 100 --batch 2 --mask causal");
  for (const json& row : document.at("steps")) {
    for (const char* pass : {"forward", "backward"}) {
      std::int64_t bytes = 0;
      for (const json& launch : row.at(pass).at("launches")) {
        bytes += launch.at("paper_bytes").get<std::int64_t>();
      }
      EXPECT_EQ(row.at(pass).at("paper_bytes"), bytes) << row.at("name");
    }
  }
}

TEST(Fusion, StepsAreThoseThatSimulateCounts) {
  const json pairs = step(answered("fusion --seq-len 100 --batch 2 --mask causal"), "pairs");
  const json simulated = answered(
      "simulate --algorithm standard --fusion pairs --seq-len 100 --batch 2 --heads 16 "
      "--mask causal --dropout 0.1 --dtype fp16 --block-rows 64 --block-cols "
      "256 --allow-overflow");
  const json& paper = simulated.at("traffic").at("paper");
  EXPECT_EQ(
      pairs.at("forward").at("paper_bytes").get<std::int64_t>(),
      paper.at("read_bytes").get<std::int64_t>() + paper.at("write_bytes").get<std::int64_t>());
  EXPECT_EQ(simulated.at("variant"), (json{{"fusion", "pairs"}}));
}

TEST(Fusion, RefusesAloneTheStepsThatHaveNoLaunchForTheScoreFunction) {
  const json document = answered("fusion --seq-len 100 --batch 2 --softcap 30");
  EXPECT_TRUE(step(document, "separate").contains("refused"));
  EXPECT_GT(step(document, "rows").at("paper_bytes").get<std::int64_t>(), 0);
  EXPECT_NE(run_cli("fusion --seq-len 100 --batch 2 --softcap 30").out.find("soft-capping"),
            std::string::npos);
}

TEST(Variants, GiveTheReferencesNumbers) {
  for (const std::string variant :
       {"standard --fusion separate", "standard --fusion figure2", "standard --fusion pairs",
        "standard --checkpoint", "flash1 --skip-first-reads --d-once"}) {
    const json document = answered("simulate --algorithm " + variant +
                                   " --pass both --seq-len 60 --mask causal --check");
    EXPECT_LT(document.at("accuracy").at("max_abs_error").get<double>(), 1e-10) << variant;
  }
}

TEST(TilingRules, AreThePapersTheLargestThatFitsAndTheKernels) {
  const auto tiling = [](const std::string& words) -> json {
    return answered("simulate --gpu a100-40gb --dtype fp16 " + words).at("tiling");
  };
  EXPECT_EQ(tiling("--algorithm flash2 --tiling paper"), (json{{"Br", 64}, {"Bc", 326}}));
  EXPECT_EQ(tiling("--algorithm flash1"), (json{{"Br", 64}, {"Bc", 326}}));
  EXPECT_EQ(tiling("--algorithm flash2 --tiling largest"), tiling("--algorithm flash2"));
  EXPECT_EQ(tiling("--algorithm flash2 --tiling kernel --head-dim 128"),
            (json{{"Br", 128}, {"Bc", 64}}));
  EXPECT_EQ(tiling("--algorithm flash2 --tiling paper --block-rows 32"),
            (json{{"Br", 32}, {"Bc", 326}}));
}

TEST(Fusion, TakesASeedForTheDropoutOfFigure2) {
  const json document = answered("fusion --seq-len 64 --dropout-seed 7");
  EXPECT_EQ(document.at("problem").at("dropout").at("seed"), 7);
}

TEST(Studies, NameEveryPartOfTheirProblem) {
  const std::string words = " --seq-len 64 --batch 1 --softcap 3 --alibi --key-lengths 5";
  for (const std::string command : {"flops", "fusion"}) {
    const std::string text = run_cli(command + words).out;
    for (const char* part : {"softcap 3", "alibi", "key lengths 5"}) {
      EXPECT_NE(text.substr(0, text.find('\n')).find(part), std::string::npos) << text;
    }
  }
}

TEST(Documents, WriteATilingRowsFirst) {
  for (const std::string words :
       {"simulate --algorithm flash2 --seq-len 64", "accuracy --seq-len 64", "fusion --seq-len 64",
        "flops --seq-len 64", "io --over seq-len=64"}) {
    const std::string text = run_cli(words + " --json -").out;
    const std::size_t tiling = text.find("\"tiling\":");
    ASSERT_NE(tiling, std::string::npos) << words;
    EXPECT_LT(text.find("\"Br\"", tiling), text.find("\"Bc\"", tiling)) << words;
  }
}

TEST(Io, TabulatesTheTheoremBesideTheCount) {
  const json document = answered("io --over seq-len=4096,16384 --gpu a100-40gb");
  EXPECT_EQ(document.at("axis"), "seq-len");
  ASSERT_EQ(document.at("points").size(), 2u);
  for (const json& point : document.at("points")) {
    EXPECT_EQ(point.at("counted_bytes").get<double>(), point.at("formula_bytes").get<double>());
    EXPECT_EQ(point.at("tiling"), (json{{"Br", 64}, {"Bc", 326}}));  // M: 163 KiB in fp16
  }
}

TEST(Io, HasNoLowerBoundWhereMIsBelowDSquared) {
  const json document = answered("io --over head-dim=128,256 --gpu t4");  // M = 32768 in fp16
  EXPECT_TRUE(document.at("points")[0].contains("lower_bound_order_bytes"));
  EXPECT_FALSE(document.at("points")[1].contains("lower_bound_order_bytes"));
}

TEST(Io, SaysWhereMComesFromAlongTheDensity) {
  const CliOutcome outcome = run_cli("io --over density --seq-len 1024");
  EXPECT_NE(outcome.out.find("M = 4 d Bc = 4 x 64 x 16 = 4096 elements: 64 tiles of keys"),
            std::string::npos)
      << outcome.out;
}

TEST(Io, EveryAxisHasUsualValues) {
  for (const std::string axis : {"seq-len", "head-dim", "sram-bytes", "block-cols", "density"}) {
    const CliOutcome outcome = run_cli("io --seq-len 2048 --over " + axis);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const char* const claim = axis == "density" ? "not a proven bound" : "arXiv 2402.07443";
    EXPECT_NE(outcome.out.find(claim), std::string::npos) << outcome.out;
    EXPECT_EQ(answered("io --seq-len 2048 --over " + axis).at("points").size(), 5u) << axis;
  }
}

TEST(FlopsCommand, SaysWhatTheOperationsAreFor) {
  const json document = answered("flops --pass both --seq-len 512");
  for (const json& row : document.at("algorithms")) {
    std::int64_t other = 0;
    for (const auto& [work, flops] : row.at("other").items()) other += flops.get<std::int64_t>();
    EXPECT_EQ(row.at("non_matmul"), other) << row.at("algorithm");
    EXPECT_EQ(row.at("products"), row.at("algorithm") == "standard" ? 6 : 7);
  }
  EXPECT_NE(run_cli("flops").out.find("O / l"), std::string::npos);
}

TEST(Fits, FindsTheLargestBatchOrLength) {
  const json batches = answered("fits --seq-len 4096").at("choices");
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_LT(batches[0].at("largest_batch").get<int>(), batches[3].at("largest_batch").get<int>());
  const json lengths = answered("fits --batch 1 --mode inference").at("choices");
  EXPECT_LT(lengths[0].at("largest_seq_len").get<int>(),
            lengths[3].at("largest_seq_len").get<int>());
}

TEST(Fits, PrintsItsAssumptionsAndWhereNothingFits) {
  const CliOutcome outcome = run_cli("fits --hbm-bytes 1000000");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("assumptions"), std::string::npos);
  EXPECT_NE(outcome.out.find("none"), std::string::npos);
}

}  // namespace
}  // namespace attnscope
