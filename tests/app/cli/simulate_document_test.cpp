#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/report/report_text.h"
#include "reference/npy.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> keys(const ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

using Keys = std::vector<std::string>;

TEST(SimulateDocument, DocumentHasExactlyTheKeysOfTheContract) {
  const ordered_json document =
      simulated("--algorithm flash2 --seq-len 100 --block-rows 128 --block-cols 128 --check");
  EXPECT_EQ(keys(document),
            (Keys{"schema", "kind", "problem", "algorithm", "pass", "tiling", "gpu", "inputs",
                  "traffic", "flops", "memory", "warps", "time", "accuracy"}));
  EXPECT_EQ(document["kind"], "modelled");
  EXPECT_EQ(document["schema"], "attnscope.simulation/1");
  EXPECT_EQ(keys(document["tiling"]), (Keys{"Br", "Bc"}));
  EXPECT_EQ(keys(document["traffic"]), (Keys{"paper", "requested", "dram", "bound"}));
  EXPECT_EQ(keys(document["traffic"]["paper"]), (Keys{"read_bytes", "write_bytes"}));
  EXPECT_EQ(keys(document["traffic"]["requested"]),
            (Keys{"read_bytes", "write_bytes", "atomic_bytes", "by_tensor", "by_launch"}));
  EXPECT_EQ(keys(document["traffic"]["requested"]["by_tensor"]["Q"]),
            (Keys{"read_bytes", "write_bytes"}));
  EXPECT_EQ(keys(document["traffic"]["dram"]), (Keys{"read_bytes", "write_bytes"}));
  EXPECT_EQ(keys(document["traffic"]["bound"]), (Keys{"read_bytes", "write_bytes"}));
  const ordered_json transition =
      simulated("--algorithm flash1 --heads 256 --seq-len 2048 --head-dim 64");
  EXPECT_EQ(keys(transition["traffic"]["dram"]),
            (Keys{"read_bytes", "write_bytes", "transition", "least", "most"}));
  EXPECT_EQ(keys(document["flops"]), (Keys{"matmul", "non_matmul", "exponentials"}));
  EXPECT_EQ(keys(document["memory"]),
            (Keys{"sram_bytes_per_block", "register_bytes_per_block", "fits", "peak_hbm_bytes"}));
  EXPECT_EQ(keys(document["time"]),
            (Keys{"bound_s", "bound_kind", "bound_basis", "bound_by", "predicted_s", "primitives_s",
                  "clock_hz", "parts", "launches", "calibrated"}));
  EXPECT_EQ(keys(document["time"]["parts"]),
            (Keys{"overhead", "steps", "waiting", "idle", "l2", "dram"}));
  EXPECT_EQ(keys(document["time"]["launches"][0]), (Keys{"name", "predicted_s", "parts"}));
  EXPECT_EQ(keys(document["accuracy"]),
            (Keys{"max_abs_error", "rel_fro_error", "tensors", "by_tensor", "rounded_to_storage"}));
  EXPECT_EQ(keys(document["inputs"]), (Keys{"kind", "seed"}));
}

TEST(SimulateDocument, ThePartsOfAPredictedTimeAddUp) {
  const std::string words = "--algorithm standard --heads 16 --seq-len 2048 ";
  const ordered_json time = simulated(words)["time"];
  double parts_s = 0, launches_s = 0;
  for (const auto& [name, seconds] : time["parts"].items()) parts_s += seconds.get<double>();
  for (const ordered_json& launch : time["launches"])
    launches_s += launch["predicted_s"].get<double>();
  const double predicted_s = time["predicted_s"];
  EXPECT_NEAR(parts_s, predicted_s, 1e-9 * predicted_s);
  EXPECT_NEAR(launches_s, predicted_s, 1e-9 * predicted_s);
  EXPECT_GT(predicted_s, time["bound_s"].get<double>());
  EXPECT_EQ(time["calibrated"], true);
  EXPECT_FALSE(time.contains("what_if"));
  EXPECT_EQ(simulated(words + "--l2-bytes 1000000")["time"]["what_if"], true);
}

TEST(SimulateDocument, AGpuWithoutACalibrationHasNoPredictedTime) {
  const ordered_json time = simulated("--algorithm flash2 --gpu a100-80gb")["time"];
  EXPECT_FALSE(time.contains("predicted_s"));
  EXPECT_EQ(time["calibrated"], false);
  EXPECT_EQ(time["calibration_reason"], "the GPU is not calibrated");
}

