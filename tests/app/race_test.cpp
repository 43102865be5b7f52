#include "app/playhead.h"

#include <gtest/gtest.h>

#include "app/scene.h"
#include "app/step_simulator.h"
#include "reference/run_fields.h"
#include "sim/resolve.h"
#include "sim/snapshot/stepped_run.h"

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

}  // namespace
}  // namespace attnscope::app
