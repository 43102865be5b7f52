#include "app/jobs/worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "sim/snapshot/snapshot.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using test::wait_until;

using namespace std::chrono_literals;

std::shared_ptr<const Snapshot> snapshot_at(Index step) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->step = step;
  return snapshot;
}

Request request_for(Index N, Index step) {
  Request request;
  request.choice.problem.N = N;
  request.step = step;
  return request;
}

TEST(Worker, PublishesASnapshotForTheNewestRequest) {
  std::atomic<int> told{0};
  Worker worker([](const Request& request, WorkControl&) { return snapshot_at(request.step); },
                [&] { ++told; });
  for (Index step = 0; step < 100; ++step) worker.request(request_for(64, step));
  ASSERT_TRUE(wait_until([&] {
    const auto latest = worker.latest();
    return latest->snapshot && latest->snapshot->step == 99;
  }));
  EXPECT_EQ(worker.latest()->request.step, 99);
  EXPECT_TRUE(wait_until([&] { return told >= 1 && !worker.busy(); }));
}

TEST(Worker, AnErrorLeavesTheLastSnapshotInPlace) {
  Worker worker(
      [](const Request& request, WorkControl&) -> Result<std::shared_ptr<const Snapshot>> {
        if (request.choice.problem.N == 0) return invalid_request("N is 0");
        return snapshot_at(request.step);
      },
      {});
  worker.request(request_for(64, 5));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  worker.request(request_for(0, 5));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->refusal.has_value(); }));
  EXPECT_EQ(worker.latest()->refusal->error.message, "N is 0");
  EXPECT_EQ(worker.latest()->snapshot->step, 5);
  EXPECT_EQ(worker.latest()->refused_request.choice.problem.N, 0);
}

TEST(Worker, ARefusalComesWithTheNearestChoiceToTheLastValidOne) {
  Worker worker(
      [](const Request& request, WorkControl&) -> Result<std::shared_ptr<const Snapshot>> {
        if (request.choice.problem.N == 0) return invalid_request("N is 0");
        return snapshot_at(request.step);
      },
      {},
      [](const RunSpec&, const Error& error, const RunSpec& last_valid, const WorkControl&) {
        return Refusal{error, "seq_len", last_valid, "the last one"};
      });
  worker.request(request_for(64, 5));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  worker.request(request_for(0, 5));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->refusal.has_value(); }));
  EXPECT_EQ(worker.latest()->refusal->error.message, "N is 0");
  EXPECT_EQ(worker.latest()->refusal->nearest->problem.N, 64);
  EXPECT_EQ(worker.latest()->refusal->nearest_label, "the last one");
}

TEST(Worker, ANewerRequestEndsTheSearchForTheNearestChoice) {
  std::atomic<bool> searching{false};
  Worker worker(
      [](const Request& request, WorkControl&) -> Result<std::shared_ptr<const Snapshot>> {
        if (request.choice.problem.N == 0) return invalid_request("N is 0");
        return snapshot_at(request.step);
      },
      {},
      [&](const RunSpec&, const Error& error, const RunSpec&, const WorkControl& control) {
        searching = true;
        while (!control.cancelled()) std::this_thread::sleep_for(1ms);
        return Refusal{error};
      });
  worker.request(request_for(0, 0));
  ASSERT_TRUE(wait_until([&] { return searching.load(); }));
  worker.request(request_for(64, 3));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  EXPECT_FALSE(worker.latest()->refusal);
}

TEST(Worker, AnExceptionBecomesAnAnswer) {
  Worker worker(
      [](const Request&, WorkControl&) -> Result<std::shared_ptr<const Snapshot>> {
        throw std::runtime_error("it broke");
      },
      {});
  worker.request(request_for(64, 0));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->refusal.has_value(); }));
  EXPECT_EQ(worker.latest()->refusal->error.message, "it broke");
}

TEST(Worker, AnotherChoiceCancelsTheWorkUnderWay) {
  std::atomic<bool> began{false};
  Worker worker(
      [&](const Request& request, WorkControl& control) -> Result<std::shared_ptr<const Snapshot>> {
        if (request.choice.problem.N == 1) {
          began = true;
          while (!control.cancelled()) std::this_thread::sleep_for(1ms);
          return failed("cancelled");
        }
        return snapshot_at(request.step);
      },
      {});
  worker.request(request_for(1, 0));
  ASSERT_TRUE(wait_until([&] { return began.load(); }));
  worker.request(request_for(64, 3));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  EXPECT_FALSE(worker.latest()->refusal);
}

