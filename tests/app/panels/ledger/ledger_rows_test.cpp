#include "app/panels/ledger/ledger_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/app/panels/sample_snapshot.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

/// A measured run of the sample problem, with these counters of requested bytes.
MeasuredRun seen_run(const SampleRequest& request, double read, double written) {
  MeasuredRun run;
  run.row.run = {.asked = request, .problem = request.problem, .tiling = *request.tiling()};
  Measurement measurement;
  measurement.counters[std::string(counter::kRequestedReadBytes)] = read;
  measurement.counters[std::string(counter::kRequestedWriteBytes)] = written;
  measurement.unavailable_counters["*"] = "no permission to read counters";
  run.row.measurement = measurement;
  run.provenance = {NumberKind::recorded, h200_device(), "2026-01-31T00:00:00Z", "abc"};
  return run;
}

Ledger ledger_of(const Snapshot& snapshot, LedgerScope scope, const Measurements& measurements) {
  return make_ledger(snapshot, scope,
                     make_ledger_basis(*snapshot.run, find_seen_run(*snapshot.run, measurements)));
}

const LedgerRow& row_named(const std::vector<LedgerRow>& rows, std::string_view label) {
  const auto found = std::ranges::find(rows, label, &LedgerRow::label);
  EXPECT_NE(found, rows.end()) << label;
  return *found;
}

TEST(Ledger, CountsUpToTheWholePassAndItsClosedForm) {
  const auto run = test::sample_run({});
  const Ledger start = ledger_of(test::sample_snapshot(*run, 0.0), LedgerScope::so_far, {});
  const Ledger end = ledger_of(test::sample_snapshot(*run, 1.0), LedgerScope::so_far, {});
  for (const LedgerRow& row : start.tensors) EXPECT_EQ(row.modelled, 0.0) << row.label;
  for (const LedgerRow& row : end.tensors) {
    EXPECT_EQ(row.modelled, row.whole) << row.label;
    EXPECT_EQ(row.formula, row.whole) << row.label;
  }
  EXPECT_EQ(row_named(end.tensors, "K read").modelled, 8192.0);
  EXPECT_EQ(row_named(end.totals, "requested read").modelled, 2048.0 + 2 * 8192.0);
}

TEST(Ledger, WithoutARecordingSaysUnavailableAndNeverZero) {
  const auto run = test::sample_run({});
  const Ledger ledger = ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, {});
  for (const LedgerRow& row : ledger.totals) {
    EXPECT_FALSE(row.seen.value) << row.label;
    EXPECT_TRUE(row.seen.about.starts_with("unavailable: ")) << row.seen.about;
  }
}

TEST(Ledger, LeavesOutThePartsThatALessonHides) {
  const auto run = test::sample_run({});
  const Ledger all = ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, {});
  const auto labels = [&](const std::set<PanelPart>& hidden) {
    std::set<std::string> found;
    for (const LedgerRow& row : without(all, hidden).totals) found.insert(row.label);
    return found;
  };
  const std::set<std::string> requested = {"requested read", "requested written"};
  EXPECT_EQ(labels({}).size(), all.totals.size());
  EXPECT_EQ(labels({PanelPart::dram, PanelPart::time, PanelPart::notes}), requested);
  EXPECT_TRUE(labels({PanelPart::time}).contains("DRAM read"));
  EXPECT_FALSE(labels({PanelPart::dram}).contains("L2 missed"));
  EXPECT_FALSE(labels({PanelPart::l2}).contains("L2 missed"));
  EXPECT_TRUE(labels({PanelPart::l2}).contains("DRAM read"));
  EXPECT_FALSE(labels({PanelPart::written}).contains("requested written"));
  EXPECT_TRUE(labels({PanelPart::written}).contains("requested read"));
  EXPECT_FALSE(labels({PanelPart::notes}).contains("peak memory"));
  EXPECT_FALSE(all.notes.front().empty());
  EXPECT_TRUE(without(all, {PanelPart::notes}).notes.front().empty());
}

