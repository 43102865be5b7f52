/// The badge in the top bar, which says where the numbers on the screen come from.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/ui/drawn_texts.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

TEST(Badge, NamesNoRecordingForAChartOfAProblemOfItsOwn) {
  test::ScreenSession session;
  const auto says_model_only = [&] {
    session.settle();
    const TextRecorder recorder;
    session.frame();
    return std::ranges::count(recorder.texts(), "model only", &DrawnText::text) == 1;
  };
  ViewState& view = session.app().view;
  view.enlarged = Slot::charts;
  EXPECT_FALSE(says_model_only()) << "a chart of the run on the screen";
  for (const ChartQuantity chart :
       {ChartQuantity::figure2, ChartQuantity::training, ChartQuantity::inference}) {
    view.chart = chart;
    view.chart_over = chart == ChartQuantity::figure2 ? ChartAxis::fusion : ChartAxis::seq_len;
    EXPECT_TRUE(says_model_only()) << static_cast<int>(chart);
  }
  view.enlarged.reset();
  EXPECT_FALSE(says_model_only()) << "the other panels show the run";
}

}  // namespace
}  // namespace attnscope::app
