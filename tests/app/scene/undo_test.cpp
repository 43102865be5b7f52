/// Undo and redo of the user's choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/app.h"
#include "app/scene/choice_rules.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

class UndoTest : public testing::Test {
 protected:
  UndoTest() : app_(load_scene("default").value(), {}) { settle(); }

  void settle() { ASSERT_TRUE(test::update_until_settled(app_)); }
  void choose(std::string_view key, std::string_view text) {
    push(Choose{change_field(app_.shown_choice(), key, text).value()});
  }
  void push(const Command& command) {
    app_.commands.push(command);
    settle();
  }
  Index N() const { return app_.snapshot()->run->problem().N; }

  App app_;
};

TEST_F(UndoTest, BringsBackEveryFieldAndRedoesIt) {
  choose("seq_len", "128");
  choose("gpu", "a100-40gb");
  push(Undo{});
  EXPECT_EQ(app_.view.choice.gpu, "h200");
  EXPECT_EQ(N(), 128);
  ASSERT_TRUE(app_.notice);
  EXPECT_EQ(app_.notice->text, "undone: GPU = h200");
  push(Undo{});
  EXPECT_EQ(N(), 64);
  push(Undo{});
  EXPECT_EQ(app_.notice->text, "nothing to undo");
  EXPECT_EQ(N(), 64);
  push(Redo{});
  push(Redo{});
  EXPECT_EQ(N(), 128);
  EXPECT_EQ(app_.view.choice.gpu, "a100-40gb");
  push(Redo{});
  EXPECT_EQ(app_.notice->text, "nothing to redo");
}

TEST_F(UndoTest, BringsBackASceneWithItsPlayheadAndKeepsTheTabs) {
  push(SeekTo{70});
  push(OpenScene{"flash1-64"});
  app_.view.explain_tab = ExplainTab::cuda_source;
  EXPECT_EQ(app_.scene.name, "flash1-64");
  push(Undo{});
  EXPECT_EQ(app_.scene.name, "default");
  EXPECT_EQ(app_.view.choice.algorithm, "flash2");
  EXPECT_EQ(app_.view.step, 70);
  EXPECT_EQ(app_.snapshot()->step, 70);
  EXPECT_EQ(app_.view.explain_tab, ExplainTab::cuda_source);
  push(Redo{});
  EXPECT_EQ(app_.scene.name, "flash1-64");
  EXPECT_EQ(app_.view.choice.algorithm, "flash1");
}

TEST_F(UndoTest, BringsBackTheFollowedRowAtOnce) {
  app_.view.query_row = 20;
  settle();
  const Index before = app_.view.step;
  app_.view.query_row = 51;
  settle();
  app_.commands.push(Undo{});
  app_.update(0.0);
  EXPECT_EQ(app_.view.query_row, 20);
  EXPECT_EQ(app_.view.step, before);
}

TEST_F(UndoTest, TwoInARowNeedNoPictureInBetween) {
  choose("seq_len", "128");
  choose("seq_len", "256");
  app_.commands.push(Undo{});
  app_.commands.push(Undo{});
  settle();
  EXPECT_EQ(N(), 64);
  push(Redo{});
  EXPECT_EQ(N(), 128);
}

TEST_F(UndoTest, ANewChoiceForgetsWhatWasUndone) {
  choose("seq_len", "128");
  push(Undo{});
  choose("head_dim", "32");
  push(Redo{});
  EXPECT_EQ(app_.notice->text, "nothing to redo");
  EXPECT_EQ(N(), 64);
  push(Undo{});
  EXPECT_EQ(app_.view.choice.problem.d, 16);
}

TEST_F(UndoTest, FirstTakesBackARejectedChoice) {
  choose("seq_len", "128");
  choose("Bc", "100000");
  ASSERT_TRUE(app_.refused);
  push(Undo{});
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(N(), 128);
  push(Undo{});
  EXPECT_EQ(N(), 64);
}

