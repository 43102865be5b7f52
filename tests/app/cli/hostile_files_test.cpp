/// Files designed to hang or exhaust the program are rejected at once; names in any encoding work.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"
#include "reference/attention_problem.h"
#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using test::expect_refused;

/// A shipped recording with its first row alone; read once.
const json& recording_of_one_row() {
  static const json recording = [] {
    json document = json::parse(read_text(find_assets_dir().value() / "recordings" / "h200.json"));
    document["rows"] = json::array({json(document["rows"][0])});
    return document;
  }();
  return recording;
}

/// The same, changed.
json recording_with(const json& problem, const json& members) {
  json document = recording_of_one_row();
  json& row = document["rows"][0];
  row["problem"].update(problem);
  row.update(members);
  return document;
}

/// Expects that the command takes only seconds of CPU time: other tests run beside this one.
template <typename Command>
void expect_fast(const Command& command) {
  const std::clock_t begin = std::clock();
  command();
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10);
}

constexpr Index kManyRows = Index{1} << 24;

/// Expects that a comparison with the recording gives this reason instead of the row, whose mask is
/// unknown.
void expect_unavailable(const std::string& recording, const std::string& reason) {
  const CliOutcome outcome = run_cli("compare --recording " + recording);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("unavailable: recorded with "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(reason), std::string::npos) << outcome.out;
}

TEST(HostileFiles, AMaskOfTooManyTilesIsRefusedBeforeItIsDrawn) {
  const ScratchFolder scratch;
  const json document = recording_with(
      {{"seq_len", kManyRows}, {"kv_len", kManyRows}, {"batch", 1}, {"heads", 1}, {"kv_heads", 1}},
      {{"algorithm", "block_sparse2"},
       {"kernel", "block_sparse2"},
       {"pass", "forward"},
       {"tiling", {{"Br", 1}, {"Bc", 1}}},
       {"block_mask", "random:1e-300"}});
  const std::string file = scratch.write("mine.json", document.dump());
  expect_fast(
      [&] { expect_unavailable(file, "a block mask that exceeds the limit of 67108864 tiles"); });
  expect_fast([&] {
    expect_refused(run_cli(fmt::format("simulate --algorithm block_sparse2 --seq-len {} --head-dim "
                                       "16 --block-rows 1 --block-cols 1 --block-mask "
                                       "random:1e-300",
                                       kManyRows)),
                   "use larger tiles");
  });
}

TEST(HostileFiles, MasksThatKeepTooManyTilesAreDrawnOnce) {
  const ScratchFolder scratch;
  json document = recording_with(
      {{"seq_len", 1 << 20}, {"kv_len", 1 << 20}, {"batch", 1}, {"heads", 1}, {"kv_heads", 1}},
      {{"algorithm", "block_sparse2"},
       {"kernel", "block_sparse2"},
       {"pass", "forward"},
       {"tiling", {{"Br", 16}, {"Bc", 16}}}});
  const json row = document["rows"][0];
  document["rows"] = json::array();
  for (int global = 0; global < 200; ++global) {  // half a second each
    document["rows"].push_back(row);
    document["rows"].back()["block_mask"] = fmt::format("local-global:4000,{}", global);
  }
  const std::string file = scratch.write("mine.json", document.dump());
  expect_fast([&] { expect_unavailable(file, "a block mask that exceeds the limit"); });
}

TEST(HostileFiles, AllMasksOfARecordingAreAsLargeAsOneAtMost) {
  const ScratchFolder scratch;
  json document = recording_with(
      {{"seq_len", 2048}, {"kv_len", 2048}, {"batch", 1}, {"heads", 1}, {"kv_heads", 1}},
      {{"algorithm", "block_sparse2"},
       {"kernel", "block_sparse2"},
       {"pass", "forward"},
       {"tiling", {{"Br", 1}, {"Bc", 1}}},
       {"block_mask", "random:0.01"}});  // all tiles count, also those that it hides
  // Equal masks count as one
  for (int n = 0; n < 20; ++n) document["rows"].push_back(json(document["rows"][0]));
  scratch.write("mine.json", document.dump());
  EXPECT_TRUE(read_recording(scratch.file("mine.json")).ok());
  json& other = document["rows"][1]["problem"];
  other["seq_len"] = other["kv_len"] = 8192;
  const std::string file = scratch.write("mine.json", document.dump());
  expect_unavailable(file, "a block mask that exceeds the limit of 67108864 tiles");
  other["seq_len"] = other["kv_len"] = 2048;
  document["rows"][1]["block_mask"] = "none.npy";
  scratch.write("mine.json", document.dump());
  document["rows"][1]["block_mask_hash"] = "0123456789abcdef";
  scratch.write("mine.json", document.dump());
  expect_unavailable(file, "none.npy: no such file");
}

