/// Decoding the records of traced kernels, and their file.
#include "kernels/measure/trace/kernel_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/described_trace.h"

namespace attnscope {
namespace {

using kernels::TraceBlock;
using kernels::TraceEvent;
using kernels::TraceStep;
using ::testing::HasSubstr;

constexpr std::size_t kRoom = 32;

/// Records of flash2 on one head: N = 16, N_kv = 32, 16x16 tiles.
struct Records {
  std::vector<TraceBlock> blocks;
  std::vector<TraceEvent> events;
  std::vector<kernels::TraceRow> rows;

  void add_block(const TraceBlock& block) {
    blocks.push_back(block);
    events.resize(blocks.size() * kRoom);
  }
  void add(TraceStep step, int i, int j, std::uint64_t end_cycles) {
    TraceBlock& block = blocks.back();
    TraceEvent& event = events[(blocks.size() - 1) * kRoom + block.event_count++];
    event.end_cycles = static_cast<std::uint32_t>(end_cycles);
    event.i = static_cast<std::uint16_t>(i);
    event.j = static_cast<std::uint16_t>(j);
    event.step = step;
    event.done = 1;
  }
  TraceRecords view() const {
    return {.blocks = blocks,
            .events = events,
            .events_per_block = kRoom,
            .rows = rows,
            .row_step = 16,
            .rows_per_head = rows.empty() ? 0u : 1u,
            .column_tiles = rows.empty() ? 0u : 2u};
  }
};

/// Records of two blocks on two SMs whose clocks differ, at 2 cycles per nanosecond.
Records two_blocks() {
  Records records;
  records.add_block({.begin_ns = 1000,
                     .end_ns = 2000,
                     .begin_cycles = 0x1'0000'0000 - 100,
                     .end_cycles = 0x1'0000'0000 + 1900,
                     .sm = 3});
  records.add(TraceStep::load_Qi, 0, 0, 0x1'0000'0000 + 100);  // the low half has wrapped around
  records.add(TraceStep::scores, 0, 1, 0x1'0000'0000 + 500);
  records.add_block({.begin_ns = 1500,
                     .end_ns = 3500,
                     .begin_cycles = 77,
                     .end_cycles = 4077,
                     .sm = 5,
                     .head_index = 3,
                     .block = 0});
  return records;
}

TEST(KernelTrace, ClocksOfTheSmsBecomeOneTime) {
  KernelTrace trace = described();
  trace.run.problem.heads = trace.run.problem.kv_heads = 2;
  trace.run.problem.batch = 2;
  ASSERT_FALSE(decode_trace(two_blocks().view(), trace));
  EXPECT_NEAR(trace.sm_clock_mhz, 2000.0, 1e-9);
  EXPECT_EQ(trace.timer_step_ns, 500);
  ASSERT_EQ(trace.blocks.size(), 2u);
  EXPECT_EQ(trace.blocks[0].begin_ps, 0);
  EXPECT_EQ(trace.blocks[0].end_ps, 1'000'000);
  EXPECT_EQ(trace.blocks[1].begin_ps, 500'000);
  EXPECT_EQ(trace.blocks[1].end_ps, 2'500'000);
  EXPECT_EQ(trace.blocks[1].sm, 5);
  EXPECT_EQ(trace.blocks[1].batch, 1);
  EXPECT_EQ(trace.blocks[1].head, 1);
  EXPECT_EQ(trace.end_ps(), 2'500'000);
}

TEST(KernelTrace, TheRunOfABlockIsNotAStepOfTheTimer) {
  Records records;
  records.add_block({.begin_ns = 1000, .end_ns = 40776, .begin_cycles = 5, .end_cycles = 79557});
  KernelTrace trace = described();
  ASSERT_FALSE(decode_trace(records.view(), trace));
  EXPECT_FALSE(trace.timer_step_ns.has_value());
  const auto again = parse_kernel_trace(kernel_trace_text(trace), "trace");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_FALSE(again.value().timer_step_ns.has_value());
}

TEST(KernelTrace, TheFirstBlockOfTheGridNeedNotBeginFirst) {
  Records records = two_blocks();
  std::swap(records.blocks[0], records.blocks[1]);
  for (TraceBlock& block : records.blocks) block.event_count = 0;
  KernelTrace trace = described();
  ASSERT_FALSE(decode_trace({.blocks = records.blocks, .events = records.events}, trace));
  EXPECT_EQ(trace.blocks[0].begin_ps, 500'000);
  EXPECT_EQ(trace.blocks[1].begin_ps, 0);
}

TEST(KernelTrace, StepsFollowEachOtherThoughTheClockWraps) {
  KernelTrace trace = described();
  ASSERT_FALSE(decode_trace(two_blocks().view(), trace));
  const auto& steps = trace.blocks[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].step, TraceStep::load_Qi);
  EXPECT_EQ(steps[0].begin_ps, 0);
  EXPECT_EQ(steps[0].end_ps, 100'000);
  EXPECT_EQ(steps[1].begin_ps, 100'000);
  EXPECT_EQ(steps[1].end_ps, 300'000);
  EXPECT_EQ(steps[1].j, 1);
}

TEST(KernelTrace, MaximaAreThoseOfTheScaledScores) {
  Records records = two_blocks();
  records.rows = {{.m = 8.0f, .l = 2.0f, .alpha = 1.0f}, {.m = NAN, .l = NAN, .alpha = NAN}};
  KernelTrace trace = described();
  ASSERT_FALSE(decode_trace(records.view(), trace));
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_FLOAT_EQ(trace.rows[0].states[0].m, 2.0f);  // 8 / sqrt(16)
  EXPECT_TRUE(std::isnan(trace.rows[0].states[1].l));
}

/// A row over four column tiles, the first two of one split, the last two of another: the second of
/// two warps sees no key of the first tile, and neither sees one of the last.
KernelTrace row_of_two_warps() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Records records = two_blocks();
  const std::vector<kernels::TraceRow> rows = {
      {8.0f, 2.0f, 0.0f},  {8.0f, 3.0f, 1.0f},  {4.0f, 1.0f, 0.0f}, {NAN, NAN, NAN},
      {-kInf, 0.0f, 1.0f}, {12.0f, 1.5f, 0.0f}, {4.0f, 2.5f, 0.0f}, {NAN, NAN, NAN}};
  TraceRecords view = records.view();
  view.rows = rows;
  view.rows_per_head = 1;
  view.column_tiles = 4;
  view.row_parts = 2;
  KernelTrace trace = described();
  trace.run.problem.heads = trace.run.problem.kv_heads = 4;
  EXPECT_FALSE(decode_trace(view, trace));
  return trace;
}

TEST(KernelTrace, WarpsThatShareARowsKeysMerge) {
  const KernelTrace trace = row_of_two_warps();
  ASSERT_EQ(trace.rows.size(), 1u);
  const TracedRow& row = trace.rows.front();
  ASSERT_EQ(row.parts.size(), 2u);
  EXPECT_FLOAT_EQ(row.parts[0][1].m, 2.0f);  // 8 / sqrt(16)
  EXPECT_FLOAT_EQ(row.parts[1][1].l, 1.5f);
  ASSERT_EQ(row.states.size(), 4u);
  const auto expect = [&](std::size_t j, double m, double l, double alpha) {
    EXPECT_FLOAT_EQ(row.states[j].m, static_cast<float>(m)) << j;
    EXPECT_FLOAT_EQ(row.states[j].l, static_cast<float>(l)) << j;
    EXPECT_FLOAT_EQ(row.states[j].alpha, static_cast<float>(alpha)) << j;
  };
  expect(0, 2.0, 2.0, 0.0);
  expect(1, 3.0, 3.0 * std::exp(-1.0) + 1.5, std::exp(-1.0));  // m was 2
  expect(2, 1.0, 3.5, 0.0);                                    // the next split: m was -inf
  EXPECT_TRUE(std::isnan(row.states[3].m) && std::isnan(row.states[3].alpha));
}

TEST(KernelTrace, ItsWarpsRoundTripThroughItsFile) {
  const KernelTrace trace = row_of_two_warps();
  const std::string text = kernel_trace_text(trace);
  const auto read = parse_kernel_trace(text, "x.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().rows[0].parts.size(), 2u);
  EXPECT_EQ(read.value().rows[0].parts[1][1].l, 1.5f);
  EXPECT_EQ(kernel_trace_text(read.value()), text);
  KernelTrace cut = trace;
  cut.rows[0].parts[1].pop_back();
  const auto refused = parse_kernel_trace(kernel_trace_text(cut), "x.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("rows[0]: a part must have as many tiles"));
}

TEST(KernelTrace, ContradictingRecordsAreRefused) {
  KernelTrace trace = described();
  Records backwards = two_blocks();
  backwards.events[1].end_cycles = 50;
  EXPECT_THAT(decode_trace(backwards.view(), trace)->message, HasSubstr("run backwards"));
  Records overfull = two_blocks();
  overfull.blocks[0].event_count = kRoom + 1;
  EXPECT_THAT(decode_trace(overfull.view(), trace)->message,
              HasSubstr("more steps than there is room for"));
  Records ended = two_blocks();
  ended.blocks[1].end_ns = 1400;
  EXPECT_THAT(decode_trace(ended.view(), trace)->message, HasSubstr("ends before"));
}

TEST(KernelTrace, ARunWithinOneTimerStepTakesTheDevicesClock) {
  Records records;
  records.add_block({.begin_ns = 1000, .end_ns = 1000, .begin_cycles = 10, .end_cycles = 110});
  KernelTrace trace = described();
  EXPECT_THAT(decode_trace(records.view(), trace)->message, HasSubstr("global timer"));
  trace = described();
  trace.header.device.sm_clock_mhz = 1000.0;
  ASSERT_FALSE(decode_trace(records.view(), trace));
  EXPECT_EQ(trace.blocks[0].end_ps, 100'000);
}

TEST(KernelTrace, RoundTripsThroughItsFile) {
  Records records = two_blocks();
  const float inf = std::numeric_limits<float>::infinity();
  records.rows = {{.m = 1.25f, .l = 2.5f, .alpha = 1.0f}, {.m = -inf, .l = NAN, .alpha = NAN}};
  KernelTrace trace = described();
  trace.run.problem.heads = trace.run.problem.kv_heads = 4;
  trace.run.problem.mask = Mask::window(20, 0);
  trace.run.problem.key_lengths = {30};
  trace.run.problem.score.soft_cap = 30.0;
  trace.run.problem.score.dropout = {.probability = 0.1, .seed = 7};
  trace.time_s = 1e-5;
  ASSERT_FALSE(decode_trace(records.view(), trace));
  const auto read = parse_kernel_trace(kernel_trace_text(trace), "a file");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const KernelTrace& again = read.value();
  EXPECT_EQ(again.run.problem, trace.run.problem);
  EXPECT_EQ(again.run.tiling, trace.run.tiling);
  EXPECT_EQ(again.header.device, trace.header.device);
  EXPECT_EQ(again.header.date, trace.header.date);
  EXPECT_EQ(again.time_s, trace.time_s);
  EXPECT_EQ(again.blocks[0].steps[1].end_ps, trace.blocks[0].steps[1].end_ps);
  EXPECT_EQ(again.blocks[1].begin_ps, trace.blocks[1].begin_ps);
  EXPECT_EQ(again.rows[0].states[0].l, 2.5f);
  EXPECT_EQ(again.rows[0].states[1].m, -inf);
  EXPECT_TRUE(std::isnan(again.rows[0].states[1].alpha));
  EXPECT_EQ(kernel_trace_text(again), kernel_trace_text(trace));
}

/// Otherwise a trace of other settings would be shown as one of the defaults.
TEST(KernelTrace, TheChoicesOfItsRunAndItsProgramRoundTrip) {
  KernelTrace trace = described();
  trace.run.problem.heads = trace.run.problem.kv_heads = 4;
  ASSERT_FALSE(decode_trace(two_blocks().view(), trace));
  trace.run.asked.switches = {{"instructions", "mma"}, {"stages", "1"}};
  trace.run.asked.variant.carry = Carry::fp32;
  trace.run.asked.variant.visit_hidden = true;
  trace.run.asked.pass = PassKind::backward;
  trace.run.asked.deterministic = true;
  trace.instructions = "mma.sync";
  const auto read = parse_kernel_trace(kernel_trace_text(trace), "a file");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const RunSpec& asked = read.value().run.asked;
  EXPECT_EQ(asked.switches, trace.run.asked.switches);
  EXPECT_EQ(asked.variant, trace.run.asked.variant);
  EXPECT_TRUE(asked.deterministic);
  EXPECT_EQ(read.value().instructions, "mma.sync");
  EXPECT_EQ(read.value().unidentified, "");
  EXPECT_EQ(kernel_trace_text(read.value()), kernel_trace_text(trace));
}

TEST(KernelTrace, SettingsThatThisVersionDoesNotKnowAreReportedAndAMaskIsRefused) {
  KernelTrace trace = described();
  trace.run.problem.heads = trace.run.problem.kv_heads = 4;
  ASSERT_FALSE(decode_trace(two_blocks().view(), trace));
  const std::string text = kernel_trace_text(trace);
  const auto known = parse_kernel_trace(text, "a file");
  ASSERT_TRUE(known.ok()) << known.error().message;
  EXPECT_EQ(known.value().unidentified, "");
  const auto with = [&](std::string_view member) {
    return parse_kernel_trace("{" + std::string(member) + "," + text.substr(1), "a file");
  };
  const auto newer = with(R"("stages":3)");
  ASSERT_TRUE(newer.ok()) << newer.error().message;
  EXPECT_EQ(newer.value().unidentified, "settings unknown to this version");
  const auto masked = with(R"("block_mask":"butterfly")");
  ASSERT_FALSE(masked.ok());
  EXPECT_THAT(masked.error().message, HasSubstr("a trace cannot have a block mask"));
}

TEST(KernelTrace, AMalformedFileIsRefusedInOneLine) {
  const auto other = parse_kernel_trace(R"({"schema":"attnscope.recording/1"})", "x.json");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("x.json"));
  KernelTrace trace = described();
  ASSERT_FALSE(decode_trace(two_blocks().view(), trace));
  std::string text = kernel_trace_text(trace);
  text.replace(text.find("load Q_i"), 8, "load X_i");
  const auto unknown = parse_kernel_trace(text, "x.json");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("is not a step"));
}

TEST(KernelTrace, NumbersThatNoBlockOrRowCanHaveAreRefusedWithTheirPlace) {
  KernelTrace trace = described();
  Records records = two_blocks();
  records.rows = {{.m = 1.0f, .l = 2.0f, .alpha = 1.0f}, {.m = 1.0f, .l = 2.0f, .alpha = 1.0f}};
  trace.run.problem.heads = trace.run.problem.kv_heads = 4;
  ASSERT_FALSE(decode_trace(records.view(), trace));
  const auto refusal = [&trace](const auto& change) {
    KernelTrace changed = trace;
    change(changed);
    const auto read = parse_kernel_trace(kernel_trace_text(changed), "x.json");
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(refusal([](KernelTrace&) {}), "accepted");
  EXPECT_EQ(refusal([](KernelTrace& t) { t.run.asked.inputs.seed = ~std::uint64_t{0}; }),
            "accepted");
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[0].sm = -1; }),
              HasSubstr("x.json: blocks[0]: -1 is not a whole number"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[1].batch = 1; }), HasSubstr("from 0 to 0"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[1].head = 4; }), HasSubstr("from 0 to 3"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[1].end_ps = 0; }), HasSubstr("ends before"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[0].end_ps = Index{1} << 62; }),
              HasSubstr("blocks[0]: 4611686018427387904"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[0].steps[1].end_ps = -1; }),
              HasSubstr("blocks[0]: -100001"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.blocks[0].steps[0].i = -1; }), HasSubstr("blocks[0]"));
  EXPECT_THAT(refusal([](KernelTrace& t) { t.rows[0].row = 16; }),
              HasSubstr("rows[0]: 16 is not a whole number from 0 to 15"));
}

