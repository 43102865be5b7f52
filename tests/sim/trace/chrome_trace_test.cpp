/// The trace file is checked against the Trace Event Format, and its content against the counts.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/residency.h"
#include "sim/trace/chrome_trace.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

using nlohmann::json;

test::ModelRequest traced_request(std::string_view algorithm, PassKind pass = PassKind::both) {
  test::ModelRequest request;
  request.problem = {.batch = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .N = 100,
                     .N_kv = 70,
                     .d = 32,
                     .dtype = DType::bf16,
                     .mask = Mask::causal()};
  request.algorithm = algorithm;
  request.pass = pass;
  request.set_tiling({32, 16});
  request.gpu_description = load_gpu("h200").value();
  request.gpu_description.sm_count = 3;  // few, so that thread blocks follow each other
  return request;
}

struct Written {
  TraceSummary summary;
  json document;
};

Result<TraceSummary> write_trace_of(const test::ModelRequest& request, const TextSink& sink,
                                    const BlockOrder& order = {}) {
  return write_trace(test::resolve(request).value(), request.gpu_description, order, sink, {});
}

Written write(const test::ModelRequest& request, const BlockOrder& order = {}) {
  std::string text;
  const auto sink = [&text](std::string_view piece) {
    text += piece;
    return true;
  };
  const auto summary = write_trace_of(request, sink, order);
  EXPECT_TRUE(summary.ok()) << summary.error().message;
  return {summary.value(), json::parse(text)};
}

TEST(TraceOfAgents, HasATrackForEachUnitThatAnAgentUses) {
  test::ModelRequest request = traced_request("flash2");
  request.variant = {.stages = 2, .consumers = 2};
  std::map<std::pair<int, int>, std::string> names;
  std::map<std::string, std::set<std::string>> kinds;  // operations on the tracks of each agent
  const Written written = write(request);
  for (const json& event : written.document.at("traceEvents")) {
    if (event.at("name") == "thread_name") {
      names[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
    }
    if (event.at("ph") != "X" || !event.at("args").contains("line")) continue;
    const std::string track = names.at({event.at("pid"), event.at("tid")});
    const std::string name = event.at("name");
    for (const char* agent :
         {"producer", "statistics loader", "dQ adder", "consumer 0", "consumer 1"}) {
      if (track.find(agent) != track.npos) kinds[agent].insert(name.substr(0, name.find(' ')));
    }
  }
  EXPECT_EQ(kinds["producer"], std::set<std::string>{"load"});
  EXPECT_EQ(kinds["statistics loader"], std::set<std::string>{"load"});
  EXPECT_EQ(kinds["dQ adder"], std::set<std::string>{"atomic_add"});
  for (const char* agent : {"consumer 0", "consumer 1"}) {
    EXPECT_TRUE(kinds[agent].contains("scores")) << agent;
    EXPECT_FALSE(kinds[agent].contains("load")) << agent;
  }
}

class EveryAlgorithmsTrace : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithmsTrace, HasTheFieldsOfTheTraceEventFormat) {
  const Written written = write(traced_request(GetParam()));
  EXPECT_EQ(written.document.at("displayTimeUnit"), "ns");
  const std::string clock = written.document.at("otherData").at("clock");
  EXPECT_NE(clock.find("lower bound"), std::string::npos);
  const json& events = written.document.at("traceEvents");
  EXPECT_EQ(static_cast<Index>(events.size()), written.summary.events);
  for (const json& event : events) {
    const std::string phase = event.at("ph");
    EXPECT_TRUE(event.at("name").is_string());
    EXPECT_TRUE(event.at("pid").is_number_unsigned());
    EXPECT_TRUE(event.at("args").is_object());
    if (phase == "M") continue;
    EXPECT_TRUE(event.at("tid").is_number_unsigned());
    EXPECT_GE(event.at("ts").get<double>(), 0.0);
    if (phase == "C") continue;
    ASSERT_EQ(phase, "X");
    EXPECT_GE(event.at("dur").get<double>(), 0.0);
    EXPECT_TRUE(event.at("cat").is_string());
  }
}

/// The requirements of Perfetto's importer of Chrome JSON beyond the fields: integer ids, metadata
/// of the known names, a name for every process and track before its first slice, numbers in
/// counters.
TEST_P(EveryAlgorithmsTrace, NamesEveryTrackBeforeItsFirstSlice) {
  const Written written = write(traced_request(GetParam()));
  const std::map<std::string, std::string> metadata = {{"process_name", "name"},
                                                       {"process_sort_index", "sort_index"},
                                                       {"thread_name", "name"},
                                                       {"thread_sort_index", "sort_index"}};
  std::set<int> processes;
  std::set<std::pair<int, int>> tracks;
  double counted_until = 0;
  for (const json& event : written.document.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const std::string name = event.at("name");
    EXPECT_FALSE(name.empty());
    const int pid = event.at("pid");
    if (phase == "M") {
      ASSERT_TRUE(metadata.contains(name)) << event;
      const json& value = event.at("args").at(metadata.at(name));
      EXPECT_TRUE(name.ends_with("_name") ? value.is_string() : value.is_number_integer()) << event;
      if (name == "process_name") {
        EXPECT_TRUE(processes.insert(pid).second) << event;
      }
      if (name == "thread_name") {
        EXPECT_TRUE(tracks.insert({pid, event.at("tid")}).second) << event;
      }
      continue;
    }
    EXPECT_TRUE(processes.contains(pid)) << event;
    if (phase == "X") {
      EXPECT_TRUE(tracks.contains({pid, event.at("tid")})) << event;
    }
    if (phase != "C") continue;
    EXPECT_FALSE(event.at("args").empty());
    for (const json& value : event.at("args")) EXPECT_TRUE(value.is_number()) << event;
    counted_until = event.at("ts");
  }
  EXPECT_GT(counted_until, 0);
}