TEST(SimulateDocument, AccuracyNamesItsTensorsAndHasTheErrorOfEach) {
  const std::string words =
      "--algorithm flash2 --seq-len 64 --head-dim 16 --dtype bf16 --round-to-storage --check "
      "--pass ";
  const std::map<std::string, Keys> outputs = {
      {"forward", {"O"}}, {"backward", {"dQ", "dK", "dV"}}, {"both", {"O", "dQ", "dK", "dV"}}};
  for (const auto& [pass, tensors] : outputs) {
    const ordered_json accuracy = simulated(words + pass)["accuracy"];
    EXPECT_EQ(accuracy["tensors"], ordered_json(tensors)) << pass;
    EXPECT_EQ(keys(accuracy["by_tensor"]),
              pass == "forward" ? (Keys{"O", "LSE"}) : (Keys{"O", "LSE", "dQ", "dK", "dV"}));
    for (const char* measure : {"max_abs_error", "rel_fro_error"}) {
      double largest = 0;
      for (const std::string& tensor : tensors) {
        largest = std::max(largest, accuracy["by_tensor"][tensor][measure].get<double>());
      }
      EXPECT_GT(largest, 0) << pass;
      EXPECT_EQ(accuracy[measure], largest) << pass << " " << measure;
    }
    EXPECT_EQ(accuracy["rounded_to_storage"], true);
  }
}

TEST(SimulateDocument, TheDocumentSaysWhatWentIn) {
  const std::string words = "--algorithm flash2 --seq-len 20 --head-dim 8 ";
  EXPECT_FALSE(simulated(words + "--inputs needle --seed 7").contains("inputs"));
  EXPECT_EQ(simulated(words + "--inputs needle --seed 7 --check")["inputs"],
            (ordered_json{{"kind", "needle"}, {"seed", 7}}));

  const ScratchFolder scratch;
  const std::string file = scratch.file("x.npy");
  const std::vector<Index> shape = {1, 1, 20, 8};
  ASSERT_FALSE(write_npy(file, shape, std::vector<double>(160, 0.5)));
  const ordered_json some = simulated(words + "--check --k " + file)["inputs"];
  EXPECT_EQ(some, (ordered_json{{"kind", "gaussian"}, {"seed", 0}, {"files", {{"k", file}}}}));
  const std::string all_files = words + "--check --q " + file + " --k " + file + " --v " + file;
  const ordered_json all = simulated(all_files)["inputs"];
  EXPECT_EQ(all,
            (ordered_json{{"kind", "files"}, {"files", {{"q", file}, {"k", file}, {"v", file}}}}));
  EXPECT_EQ(simulated(all_files + " --pass backward")["inputs"]["kind"], "gaussian");  // dO
}

TEST(SimulateDocument, AWhatIfIsInTheDocument) {
  const ordered_json own = simulated("--algorithm flash2 --seq-len 64");
  EXPECT_FALSE(own.contains("what_if"));
  const ordered_json one = simulated("--algorithm flash2 --seq-len 64 --l2-bytes 1048576");
  EXPECT_EQ(one["what_if"], (ordered_json{{"l2_bytes", 1048576}}));
  const ordered_json both =
      simulated("--algorithm flash2 --seq-len 64 --sram-bytes 100000 --l2-bytes 5");
  EXPECT_EQ(both["what_if"], (ordered_json{{"sram_bytes", 100000}, {"l2_bytes", 5}}));
  const CliOutcome table =
      run_cli("simulate --algorithm flash2 --seq-len 64 --sram-bytes 100000 --l2-bytes 5");
  EXPECT_NE(table.out.find("141 GB, SRAM 97.66 KiB (given), L2 5 B (given)\n"), std::string::npos)
      << table.out;
}

TEST(SimulateDocument, TheDocumentHasTheBytesOfEveryLaunchThatTheTablePrints) {
  for (const std::string words :
       {"--algorithm standard --pass both --fusion separate --mask causal --dropout 0.1",
        "--algorithm flash2 --pass both --heads 4 --kv-heads 2", "--algorithm split_kv --seq-len 1",
        "--algorithm block_sparse2 --block-mask butterfly --mask causal"}) {
    const std::string problem = words + " --kv-len 512";
    const CliOutcome table = run_cli("simulate " + problem);
    ASSERT_EQ(table.status, 0) << table.err;
    const ordered_json requested = simulated(problem)["traffic"]["requested"];
    Index read_bytes = 0, write_bytes = 0;
    for (const auto& launch : requested["by_launch"]) {
      const std::string name = launch["name"].get<std::string>();
      const std::string line = "  launch " + std::string(launch_words(name)) + " ";
      const bool printed = table.out.find(line) != std::string::npos;
      EXPECT_EQ(printed, requested["by_launch"].size() > 1) << words << " " << name;
      read_bytes += launch["read_bytes"].get<Index>();
      write_bytes += launch["write_bytes"].get<Index>();
    }
    EXPECT_EQ(requested["read_bytes"], read_bytes) << words;
    EXPECT_EQ(requested["write_bytes"], write_bytes) << words;
  }
}

