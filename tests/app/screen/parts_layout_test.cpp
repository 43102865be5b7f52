/// What opens above the panels, at 1280 x 720, with small and large text: the first start, the
/// stops of both walks, dialogs, menus and messages. No text is cut off, shortened, or overlaps
/// another, and each part is within the window.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <string>
#include <string_view>

#include "app/scene/choice_rules.h"
#include "app/screen/walk.h"
#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

using app::Key;
using app::Rect;

constexpr std::pair<float, float> kSize{1280, 720};

/// The rectangle of the popup on top; nothing if none is open.
std::optional<Rect> popup_place() {
  const auto& stack = ImGui::GetCurrentContext()->OpenPopupStack;
  if (stack.empty() || stack.back().Window == nullptr) return std::nullopt;
  const ImGuiWindow& window = *stack.back().Window;
  return Rect{window.Pos, {window.Pos.x + window.Size.x, window.Pos.y + window.Size.y}};
}

/// With small or, in presenter mode, large text.
class PartsLayout : public testing::TestWithParam<bool> {
 protected:
  PartsLayout() {
    session_.resize(kSize.first, kSize.second);
    session_.app().view.presenter = GetParam();
    session_.settle();
  }

  /// Checks the part in this rectangle.
  void check(const std::string& what, const std::optional<Rect>& place, bool scrolls = false) {
    ASSERT_TRUE(place) << what << " is not open";
    EXPECT_GE(place->min.x, 0.0f) << what;
    EXPECT_GE(place->min.y, 0.0f) << what;
    EXPECT_LE(place->max.x, kSize.first) << what;
    EXPECT_LE(place->max.y, kSize.second) << what;
    check_texts(session_, what, {GetParam() ? 18.0f : 8.0f, place, scrolls});
  }
  void check_popup(const std::string& what, bool scrolls = false) {
    session_.settle();
    check(what, popup_place(), scrolls);
    session_.key(Key::escape);
    EXPECT_FALSE(popup_place()) << what;
    EXPECT_EQ(session_.app().view.presenter, GetParam()) << what;
  }

  ScreenSession session_;
};

INSTANTIATE_TEST_SUITE_P(Texts, PartsLayout, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& of) {
                           return of.param ? "large" : "small";
                         });

TEST_P(PartsLayout, OfTheFirstStart) {
  session_.app().view.welcome = true;
  check_popup("welcome");
  for (const app::Walk walk : {app::Walk::panels, app::Walk::watch}) {
    session_.app().view.start_walk = walk;
    session_.settle();
    session_.settle();  // the scene that a walk opens
    session_.app().view.presenter = GetParam();
    const auto stops = app::stops_of(walk);
    for (std::size_t k = 0; k < stops.size(); ++k) {
      session_.settle();
      check(std::string(stops[k].title), session_.rects().find("walk"));
      if (k + 1 < stops.size()) session_.click("walk.next");
    }
    session_.click("walk.leave");
  }
}

TEST_P(PartsLayout, OfDialogs) {
  app::ViewState& view = session_.app().view;
  view.scene_dialog = false;
  check_popup("open a file", /*scrolls=*/true);
  view.scene_dialog = true;
  check_popup("save the scene", /*scrolls=*/true);
  session_.key(Key::g);
  check_popup("go to tile");
  view.guide_page = "";
  check_popup("guide", /*scrolls=*/true);
}

TEST_P(PartsLayout, OfFields) {
  session_.click("field.more");
  check_popup("more fields", /*scrolls=*/true);
  session_.click("field.scene");
  check_popup("list of scenes", /*scrolls=*/true);
  session_.click("field.algorithm");
  check_popup("list of algorithms", /*scrolls=*/true);
}

TEST_P(PartsLayout, OfTheKeys) {
  session_.app().view.show_keys = true;
  session_.settle();
  check("keys", session_.rects().find("keys"));
}

TEST_P(PartsLayout, OfARefusal) {
  app::App& app = session_.app();
  app.commands.push(app::Choose{app::change_field(app.view.choice, "Br", "100000").value()});
  session_.settle();
  check("refusal", session_.rects().find("refusal"));
}

TEST_P(PartsLayout, OfAComparison) {
  session_.click("compare.pin");
  check("comparison of equal runs", session_.rects().find("compare.card"));
  app::App& app = session_.app();
  app.commands.push(app::Choose{app::change_field(app.view.choice, "algorithm", "flash1").value()});
  session_.settle();
  check("comparison", session_.rects().find("compare.card"));
}

TEST_P(PartsLayout, OfContextMenus) {
  for (const std::string_view panel : {"memory", "scores", "explain", "online_softmax"}) {
    const auto rect = session_.rects().find(fmt::format("panel.{}", panel));
    ASSERT_TRUE(rect) << panel;
    session_.right_click(rect->center());
    check_popup(fmt::format("menu of {}", panel));
  }
}

}  // namespace
}  // namespace attnscope::test
