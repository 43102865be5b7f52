#include "app/play/playhead.h"

#include <gtest/gtest.h>

#include "app/jobs/run_comparison.h"
#include "app/jobs/step_simulator.h"
#include "app/scene/choice_rules.h"
#include "app/scene/scene.h"
#include "app/screen/screen.h"
#include "reference/field_rules.h"
#include "sim/resolve.h"
#include "sim/snapshot/stepped_run.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope::app {
namespace {

std::shared_ptr<const RunInfo> run_of(std::string_view algorithm) {
  RunSpec spec;
  spec.problem = {.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = {}};
  spec.algorithm = algorithm;
  spec.set_tiling({16, 16});
  const GpuDescription gpu = load_gpu("h200").value();
  return SteppedRun::create({.run = resolve(spec, gpu).value(), .gpu = gpu}).value()->info();
}

TEST(Race, BothBeginBeforeTheirFirstOperationAndEndAfterTheirLast) {
  const auto flash2 = run_of("flash2");
  const auto standard = run_of("standard");
  for (const RaceClock clock : {RaceClock::requested_bytes, RaceClock::tiles}) {
    const RaceCourse course(flash2, standard, clock);
    EXPECT_EQ(course.reading(0), 0);
    EXPECT_EQ(course.step_of(RaceCourse::chosen, 0), -1);
    EXPECT_EQ(course.step_of(RaceCourse::rival, 0), -1);
    EXPECT_EQ(course.step_of(RaceCourse::chosen, course.last_tick()), flash2->step_count - 1);
    EXPECT_EQ(course.step_of(RaceCourse::rival, course.last_tick()), standard->step_count - 1);
  }
}

TEST(Race, EveryPairOfAlgorithmsRacesThroughEveryPassThatBothHave) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.problem.heads = 2;
  WorkControl control;
  const auto gpus = std::make_shared<GpuCatalog>();
  const auto run = [&](const RunSpec& chosen, bool is_rival) -> std::shared_ptr<const RunInfo> {
    StepSimulator simulator(gpus);
    const auto snapshot = simulator({chosen, 1, 0, 0, 0, /*in_race=*/true, is_rival}, control);
    EXPECT_TRUE(snapshot.ok()) << chosen.algorithm << ": " << snapshot.error().message;
    return snapshot ? snapshot.value()->run : nullptr;
  };
  int races = 0;
  for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
    for (const Algorithm& first : algorithms()) {
      for (const Algorithm& second : algorithms()) {
        if (pass != PassKind::forward && !(first.has_backward && second.has_backward)) continue;
        RunSpec chosen = choice;
        chosen.algorithm = first.name;
        chosen.pass = pass;
        chosen = with_consequences(choice, chosen);
        const auto one = run(chosen, false);
        const auto other = run(rival_of(chosen, std::string(second.name)), true);
        ASSERT_TRUE(one && other) << first.name << " and " << second.name;
        for (const RaceClock clock : {RaceClock::requested_bytes, RaceClock::tiles}) {
          const RaceCourse course(one, other, clock);
          EXPECT_EQ(course.step_of(RaceCourse::chosen, course.last_tick()), one->step_count - 1);
          EXPECT_EQ(course.step_of(RaceCourse::rival, course.last_tick()), other->step_count - 1);
        }
        ++races;
      }
    }
  }
  EXPECT_GE(races, 36 + 2 * 25);
}

TEST(Race, ARivalWhoseTilesDoNotFitRunsInTheLargestThatDo) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.problem.N = choice.problem.N_kv = 512;
  choice.problem.d = 128;
  choice.set_tiling({256, 128});
  choice.pass = PassKind::backward;
  choice.algorithm = "standard";
  const auto gpus = std::make_shared<GpuCatalog>();
  ASSERT_FALSE(check_choice(choice, *gpus));
  Request request{rival_of(choice, "flash2")};
  ASSERT_TRUE(check_choice(request.choice, *gpus));
  WorkControl control;
  StepSimulator simulator(gpus);
  EXPECT_FALSE(simulator(request, control));
  request.is_rival = true;
  const auto snapshot = simulator(request, control);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_LT(snapshot.value()->run->tiling().Br, 256);
}