/// Perfetto's importer rounds ts and dur to nanoseconds separately, and drops a slice that then
/// begins before the one before it on its track has ended.
TEST_P(EveryAlgorithmsTrace, LosesNoSliceToPerfettosRounding) {
  std::map<std::pair<int, int>, Index> track_end_ns;
  const Written written = write(traced_request(GetParam()));
  Index longest_ns = 0;
  for (const json& event : written.document.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    Index& end = track_end_ns[{event.at("pid"), event.at("tid")}];
    const Index begin = std::llround(event.at("ts").get<double>() * 1000);
    const Index length = std::llround(event.at("dur").get<double>() * 1000);
    EXPECT_GE(begin, end) << event;
    end = begin + length;
    longest_ns = std::max(longest_ns, length);
  }
  EXPECT_GT(longest_ns, 0);
}

TEST_P(EveryAlgorithmsTrace, NothingOverlapsOnOneTrack) {
  std::map<std::pair<int, int>, double> track_end_us;
  const Written written = write(traced_request(GetParam()));
  for (const json& event : written.document.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    double& end = track_end_us[{event.at("pid"), event.at("tid")}];
    const double begin = event.at("ts");
    EXPECT_GE(begin, end - 1e-7) << event;  // a tenth of a picosecond: read as a binary fraction
    end = begin + event.at("dur").get<double>();
  }
  EXPECT_GT(track_end_us.size(), 3u * 4u) << "three SMs, a track a unit and one of thread blocks";
}

TEST_P(EveryAlgorithmsTrace, HoldsEveryOperationAndEveryByte) {
  const Written written = write(traced_request(GetParam()));
  Index ops = 0, bytes = 0, blocks = 0, launches = 0;
  for (const json& event : written.document.at("traceEvents")) {
    const std::string category = event.value("cat", "");
    blocks += category == "thread block" ? 1 : 0;
    launches += category == "launch" ? 1 : 0;
    if (!event.at("args").contains("line")) continue;
    ++ops;
    bytes += event.at("args").value("bytes", Index{0});
  }
  const SimulationReport& report = written.summary.report;
  EXPECT_EQ(ops, report.tile_ops);
  EXPECT_EQ(bytes, report.requested.total());
  EXPECT_EQ(launches, static_cast<Index>(report.launches.size()));
  Index expected_blocks = 0;
  for (const LaunchReport& launch : report.launches) expected_blocks += launch.thread_blocks;
  EXPECT_EQ(blocks, expected_blocks);
}

TEST_P(EveryAlgorithmsTrace, CountersRiseToTheRequestedBytes) {
  const Written written = write(traced_request(GetParam()));
  double at = -1;
  Index read = 0, wrote = 0;
  for (const json& event : written.document.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    EXPECT_GT(event.at("ts").get<double>(), at);
    EXPECT_GE(event.at("args").at("read").get<Index>(), read);
    EXPECT_GE(event.at("args").at("written").get<Index>(), wrote);
    at = event.at("ts");
    read = event.at("args").at("read");
    wrote = event.at("args").at("written");
  }
  EXPECT_EQ(read, written.summary.report.requested.read_bytes);
  EXPECT_EQ(wrote, written.summary.report.requested.write_bytes);
}

TEST_P(EveryAlgorithmsTrace, NoUnitBeatsTheDatasheet) {
  const test::ModelRequest request = traced_request(GetParam());
  const TraceSummary summary = write(request).summary;
  const double end_s = static_cast<double>(summary.end_ps) * 1e-12;
  EXPECT_GE(end_s, summary.report.bound_s);
}

INSTANTIATE_TEST_SUITE_P(Forward, EveryAlgorithmsTrace,
                         testing::Values("standard", "flash1", "flash2"),
                         [](const auto& test) { return test.param; });