TEST(HostileFiles, APipeIsRefusedWithoutWaitingForAWriter) {
  const ScratchFolder scratch;
  for (const char* name : {"mine.json", "mine.npy"}) {
    ASSERT_EQ(::mkfifo(scratch.file(name).c_str(), 0600), 0);
  }
  const std::string pipe = scratch.file("mine.json");
  for (const std::string command :
       {"simulate --algorithm flash2 --gpu ", "compare --recording ", "trace --out o --recording ",
        "measure --algorithm flash2 --out "}) {
    const CliOutcome outcome = run_cli(command + pipe, without_gpu());
    EXPECT_NE(outcome.status, 0) << command;
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  }
  for (const std::string option : {"--q ", "--block-mask "}) {
    expect_refused(run_cli("simulate --algorithm block_sparse2 --seq-len 64 --head-dim 16 " +
                           option + scratch.file("mine.npy")),
                   "not a regular file");
  }
}

TEST(HostileFiles, ASparseFileOfManyGigabytesIsRefusedByItsHeader) {
  const ScratchFolder scratch;
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2147483648,), }";
  header.resize(117, ' ');
  const std::string file =
      scratch.write("big.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n");
  std::filesystem::resize_file(file, 128 + (std::uintmax_t{1} << 34));
  expect_fast([&] {
    for (const std::string option : {"--q ", "--block-mask "}) {
      expect_refused(
          run_cli("simulate --algorithm block_sparse2 --seq-len 64 --head-dim 2 " + option + file),
          "2147483648");
    }
  });
}