TEST(Ledger, SetsTheRecordedRunBesideTheModelWithItsGap) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0 * 1.01, 2304.0));
  const Ledger ledger =
      ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, measurements);
  EXPECT_EQ(ledger.seen_heading, "recorded H200");
  EXPECT_EQ(ledger.seen_about.find("SM clock"), std::string::npos) << ledger.seen_about;
  const LedgerRow& read = row_named(ledger.totals, "requested read");
  ASSERT_TRUE(read.gap_percent);
  EXPECT_NEAR(*read.gap_percent, 1.0, 1e-9);
  EXPECT_FALSE(read.gap_reason.empty());
  EXPECT_NE(read.seen.about.find("NVIDIA H200"), std::string::npos);
  const LedgerRow& dram = row_named(ledger.totals, "DRAM read");
  EXPECT_FALSE(dram.seen.value);
  const LedgerRow& missed = row_named(ledger.totals, "L2 missed");
  EXPECT_GE(missed.modelled.value(), dram.modelled.value());  // some are in the other partition
  EXPECT_FALSE(missed.seen.value);
  EXPECT_NE(missed.formula_text.find("partition"), std::string::npos);
  EXPECT_NE(dram.seen.about.find("no permission"), std::string::npos) << dram.seen.about;
}

TEST(Ledger, NamesTheSmClockOfTheRecordedTime) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0, 2304.0));
  measurements.recorded[0].row.measurement->time = {1e-5, 2e-5, 3e-5, 20, 1.71e9};
  const Ledger ledger =
      ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, measurements);
  EXPECT_NE(ledger.seen_about.find("SM clock 1.71 GHz"), std::string::npos) << ledger.seen_about;
}

TEST(Ledger, OfAVariantHasNoRecordingOfThePlainAlgorithmBesideIt) {
  SampleRequest plain;
  plain.algorithm = "standard";
  SampleRequest variant = plain;
  variant.variant.fusion = Fusion::separate;
  Measurements measurements;
  measurements.recorded.push_back(seen_run(plain, 18432.0, 2304.0));
  const auto with_kernel = test::sample_run(plain);
  EXPECT_TRUE(find_seen_run(*with_kernel->info(), measurements));
  EXPECT_EQ(seen_runs(*with_kernel->info(), measurements).no_kernel, "");

  const auto run = test::sample_run(variant);
  EXPECT_FALSE(find_seen_run(*run->info(), measurements));
  const Ledger ledger =
      ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, measurements);
  EXPECT_EQ(ledger.seen_about, "unavailable: no kernel runs standard with fusion separate");
  for (const LedgerRow& row : ledger.totals) {
    EXPECT_FALSE(row.seen.value) << row.label;
    EXPECT_EQ(row.seen.about, ledger.seen_about);
  }
}

TEST(Ledger, SaysWhatHasNoKernel) {
  SampleRequest request;
  request.pass = PassKind::both;
  const auto why = [](const RunInfo& run) { return why_no_kernel(run.totals, run.gpu); };
  EXPECT_NE(why(*test::sample_run(request)->info()).find("one pass at a time"), std::string::npos);
  request.algorithm = "flash1";
  request.pass = PassKind::backward;
  EXPECT_EQ(why(*test::sample_run(request)->info()), "");
  request.variant.d_once = true;
  EXPECT_EQ(why(*test::sample_run(request)->info()), "no kernel runs flash1 with D once");

  // The number of splits that the kernel's rule gives, then one more
  request = {"split_kv"};
  const auto split = test::sample_run(request);
  RunInfo info = *split->info();
  EXPECT_EQ(why(info), "");
  ++info.totals.run.splits;
  EXPECT_NE(why(info).find("by its own rule"), std::string::npos);
}

