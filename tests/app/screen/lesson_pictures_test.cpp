/// What the panels beside a lesson's step show: the operation that its question is about, no tensor
/// that it asks for, and what their colours, axes and zeros mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

/// Opens the step, counted from 1, at the size of a projector.
void open_step(ScreenSession& session, const std::string& lesson, std::size_t step) {
  session.resize(1280, 720);
  session.app().lesson_player.open(lesson, step - 1);
  session.settle();
  ASSERT_TRUE(session.app().lesson_player.is_open());
}

std::ptrdiff_t count_on_screen(std::string_view words) {
  const auto texts = texts_on_screen();
  return std::ranges::count(texts, words, &ScreenText::words);
}

/// The tensor that the operation at the playhead loads or stores; nothing for other operations.
std::optional<Tensor> moved_tensor(ScreenSession& session) {
  const auto snapshot = session.app().snapshot();
  const TileOp& op = snapshot->op;
  if (!op.moves_bytes()) return std::nullopt;
  return op.kind == OpKind::load ? op.sources()[0].tensor : op.dests()[0].tensor;
}

TEST(LessonPictures, BeginAtTheOperationThatTheQuestionIsAbout) {
  ScreenSession session;
  open_step(session, "flash1-loops", 5);
  EXPECT_EQ(moved_tensor(session), Tensor::Q);
  EXPECT_EQ(session.app().snapshot()->j, 0);
  session.click("lesson.show");
  EXPECT_EQ(moved_tensor(session), Tensor::Q);
  EXPECT_EQ(session.app().snapshot()->j, 1);
  open_step(session, "backward-pass", 3);
  EXPECT_EQ(moved_tensor(session), Tensor::LSE);
}

TEST(LessonPictures, BothProgramsBeginAtAStoreWhereTheQuestionIsAboutWrites) {
  ScreenSession session;
  open_step(session, "swap-the-loops", 4);
  ASSERT_TRUE(session.app().rival_snapshot());
  EXPECT_EQ(session.app().snapshot()->op.kind, OpKind::store);
  EXPECT_EQ(session.app().rival_snapshot()->op.kind, OpKind::store);
}

TEST(LessonPictures, HaveNoTensorThatIsNotWrittenYet) {
  ScreenSession session;
  open_step(session, "standard-writes-s-and-p", 2);
  EXPECT_TRUE(session.rects().find("memory.tensor.Q"));
  EXPECT_TRUE(session.rects().find("lesson.mark.memory.slot.S"));
  for (const char* tensor : {"memory.tensor.S", "memory.tensor.P", "memory.tensor.O"}) {
    EXPECT_FALSE(session.rects().find(tensor)) << tensor;
  }
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("memory.tensor.S"));
  EXPECT_FALSE(session.rects().find("memory.tensor.P"));
}

TEST(LessonPictures, TheEndOfALaunchHasNoArrowOfTheNextOne) {
  ScreenSession session;
  open_step(session, "standard-writes-s-and-p", 2);
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("memory.arrow.last"));
  EXPECT_FALSE(session.rects().find("memory.arrow.next"));
}

/// P is computed in the slot of S.
TEST(LessonPictures, ATileThatIsStoredAsPIsNamedP) {
  ScreenSession session;
  open_step(session, "standard-writes-s-and-p", 3);
  session.click("lesson.show");
  const std::optional<app::Rect> slot = session.rects().find("memory.last_used.S");
  ASSERT_TRUE(slot);
  const auto count_below = [&](std::string_view name) {
    return std::ranges::count_if(texts_on_screen(), [&](const ScreenText& text) {
      return text.words == name && text.rect.min.y >= slot->max.y - 1.0f &&
             text.rect.min.y < slot->max.y + 2.0f * text.rect.height() &&
             text.rect.min.x > slot->min.x && text.rect.max.x < slot->max.x;
    });
  };
  EXPECT_EQ(count_below("P"), 1);
  EXPECT_EQ(count_below("S"), 0);
}

