/// The thread of the app's files: jobs run in order, and the thread that draws never waits for one.
#include "app/jobs/background_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace attnscope::app {
namespace {

using testing::ElementsAre;

TEST(FileThread, NoCallWaitsForAJobThatHangs) {
  std::promise<void> disk;
  bool finished = false;
  FileThread files({});
  files.post([&disk, &finished] {
    disk.get_future().wait();
    return [&finished] { finished = true; };
  });
  files.post([] { return FileThread::Finish(); });
  files.run_completed();
  EXPECT_TRUE(files.busy());
  EXPECT_FALSE(finished);

  disk.set_value();
  while (files.busy()) files.run_completed();
  EXPECT_TRUE(finished);
}

TEST(FileThread, JobsRunInOrderAndLeaveTheirWorkToTheThreadThatDraws) {
  std::vector<int> on_file_thread, on_this_thread;
  std::atomic<int> news = 0;
  const auto here = std::this_thread::get_id();
  FileThread files([&news] { ++news; });
  for (int job = 0; job < 3; ++job) {
    files.post([&, job] {
      EXPECT_NE(std::this_thread::get_id(), here);
      on_file_thread.push_back(job);
      return [&, job] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        on_this_thread.push_back(job);
      };
    });
  }
  while (files.busy()) files.run_completed();
  EXPECT_THAT(on_file_thread, ElementsAre(0, 1, 2));
  EXPECT_THAT(on_this_thread, ElementsAre(0, 1, 2));
  while (news < 3) std::this_thread::yield();
}

TEST(FileThread, EveryJobRunsBeforeTheThreadEnds) {
  int written = 0;
  {
    FileThread files({});
    for (int job = 0; job < 100; ++job) {
      files.post([&written] {
        ++written;
        return FileThread::Finish();
      });
    }
  }
  EXPECT_EQ(written, 100);
}

}  // namespace
}  // namespace attnscope::app