TEST(Trace, ALaunchBeginsWhenTheOneBeforeHasEnded) {
  const Written written = write(traced_request("standard"));
  double end = 0;
  for (const json& event : written.document.at("traceEvents")) {
    if (event.value("cat", "") != "launch") continue;
    EXPECT_NEAR(event.at("ts").get<double>(), end, 1e-6);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  EXPECT_GT(end, 0);
}

TEST(Trace, BlockOrderChangesWhereBlocksRunAndNoBytes) {
  const test::ModelRequest request = traced_request("flash2", PassKind::forward);
  const Written ascending = write(request);
  const Written shuffled = write(request, {BlockOrder::Kind::shuffled, 3});
  EXPECT_NE(ascending.document, shuffled.document);
  EXPECT_EQ(ascending.summary.report.requested, shuffled.summary.report.requested);
}

TEST(Trace, RefusesMoreOperationsThanABrowserOpensBeforeWritingAnything) {
  test::ModelRequest request = traced_request("flash2");
  request.problem.N = request.problem.N_kv = 1 << 13;
  bool written = false;
  const auto sink = [&written](std::string_view) {
    written = true;
    return true;
  };
  const auto summary = write_trace_of(request, sink);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(summary.error().message.find("at most 1000000"), std::string::npos);
  EXPECT_FALSE(written);
}

TEST(Trace, SaysWhenItCouldNotBeWritten) {
  const auto sink = [](std::string_view) { return false; };
  const auto summary = write_trace_of(traced_request("flash2"), sink);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().kind, Error::Kind::failed);
}

TEST(Timeline, LoadsShareTheCompulsoryBytesBecauseL2ServesTheOthers) {
  test::ModelRequest request = traced_request("flash2", PassKind::forward);
  request.problem.heads = 6;  // thread blocks that fill the slots of three SMs
  request.problem.N = request.problem.N_kv = 256;
  request.problem.mask = Mask::none();
  request.gpu_description.dram_bytes_per_s = 1e9;  // slow, so that nothing else matters
  const TraceSummary summary = write(request).summary;
  const SimulationReport& report = summary.report;
  const double end_s = static_cast<double>(summary.end_ps) * 1e-12;
  EXPECT_EQ(report.bound_by, GpuUnit::dram);
  EXPECT_GE(end_s, report.bound_s);
  EXPECT_LT(end_s, 1.2 * report.bound_s);
  EXPECT_GT(static_cast<double>(report.requested.total()) / 1e9, 5 * report.bound_s);
}

TEST(Timeline, AnExponentialIsOnTheTrackOfItsUnit) {
  const TileOp exp{.kind = OpKind::exp, .dest_tiles = {}, .source_tiles = {}};
  EXPECT_EQ(unit_of(exp, GpuUnit::tensor_cores), GpuUnit::special_function_units);
  const TileOp scores{.kind = OpKind::scores, .dest_tiles = {}, .source_tiles = {}};
  EXPECT_EQ(unit_of(scores, GpuUnit::tensor_cores), GpuUnit::tensor_cores);
  EXPECT_EQ(unit_of(scores, GpuUnit::cuda_cores), GpuUnit::cuda_cores);
}

TEST(Timeline, AnSmHoldsAsManyBlocksAsItsMemoryAndItsLimitsAllow) {
  const GpuDescription gpu = load_gpu("h200").value();
  constexpr Index kMany = 1'000'000;
  const auto blocks = [&gpu](const BlockDemand& block) {
    return resident_blocks(block, kMany, gpu);
  };
  // 228 KiB for each SM, of which each block takes 1 KiB more than it requests
  EXPECT_EQ(blocks({113 * 1024, 16, 128}), 2);
  EXPECT_EQ(blocks({114 * 1024, 16, 128}), 1) << "two would fit without what is reserved";
  EXPECT_EQ(blocks({16, gpu.register_bytes_per_sm / 4, 128}), 4);
  // 96 registers per thread: room for 21 warps, but each quarter of the SM has room for 5
  EXPECT_EQ(blocks({16, 96 * 4 * 32, 32}), 20);
  EXPECT_EQ(blocks({16, 16, 1024}), 2) << "2048 threads";
  EXPECT_EQ(blocks({16, 16, 96}), 21);
  EXPECT_EQ(blocks({16, 16, 32}), gpu.max_blocks_per_sm);
  EXPECT_EQ(blocks({gpu.shared_bytes_per_sm * 2, 16, 128}), 1);
  EXPECT_EQ(resident_blocks({16, 16, 128}, gpu.sm_count + 1, gpu), 2) << "no more than there are";

  const GpuDescription t4 = load_gpu("t4").value();
  EXPECT_EQ(resident_blocks({32 * 1024, 16, 128}, kMany, t4), 2) << "nothing is reserved";
  EXPECT_EQ(resident_blocks({16, 16, 512}, kMany, t4), 2) << "1024 threads";
}

TEST(Timeline, MoreWarpsLeaveRoomForFewerBlocks) {
  test::ModelRequest request = traced_request("flash2", PassKind::forward);
  const auto placed = [&request](Index warps) {
    request.warps = warps;
    Index slots = 0;
    const auto sink = [&slots](std::string_view piece) {
      while (piece.find(fmt::format("block slot {}:", slots)) != std::string_view::npos) ++slots;
      return true;
    };
    EXPECT_TRUE(write_trace_of(request, sink).ok());
    return slots;
  };
  EXPECT_GT(placed(4), 2);
  EXPECT_EQ(placed(32), 2) << "1024 threads each, of 2048";
}

}  // namespace
}  // namespace attnscope