TEST_F(UndoTest, OfARejectedChoiceStillShowsTheStepUnderThePlayhead) {
  choose("Bc", "100000");
  ASSERT_TRUE(app_.refused);
  app_.commands.push(SeekTo{30});
  app_.commands.push(Undo{});
  settle();
  EXPECT_FALSE(app_.refused);
  EXPECT_EQ(app_.snapshot()->step, 30);
}

TEST_F(UndoTest, ThatIsCancelledChangesNothing) {
  choose("seq_len", "128");
  choose("seq_len", "256");
  push(Undo{});
  app_.commands.push(Undo{});
  app_.commands.push(CancelWork{});
  settle();
  EXPECT_EQ(N(), 128);
  push(Redo{});
  EXPECT_EQ(N(), 256);
}

TEST_F(UndoTest, LeavesTheTabsThatAreChosenWhileItIsSimulated) {
  push(OpenScene{"flash1-64"});
  app_.scene_answer.reset();
  app_.commands.push(Undo{});
  app_.update(0.0);
  ASSERT_EQ(app_.scene.name, "flash1-64");
  app_.view.explain_tab = ExplainTab::cuda_source;
  app_.view.chart = ChartQuantity::time;
  settle();
  EXPECT_EQ(app_.scene.name, "default");
  EXPECT_EQ(app_.notice->text, "undone: scene \"FlashAttention-2 forward\"");
  EXPECT_EQ(app_.view.explain_tab, ExplainTab::cuda_source);
  EXPECT_EQ(app_.view.chart, ChartQuantity::time);
  EXPECT_FALSE(app_.scene_answer);  // no scene was opened
}

TEST_F(UndoTest, AChoiceMadeMeanwhileIsTheOneThatCounts) {
  choose("seq_len", "128");
  app_.commands.push(Undo{});
  app_.commands.push(Choose{change_field(app_.view.choice, "head_dim", "32").value()});
  settle();
  EXPECT_EQ(N(), 128);
  EXPECT_EQ(app_.view.choice.problem.d, 32);
  push(Undo{});
  push(Undo{});
  EXPECT_EQ(N(), 64);
}

TEST_F(UndoTest, ARaceBeginsAndEnds) {
  push(ChooseRace{Race{rival_of(app_.view.choice, "standard")}});
  push(Undo{});
  EXPECT_FALSE(app_.view.race);
  push(Redo{});
  ASSERT_TRUE(app_.view.race);
  EXPECT_EQ(app_.view.race->rival.algorithm, "standard");
  EXPECT_TRUE(app_.course());
}

TEST_F(UndoTest, ARaceThatWasRejectedIsNotAChoice) {
  choose("seq_len", "128");
  RunSpec unknown = app_.view.choice;
  unknown.algorithm = "split_kv_of_no_catalog";
  push(ChooseRace{Race{unknown}});
  ASSERT_FALSE(app_.view.race);
  push(Undo{});
  EXPECT_EQ(N(), 64);
  push(Redo{});
  EXPECT_EQ(N(), 128);
}

TEST(UndoBeforeTheFirstPicture, HasNothingToUndo) {
  App app(load_scene("default").value(), {});
  app.commands.push(Undo{});
  app.commands.push(Redo{});
  app.update(0.0);
  ASSERT_TRUE(app.notice);
  EXPECT_THAT(app.notice->text, testing::StartsWith("nothing to"));
}

TEST(ChoiceHistory, ForgetsTheOldestAndKeepsTheOrder) {
  ChoiceHistory history;
  const auto most = static_cast<Index>(ChoiceHistory::kMostKept);
  for (Index row = 0; row < most + 50; ++row) {
    ViewState view;
    view.query_row = row;
    history.note({}, view);
    history.note({}, view);  // nothing has changed
  }
  Index undone = 0;
  for (; history.at(-1) != nullptr; ++undone) history.move(-1);
  EXPECT_EQ(undone, most - 1);
  EXPECT_EQ(history.at(0)->query_row, 50);
}

}  // namespace
}  // namespace attnscope::app