TEST(KernelTrace, AFileOfOtherListsIsRefusedInOneLine) {
  const std::string text = kernel_trace_text(described());
  const std::size_t blocks = text.find("\"blocks\"");
  for (const char* lists : {R"("blocks": [null], "rows": []})", R"("blocks": [[0]], "rows": []})",
                            R"("blocks": [[null, 0, 0, 0, 0, 0, []]], "rows": []})",
                            R"("blocks": [[0, 0, 0, 0, 0, 0, null]], "rows": []})",
                            R"("blocks": [], "rows": [[0, 0, 0, {}, 1, true]]})",
                            R"("blocks": [], "rows": [[0, 0, 0, [true], [1], [1]]]})",
                            R"("blocks": [], "rows": [[0, 0, 0, [1], [1], [1], [7]]]})"}) {
    const auto read = parse_kernel_trace(text.substr(0, blocks) + lists, "x.json");
    ASSERT_FALSE(read.ok()) << lists;
    EXPECT_THAT(read.error().message, ::testing::StartsWith("x.json: ")) << lists;
    EXPECT_EQ(read.error().message.find("exception"), std::string::npos) << read.error().message;
  }
}

TEST(KernelTrace, BlocksOfAnSmTakeTheLowestFreeSlot) {
  KernelTrace trace = described();
  trace.blocks = {{.sm = 0, .begin_ps = 0, .end_ps = 10},
                  {.sm = 0, .begin_ps = 1, .end_ps = 5},
                  {.sm = 0, .begin_ps = 6, .end_ps = 9},
                  {.sm = 1, .begin_ps = 2, .end_ps = 9}};
  EXPECT_EQ(block_slots(trace), (std::vector<Index>{0, 1, 1, 0}));
}

}  // namespace
}  // namespace attnscope
