#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

TEST(Simulate, TheTitleNamesWhatTheProblemHas) {
  const CliOutcome outcome = run_cli("simulate --algorithm flash2 --softcap 30 --key-lengths 100");
  EXPECT_NE(outcome.out.find("mask none, softcap 30, key lengths 100,"), std::string::npos)
      << outcome.out;
}

TEST(Simulate, SeedsHave64Bits) {
  const std::string words =
      "--algorithm flash2 --seq-len 16 --head-dim 16 --dropout 0.5 --dropout-seed "
      "18446744073709551615 --check --seed ";
  const ordered_json largest = simulated(words + "18446744073709551615");
  EXPECT_EQ(largest["problem"]["dropout"]["seed"].get<std::uint64_t>(), 18446744073709551615u);
  // The same seed without its highest bit gives different numbers
  EXPECT_NE(largest["accuracy"], simulated(words + "9223372036854775807")["accuracy"]);
}

TEST(Simulate, Flash2BytesEqualTheClosedForm) {
  // Reads B H (N d e + Tr 2 N_kv d e), writes B H (N d e + 4 N)
  const ordered_json document = simulated(
      "--algorithm flash2 --batch 2 --heads 3 --seq-len 1000 --kv-len 700 --head-dim 64 "
      "--block-rows 128 --block-cols 64");
  const auto& requested = document["traffic"]["requested"];
  EXPECT_EQ(requested["read_bytes"], 6 * (1000 * 64 * 2 + 8 * 2 * 700 * 64 * 2));
  EXPECT_EQ(requested["write_bytes"], 6 * (1000 * 64 * 2 + 4 * 1000));
  EXPECT_EQ(requested["atomic_bytes"], 0);
  EXPECT_EQ(document["traffic"]["paper"]["read_bytes"], requested["read_bytes"]);
}

TEST(Simulate, ByTensorAddsUpToTheRequestedBytes) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    const ordered_json document =
        simulated("--algorithm " + algorithm + " --seq-len 100 --block-rows 32 --block-cols 32");
    const auto& requested = document["traffic"]["requested"];
    std::int64_t read_bytes = 0, write_bytes = 0;
    for (const auto& [tensor, bytes] : requested["by_tensor"].items()) {
      read_bytes += bytes["read_bytes"].get<std::int64_t>();
      write_bytes += bytes["write_bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(requested["read_bytes"], read_bytes) << algorithm;
    EXPECT_EQ(requested["write_bytes"], write_bytes) << algorithm;
  }
}

TEST(Simulate, CarryInFp32CostsFlash1MoreBytes) {
  const std::string words =
      "--algorithm flash1 --seq-len 256 --block-rows 64 --block-cols 64 --carry ";
  const ordered_json problem = simulated(words + "problem");
  const ordered_json fp32 = simulated(words + "fp32");
  EXPECT_GT(fp32["traffic"]["requested"]["read_bytes"],
            problem["traffic"]["requested"]["read_bytes"]);
  EXPECT_EQ(fp32["carry"], "fp32");
  EXPECT_FALSE(problem.contains("carry"));
}

TEST(Simulate, OverflowIsRefusedOrCountedWithItsReason) {
  const std::string words =
      "simulate --algorithm flash2 --seq-len 4096 --head-dim 128 --block-rows 1024 "
      "--block-cols 1024";
  const CliOutcome refused = run_cli(words + " --json -");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.error_lines(), 1);
  const CliOutcome counted = run_cli(words + " --allow-overflow --json -");
  ASSERT_EQ(counted.status, 0) << counted.err;
  const ordered_json document = ordered_json::parse(counted.out);
  EXPECT_EQ(document["memory"]["fits"], false);
  EXPECT_FALSE(document["memory"]["reason"].get<std::string>().empty());
  EXPECT_GT(document["traffic"]["requested"]["read_bytes"], 0);
}

TEST(Simulate, SramBytesDecideWhatFits) {
  const std::string words =
      "simulate --algorithm flash2 --block-rows 64 --block-cols 64 --json - --sram-bytes ";
  EXPECT_EQ(run_cli(words + "100000").status, 0);
  EXPECT_EQ(run_cli(words + "8192").status, 2);
}

TEST(Simulate, TheRefusalSaysThatTheSramWasGiven) {
  const CliOutcome given = run_cli(
      "simulate --algorithm flash2 --block-rows 64 --block-cols 64 --sram-bytes 1000 --gpu h200");
  EXPECT_EQ(given.err,
            "error: the tiling does not fit: Br = 64, Bc = 64, d = 64 in bf16 needs 32 KiB of "
            "shared memory per thread block; the SRAM given has 1000 B; "
            "--allow-overflow counts it anyway\n");
  EXPECT_EQ(run_cli("simulate --algorithm flash2 --sram-bytes 1000").err,
            "error: no tiling fits: with d = 64 not even 16 x 16 does on h200 with the SRAM given "
            "(--sram-bytes), 1000 B; choose a smaller d or more SRAM\n");
  const CliOutcome own =
      run_cli("simulate --algorithm flash2 --block-rows 1024 --block-cols 512 --gpu h200");
  EXPECT_NE(own.err.find("; h200 has 227 KiB; "), std::string::npos) << own.err;
}