TEST(Race, OnTheClockOfBytesNeitherIsAheadOfWhatBothHaveSpent) {
  const auto flash2 = run_of("flash2");
  const auto standard = run_of("standard");
  const RaceCourse course(flash2, standard, RaceClock::requested_bytes);
  EXPECT_EQ(course.finish(RaceCourse::chosen), sum(flash2->head_bytes).total());
  EXPECT_EQ(course.finish(RaceCourse::rival), sum(standard->head_bytes).total());
  EXPECT_LT(course.finish(RaceCourse::chosen), course.finish(RaceCourse::rival));
  for (Index tick = 1; tick <= course.last_tick(); ++tick) {
    EXPECT_GT(course.reading(tick), course.reading(tick - 1));
    for (const RaceCourse::Racer racer : {RaceCourse::chosen, RaceCourse::rival}) {
      EXPECT_GE(course.step_of(racer, tick), course.step_of(racer, tick - 1));
      const RunInfo& run = racer == RaceCourse::chosen ? *flash2 : *standard;
      const Index done = course.tiles_done(racer, tick);
      if (done < course.tiles(racer)) {
        EXPECT_LE(run.tile_bytes[static_cast<std::size_t>(done)], course.reading(tick));
      }
    }
  }
}

TEST(Race, AVisitOfATileIsOfOneLaunch) {
  const auto standard = run_of("standard");
  const RaceCourse course(run_of("flash2"), standard, RaceClock::tiles);
  EXPECT_EQ(course.tiles(RaceCourse::chosen), 16);
  EXPECT_EQ(course.tiles(RaceCourse::rival), 16 * static_cast<Index>(standard->launches.size()));
}

TEST(Race, OnTheClockOfTilesBothDoOneATick) {
  const RaceCourse course(run_of("flash2"), run_of("flash1"), RaceClock::tiles);
  EXPECT_EQ(course.last_tick(), 16);
  for (Index tick = 0; tick <= 16; ++tick) {
    EXPECT_EQ(course.tiles_done(RaceCourse::chosen, tick), tick);
    EXPECT_EQ(course.tiles_done(RaceCourse::rival, tick), tick);
    const Index step = course.step_of(RaceCourse::chosen, tick);
    EXPECT_EQ(course.tick_of(RaceCourse::chosen, step), tick);
  }
}

TEST(Race, TheRivalOfABrokenRunIsNotBroken) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.variant.broken = parse_run_break("alpha=1").value();
  const RunSpec rival = rival_of(choice, choice.algorithm);
  EXPECT_FALSE(rival.variant.broken.any());
  const RunSpec right = rival;
  RunSpec whole = choice;
  whole.variant.broken = {};
  EXPECT_EQ(rival, whole) << "nothing else differs";
  EXPECT_EQ(rival_after(whole, choice, right), right)
      << "a break of one run does not break the other";
}

TEST(Race, AFieldThatBothHaveInCommonChangesInBoth) {
  const RunSpec before = load_scene("default").value().view.choice;
  RunSpec rival = rival_of(before, "flash1");
  rival.set_tiling({32, 32});
  const RunSpec choice = change_field(before, "seq_len", "128").value();
  const RunSpec longer = rival_after(before, choice, rival);
  EXPECT_EQ(longer.problem.N, 128);
  EXPECT_EQ(longer.problem.N_kv, 128);
  EXPECT_EQ(longer.algorithm, "flash1");
  EXPECT_EQ(longer.tiling(), (Tiling{32, 32}));
  const RunSpec other_tiles = change_field(choice, "Br", "8").value();
  EXPECT_EQ(rival_after(choice, other_tiles, longer).tiling(), (Tiling{32, 32}));
}

TEST(Race, TheVerdictDividesTheBytesOfTheShownHead) {
  const auto flash2 = run_of("flash2");
  const auto standard = run_of("standard");
  EXPECT_EQ(sum(standard->head_bytes).total(), 59392);
  EXPECT_EQ(sum(flash2->head_bytes).total(), 20736);
  EXPECT_EQ(race_verdict(*flash2, *standard), "rival requests more: 59,392 / 20,736 bytes = 2.9x");
  EXPECT_EQ(race_verdict(*standard, *flash2), "rival requests less: 59,392 / 20,736 bytes = 2.9x");
  EXPECT_EQ(race_verdict(*flash2, *flash2), "both request 20,736 bytes");
}