TEST(Worker, CancellingIsAnsweredAndTheWorkerContinues) {
  std::atomic<bool> began{false};
  Worker worker(
      [&](const Request& request, WorkControl& control) -> Result<std::shared_ptr<const Snapshot>> {
        if (request.choice.problem.N == 1) {
          began = true;
          control.set_progress(0.5);
          while (!control.cancelled()) std::this_thread::sleep_for(1ms);
          return failed("stopped early");
        }
        return snapshot_at(request.step);
      },
      {});
  worker.request(request_for(1, 0));
  ASSERT_TRUE(wait_until([&] { return began.load() && worker.under_way()->progress() == 0.5; }));
  worker.cancel();
  ASSERT_TRUE(wait_until([&] { return worker.latest()->refusal.has_value(); }));
  EXPECT_EQ(worker.latest()->refusal->error.message, "cancelled");
  worker.request(request_for(64, 1));
  EXPECT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
}

TEST(Worker, FreesAReplacedRunOnceTheScreenHasLetGoOfIt) {
  std::atomic<std::thread::id> freed_by{};
  const auto run = [&] {
    return std::shared_ptr<const RunInfo>(new RunInfo, [&](const RunInfo* info) {
      delete info;
      freed_by = std::this_thread::get_id();
    });
  };
  Worker worker(
      [&](const Request& request, WorkControl&) {
        auto snapshot = std::make_shared<Snapshot>();
        snapshot->step = request.step;
        snapshot->run = run();
        return std::shared_ptr<const Snapshot>(std::move(snapshot));
      },
      {});
  worker.request(request_for(64, 1));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  std::shared_ptr<const RunInfo> shown = worker.latest()->snapshot->run;
  worker.request(request_for(64, 2));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot->step == 2; }));
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(freed_by.load(), std::thread::id{}) << "it is still shown";
  shown.reset();
  EXPECT_TRUE(wait_until([&] { return freed_by.load() != std::thread::id{}; }));
  EXPECT_NE(freed_by.load(), std::this_thread::get_id());
}

/// How many times a thread of this program has blocked so far. A sanitizer's own threads do not
/// count.
long sleeps_of(pid_t thread) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  long switches = 0;
  for (std::string word; status >> word;) {
    if (word == "voluntary_ctxt_switches:" && status >> switches) return switches;
  }
  ADD_FAILURE() << "no thread " << thread;
  return 0;
}

TEST(Worker, SleepsWhileSomebodyHoldsAReplacedRun) {
  std::atomic<pid_t> thread{0};
  Worker worker(
      [&](const Request& request, WorkControl&) {
        thread = ::gettid();
        auto snapshot = std::make_shared<Snapshot>();
        snapshot->step = request.step;
        snapshot->run = std::make_shared<RunInfo>();
        return std::shared_ptr<const Snapshot>(std::move(snapshot));
      },
      {});
  worker.request(request_for(64, 1));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot != nullptr; }));
  std::shared_ptr<const RunInfo> held = worker.latest()->snapshot->run;
  const std::weak_ptr<const RunInfo> seen = held;
  worker.request(request_for(64, 2));
  ASSERT_TRUE(wait_until([&] { return worker.latest()->snapshot->step == 2; }));
  std::this_thread::sleep_for(2s);
  const long before = sleeps_of(thread);
  std::this_thread::sleep_for(1s);
  EXPECT_LT(sleeps_of(thread) - before, 8) << "20 a second while it looks for the run";

  // The next answer frees the run
  held.reset();
  worker.request(request_for(64, 3));
  EXPECT_TRUE(wait_until([&] { return seen.expired(); }));
}

TEST(Worker, EndsWhileWorkIsUnderWay) {
  std::atomic<bool> began{false};
  {
    Worker worker(
        [&](const Request&, WorkControl& control) -> Result<std::shared_ptr<const Snapshot>> {
          began = true;
          while (!control.cancelled()) std::this_thread::sleep_for(1ms);
          return failed("cancelled");
        },
        {});
    worker.request(request_for(64, 0));
    ASSERT_TRUE(wait_until([&] { return began.load(); }));
  }
  SUCCEED();
}

}  // namespace
}  // namespace attnscope::app