TEST(Ledger, ComparesAKernelOfOtherTilesWithTheModelAtThoseTiles) {
  SampleRequest request;
  const auto run = test::sample_run(request);
  request.set_tiling({64, 64});
  const double at_64 = 2048.0 + 2 * 2048.0;  // Q, K and V once each
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, at_64 * 1.01, 2304.0));
  const Ledger ledger =
      ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::so_far, measurements);

  // The run that the screen steps through is shown alone
  const LedgerRow& own = row_named(ledger.totals, "requested read");
  EXPECT_EQ(own.whole, 18432.0);
  EXPECT_FALSE(own.seen.value);
  EXPECT_FALSE(own.gap_percent);

  // The recorded bytes are beside the model of the same tiles, and both tilings are named
  EXPECT_EQ(ledger.apart_titles.front(), "kernel's tile 64 × 64; above 16 × 16");
  EXPECT_EQ(ledger.apart_titles.back(), "kernel's tile 64 × 64");
  EXPECT_FALSE(ledger.stands_alone);
  const LedgerRow& read = row_named(ledger.apart, "requested read");
  EXPECT_EQ(read.modelled, at_64);
  EXPECT_NEAR(read.gap_percent.value_or(99.0), 1.0, 1e-9);
}

/// Expects no number beside the model: recorded ones are separate, without model and gap.
void expect_alone(const Ledger& ledger) {
  EXPECT_TRUE(ledger.stands_alone);
  EXPECT_FALSE(ledger.apart.empty());
  for (const LedgerRow& row : ledger.totals) {
    EXPECT_FALSE(row.seen.value) << row.label;
    EXPECT_FALSE(row.gap_percent) << row.label;
  }
  for (const LedgerRow& row : ledger.apart) {
    EXPECT_FALSE(row.modelled) << row.label;
    EXPECT_FALSE(row.gap_percent) << row.label;
    EXPECT_EQ(row.gap_reason, "") << row.label;
  }
  for (const std::string& title : ledger.apart_titles) {
    EXPECT_NE(title.find("H200"), std::string::npos) << title;
  }
  EXPECT_EQ(ledger.seen_gpu, "H200");
}

TEST(Ledger, ARecordingOfAnotherGpuCapacityOrCacheStateIsShownAlone) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0, 2304.0));
  const auto with_gpu = [&](const GpuDescription& gpu) {
    Snapshot snapshot = test::sample_snapshot(*run, 0.5);
    auto info = std::make_shared<RunInfo>(*snapshot.run);
    info->gpu = gpu;
    snapshot.run = info;
    return ledger_of(snapshot, LedgerScope::whole_pass, measurements);
  };
  const GpuDescription h200 = load_gpu("h200").value();
  EXPECT_FALSE(with_gpu(h200).stands_alone);

  const Ledger of_t4 = with_gpu(load_gpu("t4").value());
  expect_alone(of_t4);
  for (const LedgerRow& row : of_t4.apart) {
    EXPECT_EQ(row.gives_way, row.seen.value ? 0U : 1U) << row.label << ": an empty row goes first";
  }
  EXPECT_NE(of_t4.apart_titles.front().find("recorded on NVIDIA H200, modelled for"),
            std::string::npos);
  EXPECT_EQ(row_named(of_t4.apart, "requested read").seen.value, 18432.0);
  EXPECT_NE(ledger_csv(of_t4).find("requested read recorded on NVIDIA H200,bytes,,,,18432"),
            std::string::npos);

  expect_alone(with_gpu(with_what_if(h200, {.l2_bytes = 1'000'000}, "given")));
  expect_alone(with_gpu(with_what_if(h200, {.sram_bytes = 65'536}, "given")));
  measurements.recorded[0].provenance.on.cache = CacheState::warm;
  expect_alone(with_gpu(h200));
}

TEST(Ledger, OfATinyRunNamesLaunchLatencyAndBytesInsteadOfARatio) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0, 2304.0));
  Measurement& measured = *measurements.recorded[0].row.measurement;
  measured.time.median_s = 6e-6;
  measured.counters[std::string(counter::kDramReadBytes)] = 25600.0;
  measured.counters[std::string(counter::kDramWriteBytes)] = 0.0;
  const Ledger ledger =
      ledger_of(test::sample_snapshot(*run, 0.5), LedgerScope::whole_pass, measurements);
  const LedgerRow& time = row_named(ledger.totals, "time, lower bound");
  EXPECT_FALSE(time.gap_percent);
  EXPECT_EQ(time.in_place_of_gap, "launch latency");
  EXPECT_EQ(time.gap_reason, "launch latency; 4 of 132 SMs");
  EXPECT_EQ(row_named(ledger.totals, "DRAM read").in_place_of_gap, "kernel code, constants");
  EXPECT_EQ(row_named(ledger.totals, "DRAM written").in_place_of_gap, "agrees");
  EXPECT_EQ(row_named(ledger.totals, "DRAM written").gap_reason,
            "the output stays in L2, as predicted");
}