TEST(RunComparison, NamesTheFieldsThatDifferAndDividesTheCosts) {
  const RunSpec a = load_scene("default").value().view.choice;
  EXPECT_TRUE(differing_fields(a, a).empty());
  RunSpec b = change_field(a, "algorithm", "standard").value();
  b = change_field(b, "seq_len", "128").value();
  const auto fields = differing_fields(a, b);
  ASSERT_EQ(fields.size(), 3U);  // N_kv follows N
  EXPECT_EQ(fields[0].b, "standard");
  EXPECT_EQ(fields[1].b, "128");

  GpuCatalog gpus;
  WorkControl control;
  const auto comparison =
      compare_runs(a, change_field(a, "algorithm", "standard").value(), gpus, control);
  ASSERT_TRUE(comparison) << comparison.error().message;
  const auto& costs = comparison.value().costs;
  ASSERT_FALSE(costs.empty());
  EXPECT_EQ(costs[0].label, "requested bytes");
  EXPECT_EQ(costs[0].a, 20736);
  EXPECT_EQ(costs[0].b, 59392);
  EXPECT_EQ(ratio_text(*costs[0].ratio()), "2.9x");
  const bool has_time = std::ranges::any_of(
      costs, [](const CostRatio& cost) { return cost.label == "time, predicted" && cost.b > 0.0; });
  EXPECT_TRUE(has_time);
}

TEST(RunComparison, ShowsWhatWasRecordedOfEitherRun) {
  RunSpec a;
  a.algorithm = "flash2";
  a.gpu = "h200";
  a.problem = {.batch = 1, .heads = 2, .kv_heads = 2, .N = 256, .N_kv = 256, .d = 64};
  a.set_tiling({64, 64});
  RunSpec b = a;
  b.set_tiling({128, 64});
  GpuCatalog gpus;
  WorkControl control;
  const auto comparison = compare_runs(a, b, gpus, control);
  ASSERT_TRUE(comparison) << comparison.error().message;
  Measurements measurements;
  EXPECT_TRUE(seen_costs(comparison.value(), measurements).costs.empty());
  EXPECT_EQ(seen_costs(comparison.value(), measurements).about, "A: not recorded\nB: not recorded");

  const auto record = [&](const ModelledRun& of, double time_s) {
    MeasuredRun run;
    run.row.run = of.report.run;
    run.row.measurement = Measurement{};
    run.row.measurement->time.median_s = time_s;
    run.provenance.on = h200_device();
    run.provenance.kind = NumberKind::recorded;
    measurements.recorded.push_back(run);
  };
  record(comparison.value().a, 2e-3);
  SeenCosts seen = seen_costs(comparison.value(), measurements);
  ASSERT_EQ(seen.costs.size(), 1U) << "no counters";
  EXPECT_EQ(seen.costs[0].label, "time, recorded");
  EXPECT_EQ(seen.costs[0].a, 2e-3);
  EXPECT_FALSE(seen.costs[0].b);
  EXPECT_FALSE(seen.costs[0].ratio());
  EXPECT_NE(seen.about.find("B: recorded with tiles of 64"), std::string::npos) << seen.about;

  record(comparison.value().b, 1e-3);
  seen = seen_costs(comparison.value(), measurements);
  EXPECT_EQ(seen.costs.at(0).ratio(), 0.5);

  // A ratio of times that are mostly launch latency says nothing about the runs
  measurements.recorded.back().row.measurement->time.median_s = 8e-6;
  seen = seen_costs(comparison.value(), measurements);
  EXPECT_FALSE(seen.costs.at(0).ratio());
  EXPECT_EQ(seen.costs.at(0).instead_of_ratio, "launch latency");
}

TEST(RunComparison, RejectsARunThatCannotBe) {
  const RunSpec a = load_scene("default").value().view.choice;
  RunSpec b = a;
  b.gpu = "none";
  GpuCatalog gpus;
  WorkControl control;
  EXPECT_FALSE(compare_runs(a, b, gpus, control));
  EXPECT_EQ(ratio_text(1.0), "1.00x");
  EXPECT_EQ(ratio_text(140.2), "140x");
}

}  // namespace
}  // namespace attnscope::app
