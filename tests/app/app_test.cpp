/// The state of the app between frames: choices, rejections and scenes pass through the worker, and
/// update() never waits for it.
#include "app/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "app/scene/choice_rules.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class AppTest : public testing::Test {
 protected:
  AppTest() : app_(load_scene("default").value(), {}) { settle(); }

  /// Updates, as frames do, until no work is left. Returns the duration of the longest update.
  double settle() {
    double longest_s = 0.0;
    EXPECT_TRUE(test::wait_until([&] {
      const auto start = Clock::now();
      app_.update(0.0);
      longest_s = std::max(longest_s, seconds_since(start));
      return app_.settled();
    }));
    return longest_s;
  }
  double choose(std::string_view key, std::string_view text) {
    app_.commands.push(Choose{change_field(app_.shown_choice(), key, text).value()});
    return settle();
  }

  App app_;
};

TEST_F(AppTest, AGoodChoiceBecomesTheValidOne) {
  choose("seq_len", "100");
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(app_.view.choice.problem.N, 100);
  EXPECT_EQ(app_.snapshot()->run->problem().N, 100);
}

TEST(Welcome, IsNotShownAgainWithASceneMadeFromTheFirst) {
  Scene first = load_scene("default").value();
  first.view.welcome = true;
  const App app(std::move(first), {});
  EXPECT_TRUE(app.view.welcome);
  EXPECT_FALSE(app.scene.view.welcome);
}

TEST_F(AppTest, ARefusedChoiceIsShownAtItsFieldAndTheLastValidOneStays) {
  const auto shown = app_.snapshot()->run;
  choose("Bc", "100000");
  ASSERT_TRUE(app_.refused);
  EXPECT_EQ(app_.refused->field, "Bc");
  EXPECT_THAT(app_.refused->message, HasSubstr("does not fit"));
  EXPECT_EQ(app_.shown_choice().Bc, 100000);
  EXPECT_EQ(app_.view.choice.Bc, 16);
  EXPECT_EQ(app_.snapshot()->run, shown);

  ASSERT_TRUE(app_.refused->nearest);
  app_.commands.push(Choose{*app_.refused->nearest});
  settle();
  EXPECT_FALSE(app_.refused);
  EXPECT_GT(app_.view.choice.Bc, 16);
}

TEST_F(AppTest, TheShownHeadStaysWhereItIsWhenAChoiceIsRefused) {
  choose("heads", "4");
  app_.view.head = 3;
  settle();
  choose("batch", "0");
  ASSERT_TRUE(app_.refused);
  EXPECT_EQ(app_.refused->field, "batch");
  EXPECT_EQ(app_.view.head, 3);
  app_.commands.push(Choose{app_.view.choice});
  settle();
  choose("heads", "2");
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(app_.view.head, 1);
}

TEST_F(AppTest, KeepingTheLastValidChoiceDismissesTheRefusal) {
  choose("Bc", "100000");
  app_.commands.push(Choose{app_.view.choice});
  settle();
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(app_.shown_choice(), app_.view.choice);
}

TEST_F(AppTest, ATextThatCannotBeUnderstoodIsShownAsItWasTyped) {
  const auto wrong = change_field(app_.view.choice, "mask", "sideways");
  app_.commands.push(RefuseText{wrong.error()});
  settle();
  ASSERT_TRUE(app_.refused);
  EXPECT_EQ(app_.refused->field, "mask");
  EXPECT_EQ(app_.refused->typed, "sideways");
  EXPECT_THAT(app_.refused->message, testing::StartsWith("Mask is 'sideways'"));
}

TEST_F(AppTest, NoUpdateWaitsWhileThousandsOfChoicesAreChecked) {
  // 4095 KV heads do not divide 4096 heads: every number near 4095 is tried
  app_.commands.push(Choose{change_field(app_.view.choice, "heads", "4096").value()});
  settle();
  const double longest_s = choose("kv_heads", "4095");
  ASSERT_TRUE(app_.refused);
  EXPECT_EQ(app_.refused->nearest_label, "KV heads = 4096");
  EXPECT_LT(longest_s, 0.1);
}