TEST(Ledger, SetsThePredictedTimeBesideTheRecordedOneAndItsLowerBound) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0, 2304.0));
  measurements.recorded[0].row.measurement->time.median_s = 1e-3;
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  const Ledger ledger = ledger_of(snapshot, LedgerScope::whole_pass, measurements);
  ASSERT_TRUE(ledger.time.prediction);
  const double predicted_s = ledger.time.prediction->seconds;
  const LedgerRow& time = row_named(ledger.totals, "time, predicted");
  EXPECT_EQ(time.unit, "s");
  EXPECT_EQ(time.modelled, predicted_s);
  EXPECT_EQ(time.seen.value, 1e-3);
  EXPECT_NEAR(time.gap_percent.value_or(0.0), 100.0 * (1e-3 / predicted_s - 1.0), 1e-6);
  EXPECT_EQ(time.formula_text, ledger.time.about);
  const LedgerRow& bound = row_named(ledger.totals, "time, lower bound");
  EXPECT_EQ(bound.modelled, run->info()->totals.bound_s);
  EXPECT_EQ(bound.seen.value, 1e-3);
  EXPECT_LT(*bound.modelled, predicted_s);
  EXPECT_NE(in_words(time, false).find(ledger.time.about), std::string::npos);
}

TEST(Ledger, SaysWhatAPredictedTimeRestsOn) {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 256;
  request.problem.d = 64;
  request.problem.dtype = DType::bf16;
  request.set_tiling({128, 128});
  const auto run = test::sample_run(request);
  const auto on = [&](const GpuDescription& gpu) {
    Snapshot snapshot = test::sample_snapshot(*run, 0.5);
    auto info = std::make_shared<RunInfo>(*snapshot.run);
    info->gpu = gpu;
    snapshot.run = info;
    return ledger_of(snapshot, LedgerScope::whole_pass, {});
  };
  const GpuDescription h200 = load_gpu("h200").value();
  EXPECT_EQ(on(h200).time.basis, TimeBasis::calibrated);
  EXPECT_EQ(on(with_what_if(h200, {.l2_bytes = 1'000'000}, "given")).time.basis,
            TimeBasis::what_if);
  GpuDescription altered = h200;
  altered.is_altered = true;
  EXPECT_EQ(on(altered).time.basis, TimeBasis::what_if);

  const Ledger bounds_only = on(load_gpu("a100-80gb").value());
  EXPECT_FALSE(bounds_only.time.prediction);
  const LedgerRow& time = row_named(bounds_only.totals, "time, predicted");
  EXPECT_FALSE(time.modelled);
  EXPECT_EQ(time.in_place_of_modelled, "bounds only");
  EXPECT_NE(in_words(time, false).find("no prediction: the GPU is not calibrated"),
            std::string::npos);
  EXPECT_TRUE(row_named(bounds_only.totals, "time, lower bound").modelled);
}