TEST(LessonPictures, TheTimelineSaysWhatItsColoursMean) {
  ScreenSession session;
  open_step(session, "when-is-the-gpu-full", 1);
  EXPECT_FALSE(is_on_screen("idle SM"));
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("timeline.legend"));
  for (const char* words : {"steps of a block", "waits for tiles or stores", "idle SM"}) {
    EXPECT_TRUE(is_on_screen(words)) << words;
  }
}

TEST(LessonPictures, TheTimelineSaysThatARecordedRunHasNoTrace) {
  ScreenSession session;
  open_step(session, "when-is-the-gpu-full", 1);
  session.click("lesson.show");
  EXPECT_TRUE(is_on_screen("recorded, but no trace"));
  open_step(session, "when-is-the-gpu-full", 5);
  session.click("lesson.show");
  EXPECT_TRUE(is_on_screen("No trace of this problem was recorded."));
}

TEST(LessonPictures, TheLedgerSaysWhereResultsAreThatDramDoesNotSee) {
  ScreenSession session;
  open_step(session, "swap-the-loops", 6);
  session.click("lesson.show");
  EXPECT_EQ(count_on_screen("all in L2") + count_on_screen("all still in L2"), 2);
  open_step(session, "double-n", 5);
  session.click("lesson.show");
  EXPECT_EQ(count_on_screen("rest in L2") + count_on_screen("rest still in L2"), 2);
}

TEST(LessonPictures, EverySlotOnChipHasItsSize) {
  ScreenSession session;
  open_step(session, "flash1-loops", 4);
  EXPECT_EQ(count_on_screen("64 × 64"), 2) << "Q_i and O_i";
  EXPECT_EQ(count_on_screen("64 × 128"), 2) << "P_ij and S_ij";
}

TEST(LessonPictures, AxesOfACurveHaveNames) {
  ScreenSession session;
  open_step(session, "when-is-the-gpu-full", 3);
  EXPECT_TRUE(is_on_screen("time, logarithmic"));
  EXPECT_TRUE(is_on_screen("query heads"));
  open_step(session, "double-the-sram", 5);
  EXPECT_TRUE(is_on_screen("bytes, logarithmic"));
  EXPECT_TRUE(is_on_screen("shared memory per thread block"));
}

/// The size of the font of the step's text, before the answer and after it.
std::vector<float> text_sizes(ScreenSession& session, const std::string& lesson, std::size_t step) {
  std::vector<float> sizes;
  const auto add = [&] {
    const std::optional<app::Rect> say = session.rects().find("lesson.say");
    float largest = 0.0f;  // symbols are smaller than words
    for (const ScreenText& text : texts_on_screen()) {
      if (say && say->contains(text.rect.center())) largest = std::max(largest, text.size);
    }
    sizes.push_back(largest);
  };
  open_step(session, lesson, step);
  add();
  session.click("lesson.show");
  add();
  return sizes;
}

TEST(LessonPictures, LongStepsHaveTheLargerTextToo) {
  ScreenSession session;
  const std::vector<float> of_short_step = text_sizes(session, "standard-writes-s-and-p", 2);
  ASSERT_EQ(of_short_step.size(), 2U);
  const std::pair<const char*, std::size_t> long_steps[] = {{"softmax-overflow", 6},
                                                            {"merging-tiles", 6},
                                                            {"forgetting-alpha", 4},
                                                            {"swap-the-loops", 7},
                                                            {"double-n", 5},
                                                            {"backward-pass", 5},
                                                            {"when-is-the-gpu-full", 3},
                                                            {"when-is-the-gpu-full", 6},
                                                            {"a-quarter-of-d", 3}};
  for (const auto& [lesson, step] : long_steps) {
    EXPECT_EQ(text_sizes(session, lesson, step), of_short_step) << lesson << " step " << step;
  }
}

/// Tiles on chip and those that were discarded have the same cells and one scale.
TEST(LessonPictures, ScoresHaveOneScaleWhereEveryCellIsAMean) {
  ScreenSession session;
  open_step(session, "softmax-overflow", 1);
  EXPECT_TRUE(is_on_screen("S, means:"));
  EXPECT_FALSE(is_on_screen("S on chip:"));
}

}  // namespace
}  // namespace attnscope::test