TEST_F(AppTest, ANewerChoiceReplacesTheOneThatIsBeingChecked) {
  app_.commands.push(Choose{change_field(app_.view.choice, "Bc", "100000").value()});
  app_.update(0.0);
  choose("Bc", "32");
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(app_.view.choice.Bc, 32);
}

TEST_F(AppTest, AnotherSceneIsOpenedOnceItCanBeShown) {
  app_.scene_answer.reset();
  app_.commands.push(OpenScene{"flash1-64"});
  app_.update(0.0);
  EXPECT_EQ(app_.scene.name, "default");
  EXPECT_FALSE(app_.scene_answer);  // the scene's file is read on another thread
  settle();
  EXPECT_EQ(app_.scene.name, "flash1-64");
  EXPECT_EQ(app_.view.choice.algorithm, "flash1");
  ASSERT_TRUE(app_.scene_answer);
  EXPECT_EQ(app_.scene_answer->error, "");
}

TEST_F(AppTest, ALaterChoiceOutdatesASceneThatIsBeingRead) {
  app_.scene_answer.reset();
  app_.commands.push(OpenScene{"flash1-64"});
  app_.update(0.0);
  choose("seq_len", "100");
  EXPECT_EQ(app_.scene.name, "default");
  EXPECT_EQ(app_.view.choice.problem.N, 100);
  EXPECT_FALSE(app_.scene_answer);
}

TEST_F(AppTest, AScenesFileIsWrittenBeforeTheProgramQuits) {
  const test::TempDir folder;
  const std::string path = folder.file("saved.json");
  app_.commands.push(SaveScene{path});
  app_.commands.push(Quit{});
  app_.update(0.0);
  EXPECT_FALSE(app_.wants_to_quit());
  settle();
  EXPECT_TRUE(app_.wants_to_quit());
  ASSERT_TRUE(app_.scene_answer);
  EXPECT_EQ(app_.scene_answer->error, "");
  EXPECT_TRUE(load_scene(path));
}

TEST_F(AppTest, AFileThatCannotBeSavedKeepsTheProgramOpen) {
  app_.commands.push(SaveScene{"/no such folder/scene.json"});
  app_.commands.push(Quit{});
  settle();
  EXPECT_FALSE(app_.wants_to_quit());
  ASSERT_TRUE(app_.scene_answer);
  EXPECT_THAT(app_.scene_answer->error, HasSubstr("/no such folder/scene.json"));
  EXPECT_TRUE(app_.notice);
}

TEST(Notice, StaysUntilTheFirstRunIsOnTheScreen) {
  App app(load_scene("default").value(), {});
  app.show_notice("the state file is damaged");
  double now_s = 1.0;
  const auto update = [&] { app.update(now_s += 100.0); };
  EXPECT_TRUE(test::wait_until([&] {
    update();
    return app.snapshot() != nullptr;
  }));
  EXPECT_TRUE(app.notice);
  update();
  EXPECT_FALSE(app.notice);
}

TEST_F(AppTest, ListsAndRecordingsAreReadOnceTheAppIsOpen) {
  App app(load_scene("default").value(), {});
  EXPECT_TRUE(app.measurements.recorded.empty());
  EXPECT_TRUE(app.listed.scenes.empty());
  ASSERT_TRUE(test::update_until_settled(app));
  EXPECT_FALSE(app.measurements.recorded.empty());
  EXPECT_FALSE(app.measurements.traced.empty());
  EXPECT_FALSE(app.listed.scenes.empty());
  EXPECT_FALSE(app.listed.gpus.empty());
}

