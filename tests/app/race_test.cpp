#include "app/race.h"

#include <gtest/gtest.h>

#include "sim/snapshot/stepped_run.h"

namespace attnscope::app {
namespace {

std::shared_ptr<const RunInfo> run_of(std::string_view algorithm) {
  SteppedRequest request;
  request.simulation.problem = {.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = {}};
  request.simulation.algorithm = algorithm;
  request.simulation.tiling = Tiling{16, 16};
  request.simulation.gpu = load_gpu("h200").value();
  return SteppedRun::create(request).value()->info();
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