TEST(Ledger, OfSeveralHeadsComparesTheWholePassOnly) {
  SampleRequest request;
  request.problem.heads = request.problem.kv_heads = 3;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 3 * 18432.0, 3 * 2304.0));
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  const Ledger head = ledger_of(snapshot, LedgerScope::so_far, measurements);
  EXPECT_FALSE(head.all_heads);
  EXPECT_FALSE(row_named(head.totals, "requested read").seen.value);
  const Ledger all = ledger_of(snapshot, LedgerScope::whole_pass, measurements);
  EXPECT_TRUE(all.all_heads);
  const LedgerRow& read = row_named(all.totals, "requested read");
  EXPECT_EQ(read.whole, 3 * 18432.0);
  EXPECT_NEAR(read.gap_percent.value_or(99.0), 0.0, 1e-9);
}

TEST(Ledger, OfGroupedHeadsClosesToTheFormulasInTheBackwardPass) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.pass = PassKind::backward;
    request.problem.batch = 2;
    request.problem.heads = 6;
    request.problem.kv_heads = 2;
    const auto run = test::sample_run(request);
    const Ledger ledger = ledger_of(test::sample_snapshot(*run, 1.0), LedgerScope::whole_pass, {});
    double total = 0.0;
    for (const LedgerRow& row : ledger.tensors) {
      EXPECT_EQ(row.formula, row.whole) << algorithm << " " << row.label;
      total += row.whole;
    }
    EXPECT_EQ(total, static_cast<double>(run->info()->totals.requested.total())) << algorithm;
  }
}

TEST(Ledger, HasNoGapBetweenACountSoFarAndAWholePass) {
  const SampleRequest request;
  const auto run = test::sample_run(request);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, 18432.0 * 1.01, 2304.0));
  const auto read_at = [&](double share) {
    const Ledger ledger =
        ledger_of(test::sample_snapshot(*run, share), LedgerScope::so_far, measurements);
    return row_named(ledger.totals, "requested read");
  };
  EXPECT_FALSE(read_at(0.5).gap_percent);
  EXPECT_EQ(read_at(0.5).in_place_of_gap, "at the end");
  EXPECT_NEAR(read_at(1.0).gap_percent.value_or(99.0), 1.0, 1e-9);
}

TEST(Ledger, NamesTheCauseOfAGap) {
  SampleRequest request;
  request.algorithm = "block_sparse2";
  request.block_mask = BlockPattern{};
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  const auto whole = static_cast<double>(run->info()->totals.requested.read_bytes);
  Measurements measurements;
  measurements.recorded.push_back(seen_run(request, whole * 1.02, 2304.0));
  measurements.recorded[0].row.run.problem = run->info()->problem();
  const LedgerRow read = row_named(
      ledger_of(snapshot, LedgerScope::whole_pass, measurements).totals, "requested read");
  EXPECT_EQ(read.gap_cause, "tile lists");
  EXPECT_NE(read.gap_reason.find("lists of the tiles to visit"), std::string::npos);
}

TEST(Ledger, CsvHasAsManyFieldsInEveryLine) {
  Ledger ledger;
  ledger.seen_heading = "recorded";
  ledger.totals.push_back({.label = "l, m read", .modelled = 8.0, .whole = 16.0});
  EXPECT_EQ(ledger_csv(ledger),
            "quantity,unit,modelled,whole_pass,formula,recorded\n\"l, m read\",bytes,8,16,,\n");
}

TEST(Ledger, ShortensTheNamesOfGpus) {
  EXPECT_EQ(short_gpu_name("NVIDIA H200"), "H200");
  EXPECT_EQ(short_gpu_name("NVIDIA A100-SXM4-40GB"), "A100-SXM4-40GB");
}

}  // namespace
}  // namespace attnscope::app