TEST_F(AppTest, ASceneThatCannotBeShownChangesNothing) {
  const test::TempDir folder;
  const std::pair<const char*, std::function<void(ViewState&)>> wrong[] = {
      {"query_row is 64", [](ViewState& view) { view.query_row = 64; }},
      {"head is 3", [](ViewState& view) { view.head = 3; }},
      {"the last operation is", [](ViewState& view) { view.step = 100000; }},
      {"does not fit", [](ViewState& view) { view.choice.Br = 60000; }}};
  const ViewState before = app_.view;
  for (const auto& [part, change] : wrong) {
    Scene lost = load_scene("default").value();
    change(lost.view);
    const std::string path = folder.file("lost.json");
    ASSERT_FALSE(save_scene(lost, path));
    app_.commands.push(OpenScene{path});
    settle();
    ASSERT_TRUE(app_.scene_answer) << part;
    EXPECT_THAT(app_.scene_answer->error, HasSubstr(part));
    EXPECT_THAT(app_.scene_answer->error, testing::StartsWith(path));
    EXPECT_EQ(app_.scene.name, "default");
    EXPECT_EQ(app_.view.choice, before.choice);
    EXPECT_EQ(app_.view.query_row, before.query_row);
    EXPECT_FALSE(app_.refused);

    // An app that starts with such a file has no earlier scene to keep
    App app(lost, {});
    ASSERT_TRUE(test::update_until_settled(app));
    ASSERT_TRUE(app.first_error()) << part;
    EXPECT_THAT(app.first_error()->message, HasSubstr(part));
    EXPECT_EQ(app.snapshot(), nullptr);
  }
}

TEST_F(AppTest, AClickOnATileGoesToItsNextOperationAndToThePreviousOne) {
  const auto run = app_.snapshot()->run;
  const Thing tile = ScoreTile{{{16, 32}, {32, 48}}};  // tile (1, 2)
  const TileLife& life = run->score_tiles[static_cast<std::size_t>(run->Tc + 2)];
  app_.commands.push(SeekThing{run, tile});
  settle();
  EXPECT_EQ(app_.view.step, life.first);
  EXPECT_EQ(app_.snapshot()->step, life.first);

  app_.commands.push(SeekTo{life.last});
  app_.commands.push(SeekThing{run, tile});
  settle();
  EXPECT_EQ(app_.view.step, life.first) << "after the last operation follows the first";

  app_.commands.push(SeekThing{run, tile, SeekDirection::earlier});
  settle();
  EXPECT_EQ(app_.view.step, life.last) << "before the first is the last";
  EXPECT_FALSE(app_.notice);

  app_.commands.push(SeekThing{run, tile, SeekDirection::earlier});
  settle();
  EXPECT_LT(app_.view.step, life.last);
  EXPECT_GE(app_.view.step, life.first);
}

TEST_F(AppTest, NoUpdateWaitsForASearchAndAStepEndsIt) {
  choose("seq_len", "16384");
  const auto run = app_.snapshot()->run;
  const Thing last = MemoryTile{Tensor::LSE, {{16383, 16384}, {0, 1}}};
  app_.commands.push(SeekThing{run, last});
  app_.update(0.0);
  app_.commands.push(StepBy{Granularity::op, 1});
  EXPECT_LT(settle(), 0.1);
  EXPECT_EQ(app_.view.step, 1);

  app_.commands.push(SeekThing{run, last});
  EXPECT_LT(settle(), 0.1);
  EXPECT_EQ(app_.view.step, run->step_count - 1);
}

TEST_F(AppTest, AClickOnAnOperationGoesThereAtOnce) {
  const auto run = app_.snapshot()->run;
  app_.commands.push(SeekThing{run, Operation{.step = 40, .launch = 0, .op = {}}});
  app_.update(0.0);
  EXPECT_EQ(app_.view.step, 40);
}