TEST(Simulate, L2BytesDecideWhatStandardReadsAgainFromDram) {
  const std::string words = "--algorithm standard --seq-len 2048 --l2-bytes ";
  const ordered_json small = simulated(words + "1048576");
  const ordered_json large = simulated(words + "1000000000");
  EXPECT_GT(small["traffic"]["dram"]["read_bytes"], large["traffic"]["dram"]["read_bytes"]);
}

TEST(Simulate, CheckFindsTheReferenceInDoublePrecision) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    for (const std::string mask : {"none", "causal", "causal:top-left", "window:20,3"}) {
      const ordered_json document = simulated(fmt::format(
          "--algorithm {} --carry problem --heads 4 --kv-heads 2 --mask {} --seq-len 100 "
          "--kv-len 77 --head-dim 16 --block-rows 32 --block-cols 16 --check",
          algorithm, mask));
      const double error = document["accuracy"]["max_abs_error"].get<double>();
      EXPECT_TRUE(error <= 1e-12) << algorithm << " " << mask << " " << error;
    }
  }
}

TEST(Simulate, RoundingToStorageCostsAccuracy) {
  const std::string words = "--algorithm flash2 --seq-len 100 --check --dtype bf16";
  const double exact = simulated(words)["accuracy"]["max_abs_error"].get<double>();
  const double rounded =
      simulated(words + " --round-to-storage")["accuracy"]["max_abs_error"].get<double>();
  EXPECT_TRUE(exact <= 1e-12);
  EXPECT_TRUE(rounded > 1e-5 && rounded < 1e-1) << rounded;
}

TEST(Simulate, SizesThatAreNotGivenAreThoseOfTheInputFiles) {
  const ScratchFolder scratch;
  const std::vector<Index> Q_shape = {2, 4, 20, 8}, K_shape = {2, 2, 36, 8};
  ASSERT_FALSE(write_npy(scratch.file("q.npy"), Q_shape,
                         std::vector<double>(std::size_t{2} * 4 * 20 * 8, 1.0)));
  ASSERT_FALSE(write_npy(scratch.file("k.npy"), K_shape,
                         std::vector<double>(std::size_t{2} * 2 * 36 * 8, 1.0)));
  const std::string q = " --q " + scratch.file("q.npy");
  const std::string kv = " --k " + scratch.file("k.npy") + " --v " + scratch.file("k.npy");
  const std::string words = "--algorithm flash2 --block-rows 16 --block-cols 16 --check";
  const ordered_json problem = simulated(words + q + kv)["problem"];
  EXPECT_EQ(problem["batch"], 2);
  EXPECT_EQ(problem["heads"], 4);
  EXPECT_EQ(problem["kv_heads"], 2);
  EXPECT_EQ(problem["seq_len"], 20);
  EXPECT_EQ(problem["kv_len"], 36);
  EXPECT_EQ(problem["head_dim"], 8);
  const ordered_json keys = simulated(words + kv + " --heads 6 --seq-len 5")["problem"];
  EXPECT_EQ(keys["heads"], 6);
  EXPECT_EQ(keys["kv_heads"], 2);
  EXPECT_EQ(keys["seq_len"], 5);
  EXPECT_EQ(keys["kv_len"], 36);
  const CliOutcome other = run_cli("simulate " + words + q + kv + " --seq-len 21");
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("needs [B, H, N, d] = [2, 4, 21, 8]"), std::string::npos) << other.err;
}

TEST(Simulate, SaysWhereThePOfABlockIs) {
  const std::string words = "simulate --algorithm flash2 --seq-len 64 --pass ";
  EXPECT_NE(
      run_cli(words + "forward").out.find("product, although the warps keep it in registers\n"),
      std::string::npos);
  EXPECT_NE(
      run_cli(words + "both").out.find("in the forward pass the warps keep it in registers\n"),
      std::string::npos);
  EXPECT_EQ(run_cli(words + "backward").out.find("in registers\n"), std::string::npos);
}