TEST(HostileFiles, MessagesAreShortenedInTheMiddle) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(std::vector<std::string>{
      "simulate", "--algorithm", "flash2", "--q", std::string(100'000, 'x') + ".npy"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_LT(outcome.err.size(), 700u);
  json document = recording_with(json::object(), json::object());
  document["rows"][0]["counters"][std::string(1'000'000, 'k')] = -1;
  expect_refused(run_cli("compare --recording " + scratch.write("mine.json", document.dump())),
                 "use 0, or 1e-09 to 9.22337e+18");
}

TEST(HostileFiles, ValuesWithoutMeaningAreRefusedWithTheirField) {
  const ScratchFolder scratch;
  const auto refuse = [&](const json& document, const std::string& field) {
    expect_refused(run_cli("compare --recording " + scratch.write("mine.json", document.dump())),
                   field);
  };
  for (const char* field : {"sm_count", "l2_bytes", "memory_bytes", "power_limit_w"}) {
    json document = recording_with(json::object(), json::object());
    document["device"][field] = -1;
    refuse(document, field);
  }
  json late = recording_with(json::object(), json::object());
  late["rows"][0]["time"]["min_s"] = 1e9;
  refuse(late, "min_s");
  json none = recording_with(json::object(), json::object());
  none["rows"][0]["time"]["n"] = 0;
  refuse(none, ": n");
  json repeats = recording_with(json::object(), json::object());
  repeats["protocol"]["repeats"] = std::int64_t{1} << 32;
  refuse(repeats, "repeats");

  const auto set = [](const char* place, const json& value) {
    json changed = recording_with(json::object(), json::object());
    changed[json::json_pointer(place)] = value;
    return changed;
  };
  const std::string counters = "/rows/0/counters/";
  for (const double bytes : {1e308, 5e-324, 0.5, -1.0}) {
    refuse(set((counters + "dram__bytes_read.sum").c_str(), bytes),
           "dram__bytes_read.sum: " + fmt::format("{}", bytes) +
               " is not a count; use a whole number from 0 to 9.22337e+18");
  }
  const std::string share = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
  refuse(set((counters + share).c_str(), 1e308), share + ": 1e+308 is out of range; use 0 to 110");
  refuse(set((counters + "sm__cycles.avg").c_str(), 5e-324), "sm__cycles.avg: 5e-324");
  refuse(set("/rows/0/time/max_s", 1e308), "max_s: 1e+308 is out of range; use 1e-12 to 1e+09");
  refuse(set("/rows/0/time/min_s", 5e-324), "min_s: 5e-324 is out of range");
  refuse(set("/device/clocks/sm_mhz", 5e-324), "sm_mhz: 5e-324 is out of range");
  refuse(set("/device/power_limit_w", 1e308), "power_limit_w: 1e+308 is out of range");
  refuse(set("/device/name", std::string(201, 'x')), "name: a string of 201 bytes is too long");
  for (const std::string name : {"kernel", "instructions"}) {
    refuse(set(("/rows/0/" + name).c_str(), std::string(201, 'x')),
           name + ": a string of 201 bytes is too long; use at most 200");
  }
  refuse(set("/device/sm_count", 0), "sm_count: 0 is out of range; use 1 to 65536");
  refuse(set("/protocol/time_budget_s", 1e308), "use 0, or 1e-12 to 1e+09");
  refuse(set("/protocol/repeats", 0), "repeats: 0 is out of range");
}

TEST(HostileFiles, ValuesOfATraceWithoutMeaningAreRefused) {
  const ScratchFolder scratch;
  const std::string text =
      read_text(find_assets_dir().value() / "recordings" / "traces" / "flash2-forward-64.json");
  const auto refuse = [&](const char* place, const json& value) {
    json trace = json::parse(text);
    trace[json::json_pointer(place)] = value;
    const std::string field = std::string(place).substr(std::string(place).rfind('/') + 1);
    expect_refused(run_cli("trace --recording " + scratch.write("t.json", trace.dump()) +
                           " --out " + scratch.file("out.json")),
                   field + ": " + fmt::format("{}", value.get<double>()) + " is out of range");
  };
  for (const char* field : {"/time_s", "/plain_time_s"}) {
    refuse(field, 1e308);
    refuse(field, 5e-324);
  }
  refuse("/sm_clock_mhz", 5e-324);
  refuse("/timer_step_ns", 0);
  refuse("/device/sm_count", 0);
}

TEST(HostileFiles, ValuesOfAGpuWithoutMeaningAreRefused) {
  const ScratchFolder scratch;
  const std::string text = read_text(find_assets_dir().value() / "gpus" / "h200.json");
  const auto refuse = [&](const char* place, const json& value, const std::string& reason) {
    json gpu = json::parse(text);
    gpu[json::json_pointer(place)] = value;
    expect_refused(
        run_cli("simulate --algorithm flash2 --gpu " + scratch.write("g.json", gpu.dump())),
        reason);
  };
  for (const double rate : {5e-324, 0.5, 1e308}) {
    const std::string reason = fmt::format(": value: {} is out of range; use 1e+06 to ", rate);
    refuse("/dram_bytes_per_s/value", rate, "dram_bytes_per_s" + reason);
    refuse("/boost_clock_hz/value", rate, "boost_clock_hz" + reason);
  }
  refuse("/display_name", std::string(5'000'000, 'x'),
         "display_name: a string of 5000000 bytes is too long; use at most 200");
  refuse("/sm_count/note", std::string(1001, 'x'), "use at most 1000");
}

TEST(HostileFiles, RowsOfARecordingMayTakeSecondsTogether) {
  const ScratchFolder scratch;
  const auto expect_limited = [&](const json& problem, const json& members, int count) {
    json document = recording_with(problem, members);
    for (int n = 1; n < count; ++n) document["rows"].push_back(json(document["rows"][0]));
    const std::string file = scratch.write("mine.json", document.dump());
    expect_fast([&] {
      const CliOutcome outcome = run_cli("compare --recording " + file);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_NE(outcome.out.find("524288"), std::string::npos) << outcome.out;
    });
  };
  const auto sized = [](Index N, Index d, const std::string& mask) {
    return json{{"seq_len", N},  {"kv_len", N},   {"batch", 1},  {"heads", 1},
                {"kv_heads", 1}, {"head_dim", d}, {"mask", mask}};
  };
  const auto kernel = [](const std::string& name, const std::string& pass, Index side) {
    return json{{"algorithm", name},
                {"kernel", name},
                {"pass", pass},
                {"tiling", {{"Br", side}, {"Bc", side}}}};
  };
  expect_limited(sized(Index{1} << 27, 8, "causal"), kernel("flash2", "forward", 64), 3);
  expect_limited(sized(kManyRows, 64, "window:1000000"), kernel("flash1", "backward", 1), 3);
  expect_limited(sized(kManyRows, 64, "causal"), kernel("flash2", "forward", 64), 1000);
}

TEST(HostileFiles, NamesThatAreNotUtf8Work) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path() / "\xff\xe9t\xe9";
  std::filesystem::create_directory(folder);
  const std::string gpu = folder + "/mine.json";
  std::filesystem::copy_file(find_assets_dir().value() / "gpus" / "h200.json", gpu);
  for (const std::string command : {"simulate --algorithm flash2 --seq-len 64 --json ",
                                    "trace --algorithm flash2 --seq-len 64 "
                                    "--head-dim 64 --out "}) {
    const CliOutcome outcome = run_cli(command + folder + "/out.json --gpu " + gpu);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(json::accept(read_text(folder + "/out.json")));
  }
}

}  // namespace
}  // namespace attnscope
