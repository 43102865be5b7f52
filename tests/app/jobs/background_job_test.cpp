#include "app/jobs/background_job.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using Job = BackgroundJob<int, std::string>;

/// Collects until no job is running.
void finish(Job& job) {
  ASSERT_TRUE(test::wait_until([&] {
    job.collect();
    return !job.busy();
  }));
}

/// Work that waits until it is allowed to end, or is cancelled.
Job::Work held(std::string value, const std::atomic<bool>& go) {
  return [value = std::move(value), &go](WorkControl& control) -> Result<std::string> {
    while (!go && !control.cancelled()) std::this_thread::yield();
    return value;
  };
}

TEST(BackgroundJob, KeepsTheLastResultUntilTheNextIsThere) {
  std::atomic<bool> go{true};
  Job job;
  ASSERT_TRUE(job.wants(1));
  EXPECT_EQ(job.latest(), nullptr);
  job.start(1, held("one", go));
  finish(job);
  EXPECT_EQ(*job.latest(), "one");

  go = false;
  ASSERT_TRUE(job.wants(2));
  job.start(2, held("two", go));
  EXPECT_FALSE(job.wants(2));
  EXPECT_EQ(*job.latest(), "one");
  EXPECT_EQ(*job.latest_key(), 1);
  go = true;
  finish(job);
  EXPECT_EQ(*job.latest(), "two");
  EXPECT_EQ(*job.latest_key(), 2);
}

TEST(BackgroundJob, IsBusyUntilItsResultIsCollected) {
  std::promise<void> computed;
  Job job;
  ASSERT_TRUE(job.wants(1));
  job.start(1, [&](WorkControl&) -> Result<std::string> {
    computed.set_value();
    return std::string("one");
  });
  computed.get_future().wait();
  for (int look = 0; look < 50; ++look) {  // the thread may not have ended yet
    EXPECT_EQ(job.latest(), nullptr);
    EXPECT_TRUE(job.busy());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  finish(job);
  ASSERT_TRUE(job.latest());
  EXPECT_EQ(*job.latest(), "one");
}

TEST(BackgroundJob, AnotherKeyStopsTheWorkAndComingBackStartsItAnew) {
  const std::atomic<bool> never{false};
  const std::atomic<bool> always{true};
  Job job;
  ASSERT_TRUE(job.wants(1));
  job.start(1, held("stopped", never));
  job.wants(2);
  while (!job.wants(1)) std::this_thread::yield();
  EXPECT_EQ(job.latest(), nullptr);
  job.start(1, held("one", always));
  finish(job);
  EXPECT_EQ(*job.latest(), "one");
}

TEST(BackgroundJob, OnceGivenUpIsNotRetriedUnlessAsked) {
  const std::atomic<bool> never{false};
  const std::atomic<bool> always{true};
  Job job;
  ASSERT_TRUE(job.wants(1));
  job.start(1, held("stopped", never));
  job.give_up();
  finish(job);
  EXPECT_TRUE(job.given_up());
  EXPECT_FALSE(job.wants(1));
  EXPECT_EQ(job.latest(), nullptr);
  job.again();
  ASSERT_TRUE(job.wants(1));
  job.start(1, held("one", always));
  finish(job);
  EXPECT_EQ(*job.latest(), "one");
}

TEST(BackgroundJob, AnExceptionIsAnErrorAndTheLastResultStays) {
  const std::atomic<bool> always{true};
  Job job;
  job.start(1, held("one", always));
  finish(job);
  ASSERT_TRUE(job.wants(2));
  job.start(2, [](WorkControl&) -> Result<std::string> { throw std::runtime_error("no luck"); });
  finish(job);
  ASSERT_TRUE(job.error());
  EXPECT_EQ(job.error()->message, "no luck");
  EXPECT_EQ(*job.latest(), "one");
  EXPECT_FALSE(job.wants(2));
}

TEST(BackgroundJob, StopsItsWorkWhenItGoesAway) {
  const std::atomic<bool> never{false};
  Job job;
  job.start(1, held("stopped", never));
}

}  // namespace
}  // namespace attnscope::app