TEST(Simulate, OutputsAndInputsAreNumpyFiles) {
  // All rows are equal: O must be the row of V, whatever the weights
  const ScratchFolder scratch;
  const std::vector<Index> shape = {1, 2, 20, 8};
  std::vector<double> ones(std::size_t{2} * 20 * 8, 0.5);
  ASSERT_FALSE(write_npy(scratch.file("v.npy"), shape, ones));
  const CliOutcome outcome = run_cli(
      "simulate --algorithm flash2 --heads 2 --seq-len 20 --head-dim 8 --block-rows 16 "
      "--block-cols 16 --q " +
      scratch.file("v.npy") + " --k " + scratch.file("v.npy") + " --v " + scratch.file("v.npy") +
      " --out " + scratch.file("results"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto O = read_npy(scratch.file("results/o.npy"));
  ASSERT_TRUE(O.ok()) << O.error().message;
  EXPECT_EQ(O.value().shape, shape);
  for (double value : O.value().data) EXPECT_NEAR(value, 0.5, 1e-12);
  const auto LSE = read_npy(scratch.file("results/lse.npy"));
  ASSERT_TRUE(LSE.ok()) << LSE.error().message;
  EXPECT_EQ(LSE.value().shape, (std::vector<Index>{1, 2, 20}));
  // S = 8 * 0.25 / sqrt(8) for each of 20 keys
  for (double value : LSE.value().data) {
    EXPECT_NEAR(value, 2.0 / std::sqrt(8.0) + std::log(20.0), 1e-12);
  }
}

TEST(Simulate, BackwardIsCheckedAndBothIsTheSumOfThePasses) {
  for (const std::string algorithm : {"standard", "flash1", "flash2"}) {
    const std::string words = "--algorithm " + algorithm +
                              " --heads 4 --kv-heads 2 --mask causal --seq-len 100 --kv-len 77 "
                              "--head-dim 16 --block-rows 32 --block-cols 16 --check --pass ";
    const ordered_json forward = simulated(words + "forward");
    const ordered_json backward = simulated(words + "backward");
    const ordered_json both = simulated(words + "both");
    EXPECT_EQ(backward["pass"], "backward");
    const double error = backward["accuracy"]["max_abs_error"].get<double>();
    EXPECT_TRUE(error <= 1e-12) << algorithm << " " << error;
    for (const char* key : {"read_bytes", "write_bytes", "atomic_bytes"}) {
      const auto bytes = [&](const ordered_json& document) {
        return document["traffic"]["requested"][key].get<std::int64_t>();
      };
      EXPECT_EQ(bytes(both), bytes(forward) + bytes(backward)) << algorithm << " " << key;
    }
    EXPECT_GT(backward["flops"]["matmul"], forward["flops"]["matmul"]);
  }
}

TEST(Simulate, GradientsAreWrittenWithTheShapesOfTheirTensors) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(
      "simulate --algorithm flash2 --pass both --heads 4 --kv-heads 2 --seq-len 20 "
      "--kv-len 24 --head-dim 8 --block-rows 16 --block-cols 16 --out " +
      scratch.path().string());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(scratch.names(),
            (std::vector<std::string>{"dk.npy", "dq.npy", "dv.npy", "lse.npy", "o.npy"}));
  const auto shape = [&](const std::string& name) {
    return read_npy(scratch.file(name)).value().shape;
  };
  EXPECT_EQ(shape("dq.npy"), (std::vector<Index>{1, 4, 20, 8}));
  EXPECT_EQ(shape("dk.npy"), (std::vector<Index>{1, 2, 24, 8}));
  EXPECT_EQ(shape("dv.npy"), (std::vector<Index>{1, 2, 24, 8}));
}

TEST(Simulate, SeedAndInputsChangeTheNumbersOnly) {
  const std::string words = "--algorithm flash2 --seq-len 64 --check";
  const ordered_json zero = simulated(words);
  const ordered_json one = simulated(words + " --seed 1");
  EXPECT_EQ(zero["traffic"], one["traffic"]);
  const ordered_json outlier = simulated(words + " --inputs outlier");
  EXPECT_TRUE(outlier["accuracy"]["max_abs_error"].get<double>() <= 1e-9);
}

TEST(Simulate, TableNamesEveryLevelAndItsKind) {
  const CliOutcome outcome = run_cli("simulate --algorithm standard --seq-len 256");
  EXPECT_EQ(outcome.status, 0);
  for (const char* word : {"modelled", "paper", "requested", "dram, predicted", "dram, compulsory",
                           "launch scores", "peak memory", "lower bound"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  }
}

TEST(Simulate, CsvHasOneHeaderAndOneRow) {
  const CliOutcome outcome =
      run_cli("simulate --algorithm flash2 --mask window:5,5 --seq-len 64 --csv -");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  EXPECT_NE(outcome.out.find("traffic.requested.read_bytes"), std::string::npos);
  EXPECT_NE(outcome.out.find("\"window:5,5\""), std::string::npos);
}

TEST(Simulate, FilesAreWrittenBesideTheTable) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli("simulate --algorithm flash2 --seq-len 64 --json " +
                                     scratch.file("a.json") + " --csv " + scratch.file("a.csv"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("requested"), std::string::npos);
  EXPECT_EQ(scratch.names(), (std::vector<std::string>{"a.csv", "a.json"}));
  EXPECT_EQ(ordered_json::parse(read_text(scratch.path() / "a.json"))["algorithm"], "flash2");
}

TEST(Simulate, JsonToADeviceFileDoesNotReplaceIt) {
  const CliOutcome outcome = run_cli("simulate --algorithm flash2 --seq-len 64 --json /dev/null");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Simulate, FullDiskIsAFailureNotASuccess) {
  const CliOutcome outcome = run_cli("simulate --algorithm flash2 --seq-len 64 --json /dev/full");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.error_lines(), 1);
}

TEST(Simulate, CountsHugeProblems) {
  const ordered_json document =
      simulated("--algorithm flash2 --seq-len 131072 --head-dim 128 --heads 64 --batch 4");
  EXPECT_GT(document["traffic"]["requested"]["read_bytes"].get<double>(), 1e12);
}

}  // namespace
}  // namespace attnscope