TEST(SimulateDocument, ScoreFunctionsAndSequencesReachTheModelAndTheDocument) {
  const ordered_json padded = simulated(
      "--algorithm flash2 --pass backward --batch 2 --heads 2 --seq-len 40 --kv-len 50 --head-dim "
      "8 "
      "--mask window:9 --alibi --softcap 20 --dropout 0.2 --dropout-seed 3 --key-lengths 50,7 "
      "--dtype fp32 --check");
  EXPECT_EQ(padded["problem"]["mask"], "window:8,0");
  EXPECT_EQ(padded["problem"]["alibi"], "standard");
  EXPECT_EQ(padded["problem"]["softcap"], 20);
  EXPECT_EQ(padded["problem"]["dropout"]["probability"], 0.2);
  EXPECT_EQ(padded["problem"]["dropout"]["seed"], 3);
  EXPECT_EQ(padded["problem"]["key_lengths"], (ordered_json{50, 7}));
  EXPECT_LE(padded["accuracy"]["max_abs_error"].get<double>(), 1e-10);

  const ordered_json packed = simulated(
      "--algorithm flash1 --head-dim 8 --cu-seqlens-q 0,16,40 --cu-seqlens-k 0,32,60 "
      "--block-rows 16 --block-cols 16 --check");
  EXPECT_EQ(packed["problem"]["seq_len"], 40);
  EXPECT_EQ(packed["problem"]["kv_len"], 60);
  EXPECT_EQ(packed["problem"]["cu_seqlens_q"], (ordered_json{0, 16, 40}));
  EXPECT_LE(packed["accuracy"]["max_abs_error"].get<double>(), 1e-10);
  const ordered_json whole = simulated(
      "--algorithm flash1 --head-dim 8 --seq-len 40 --kv-len 60 --block-rows 16 --block-cols 16");
  // The sequences visit 1 x 2 and 2 x 2 of the 3 x 4 tiles; only valid elements count
  const Index visited = 16 * 32 + 24 * 28;
  EXPECT_EQ(packed["flops"]["matmul"], 4 * visited * 8);
  EXPECT_EQ(whole["flops"]["matmul"], 4 * 40 * 60 * 8);
}

TEST(SimulateDocument, PaddedHeadDimensionsShowTheirMemoryOnChip) {
  const std::string tiles = " --block-rows 64 --block-cols 64 --dtype fp16 --head-dim ";
  const ordered_json odd = simulated("--algorithm flash2" + tiles + "80");
  const ordered_json even = simulated("--algorithm flash2" + tiles + "96");
  EXPECT_EQ(odd["memory"]["padded"]["head_dim"], 96);
  EXPECT_EQ(odd["memory"]["padded"]["sram_bytes_per_block"],
            even["memory"]["sram_bytes_per_block"]);
  EXPECT_EQ(odd["memory"]["padded"]["register_bytes_per_block"],
            even["memory"]["register_bytes_per_block"]);
  // Q, K and V of 64 x 80 and P of 64 x 64; padding adds 3 x 64 x 16
  EXPECT_EQ(odd["memory"]["sram_bytes_per_block"], 2 * (3 * 64 * 80 + 64 * 64));
  EXPECT_EQ(even["memory"]["sram_bytes_per_block"], 2 * (3 * 64 * 96 + 64 * 64));
  EXPECT_FALSE(even["memory"].contains("padded"));
  EXPECT_FALSE(simulated("--algorithm standard" + tiles + "80")["memory"].contains("padded"));
}

TEST(SimulateDocument, PartsThatWereNotComputedAreAbsent) {
  EXPECT_FALSE(simulated("--algorithm flash2 --seq-len 100").contains("accuracy"));
}

TEST(SimulateDocument, DefaultsAreThoseOfTheContract) {
  const ordered_json document = simulated("--algorithm flash2");
  const ordered_json expected = {{"batch", 1},      {"heads", 1},     {"kv_heads", 1},
                                 {"seq_len", 1024}, {"kv_len", 1024}, {"head_dim", 64},
                                 {"dtype", "bf16"}, {"mask", "none"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(document["problem"][key], value);
  EXPECT_EQ(document["problem"].size(), expected.size());
  EXPECT_EQ(document["pass"], "forward");
  EXPECT_EQ(document["gpu"], "h200");
}

TEST(SimulateDocument, EveryProblemOptionReachesTheDocument) {
  const ordered_json document = simulated(
      "--algorithm flash2 --pass forward --batch 2 --heads 4 --kv-heads 2 --seq-len 100 "
      "--kv-len 90 --head-dim 32 --dtype fp16 --mask causal:top-left --block-rows 32 "
      "--block-cols 16 --carry problem --gpu a100-40gb --inputs needle --seed 7");
  const ordered_json expected = {
      {"batch", 2},   {"heads", 4},     {"kv_heads", 2},   {"seq_len", 100},
      {"kv_len", 90}, {"head_dim", 32}, {"dtype", "fp16"}, {"mask", "causal:top-left"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(document["problem"][key], value);
  EXPECT_EQ(document["tiling"], (ordered_json{{"Br", 32}, {"Bc", 16}}));
  EXPECT_EQ(document["gpu"], "a100-40gb");
}

TEST(SimulateDocument, KvHeadsFollowHeadsAndKvLenFollowsSeqLen) {
  const ordered_json document = simulated("--algorithm flash2 --heads 6 --seq-len 77");
  EXPECT_EQ(document["problem"]["kv_heads"], 6);
  EXPECT_EQ(document["problem"]["kv_len"], 77);
}

TEST(SimulateDocument, SameRequestGivesTheSameDocument) {
  const std::string words = "--algorithm flash1 --seq-len 100 --check --mask causal";
  EXPECT_EQ(simulated(words), simulated(words));
}

}  // namespace
}  // namespace attnscope