TEST_F(AppTest, AnotherRunEndsTheSearchAndNothingKeepsTheOldOne) {
  choose("seq_len", "16384");
  const std::weak_ptr<const RunInfo> run = app_.snapshot()->run;
  app_.commands.push(SeekThing{run.lock(), MemoryTile{Tensor::LSE, {{16383, 16384}, {0, 1}}}});
  choose("seq_len", "100");
  EXPECT_FALSE(app_.notice);
  EXPECT_LT(app_.view.step, 100);
  const auto expires = [&](const std::weak_ptr<const RunInfo>& old) {
    return test::wait_until([&] {
      app_.update(0.0);
      return old.expired();
    });
  };
  EXPECT_TRUE(expires(run));

  // A search that has found its operation does not keep its run alive, either
  const std::weak_ptr<const RunInfo> next = app_.snapshot()->run;
  app_.commands.push(SeekThing{next.lock(), MemoryTile{Tensor::K, {{0, 16}, {0, 16}}}});
  settle();
  choose("seq_len", "64");
  EXPECT_TRUE(expires(next));
}

TEST_F(AppTest, NobodyWaitsForShortWork) {
  app_.commands.push(Choose{change_field(app_.view.choice, "seq_len", "16384").value()});
  const auto begin = Clock::now();
  do {
    app_.update(0.0);
    const bool waits = app_.waiting().has_value();
    EXPECT_FALSE(waits && seconds_since(begin) < kPatienceSeconds);
  } while (!app_.settled());
}

TEST_F(AppTest, InARaceAClickOnEitherSideMovesTheClockOfBoth) {
  app_.commands.push(ChooseRace{Race{rival_of(app_.view.choice, "standard")}});
  settle();
  const auto rival = app_.rival_snapshot()->run;
  const Thing tile = ScoreTile{{{48, 64}, {48, 64}}};
  app_.commands.push(SeekThing{rival, tile});
  settle();
  const Index first = app_.view.race_tick;
  EXPECT_GT(first, 0);
  const TileLife& life = rival->score_tiles[15];
  EXPECT_GE(app_.course()->step_of(RaceCourse::rival, first), life.first);
  EXPECT_LT(app_.course()->step_of(RaceCourse::rival, first - 1), life.first);

  // The rival's last operation on the tile is in an earlier tick
  app_.commands.push(SeekTick{app_.course()->last_tick()});
  app_.commands.push(SeekThing{rival, tile, SeekDirection::earlier});
  settle();
  EXPECT_LT(app_.view.race_tick, app_.course()->last_tick());
}

TEST_F(AppTest, AChoiceWithoutAKernelDoesNotRunOnTheGpu) {
  choose("pass", "both");
  if (app_.gpu().status().state == GpuRunner::State::idle) {
    app_.commands.push(RunOnGpu{});
    app_.update(0.0);
    ASSERT_TRUE(app_.notice);
    EXPECT_THAT(app_.notice->text, HasSubstr("one pass at a time"));
  }
}

TEST_F(AppTest, AGpuRunSaysThatItIsQueuedAndWhereItsResultIs) {
  const auto update_until = [&](auto done) {
    EXPECT_TRUE(test::wait_until([&] {
      app_.update(0.0);
      return done();
    })) << (app_.notice ? app_.notice->text : "no notice");
  };
  const auto says = [&](std::string_view words) {
    return app_.notice && app_.notice->text.find(words) != std::string::npos;
  };
  using State = GpuRunner::State;
  update_until([&] { return app_.gpu().status().state == State::idle; });
  choose("seed", "13");  // the echo's compiler waits until it is cancelled
  app_.commands.push(RunOnGpu{});
  update_until([&] { return app_.gpu().status().state == State::running; });
  choose("seed", "14");
  app_.commands.push(RunOnGpu{});
  update_until([&] { return says("queued: flash2 after 1 other run"); });

  choose("seed", "15");
  app_.commands.push(CancelGpuRun{});
  update_until([&] { return says("measured flash2 forward, N = 64, d = 16"); });
  EXPECT_TRUE(says("the ledger shows it when this run is chosen again")) << app_.notice->text;
  app_.commands.push(RunOnGpu{});
  update_until([&] { return says("see the ledger's measured column"); });
}

}  // namespace
}  // namespace attnscope::app
