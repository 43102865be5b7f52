/// A monkey at the mouse and keyboard: random events, the same for the same seed, cause neither a
/// crash nor a slow frame.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>

#include "app/scene/choice_rules.h"
#include "reference/algorithm.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::test {
namespace {

using app::Key;
using app::Rect;

/// The number in the environment's variable, or the default.
int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// CPU seconds that this thread has used: those of other programs do not count.
double cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Monkey {
 public:
  Monkey(ScreenSession& session, unsigned seed) : session_(session), random_(seed) {
    for (const auto& [width, height] : kSizes) {  // loads their fonts
      session_.resize(width, height);
      frame();
      session_.app().view.presenter = !session_.app().view.presenter;
      frame();
    }
    slowest_s_ = 0.0;
  }

  /// Sends one event, which takes a few frames.
  void act() {
    const int kind = pick(100);
    if (kind < 18) {
      move();
    } else if (kind < 20) {
      race();
    } else if (kind < 22) {
      choose_entry();
    } else if (kind < 50) {
      click();
    } else if (kind < 58) {
      drag();
    } else if (kind < 70) {
      wheel();
    } else if (kind < 90) {
      press_key();
    } else if (kind < 96) {
      type();
    } else {
      resize();
    }
    frame();
  }

  double slowest_s() const { return slowest_s_; }

 private:
  static constexpr std::pair<float, float> kSizes[] = {{1600, 900}, {1280, 720}, {960, 540},
                                                       {800, 600},  {640, 480},  {2560, 1080}};

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  float share() { return static_cast<float>(pick(10001)) / 10000.0f; }

  void frame() {
    now_s_ += 0.02;
    const double began_s = cpu_s();
    session_.frame(now_s_);
    slowest_s_ = std::max(slowest_s_, cpu_s() - began_s);
  }

  /// A random place: half of the time in a widget, otherwise anywhere, including outside the
  /// window.
  ImVec2 place() {
    const auto& widgets = session_.rects().all();
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    if (pick(2) == 0 || widgets.empty()) {
      return {display.x * (1.1f * share() - 0.05f), display.y * (1.1f * share() - 0.05f)};
    }
    const Rect& rect = std::next(widgets.begin(), pick(static_cast<int>(widgets.size())))->second;
    return {rect.min.x + rect.width() * share(), rect.min.y + rect.height() * share()};
  }

  void move() { ImGui::GetIO().MousePos = place(); }

  void modifiers(bool held) {
    ImGui::GetIO().KeyShift = held && pick(4) == 0;
    ImGui::GetIO().KeyCtrl = held && pick(4) == 0;
  }

  void click() {
    move();
    frame();
    modifiers(true);
    const int button = pick(4) == 0 ? ImGuiMouseButton_Right : ImGuiMouseButton_Left;
    ImGui::GetIO().MouseDown[button] = true;
    frame();
    ImGui::GetIO().MouseDown[button] = false;
    frame();
    modifiers(false);
  }

  /// Starts a race, or another one.
  void race() {
    app::App& app = session_.app();
    const auto& algorithm =
        algorithms()[static_cast<std::size_t>(pick(static_cast<int>(std::size(algorithms()))))];
    app.commands.push(
        app::ChooseRace{app::Race{app::rival_of(app.view.choice, std::string(algorithm.name))}});
  }

  /// Chooses an entry of the list of scenes that is not a scene; it replaces whatever is on the
  /// screen.
  void choose_entry() {
    constexpr const char* kEntries[] = {"quiz", "watch", "tour", "lessons"};
    const std::string entry = kEntries[pick(static_cast<int>(std::size(kEntries)))];
    for (const std::string& widget : {std::string("field.scene"), "option.scene." + entry}) {
      const auto rect = session_.rects().find(widget);
      if (!rect) return;
      ImGui::GetIO().MousePos = rect->center();
      for (const bool down : {false, true, false}) {
        ImGui::GetIO().MouseDown[ImGuiMouseButton_Left] = down;
        frame();
      }
    }
  }

  void drag() {
    move();
    frame();
    ImGui::GetIO().MouseDown[0] = true;
    for (int k = 0; k < 4; ++k) {
      frame();
      move();
    }
    ImGui::GetIO().MouseDown[0] = false;
  }

  void wheel() {
    if (pick(2) == 0) move();
    frame();
    modifiers(true);
    const auto turns = static_cast<float>(pick(7) - 3);
    const bool is_horizontal = pick(3) == 0;
    ImGui::GetIO().MouseWheel = is_horizontal ? 0.0f : turns;
    ImGui::GetIO().MouseWheelH = is_horizontal ? turns : 0.0f;
    frame();
    modifiers(false);
  }

  void press_key() {
    constexpr Key kKeys[] = {Key::space, Key::left,    Key::right,    Key::home,  Key::end,
                             Key::plus,  Key::minus,   Key::escape,   Key::c,     Key::f,
                             Key::g,     Key::t,       Key::s,        Key::o,     Key::q,
                             Key::y,     Key::z,       Key::tab,      Key::enter, Key::f1,
                             Key::l,     Key::page_up, Key::page_down};
    const Key key = kKeys[pick(static_cast<int>(std::size(kKeys)))];
    modifiers(true);
    session_.hold(key, true);
    frame();
    session_.hold(key, false);
    modifiers(false);
  }

  void type() {
    constexpr std::string_view kLetters = "0123456789,-:.xabcfpz ";
    const int count = 1 + pick(4);
    for (int k = 0; k < count; ++k) {
      const auto letter =
          kLetters[static_cast<std::size_t>(pick(static_cast<int>(kLetters.size())))];
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(letter));
    }
  }

  void resize() {
    const auto& [width, height] = kSizes[pick(static_cast<int>(std::size(kSizes)))];
    session_.resize(width, height);
  }

  ScreenSession& session_;
  std::mt19937 random_;
  double now_s_ = 0.0;
  double slowest_s_ = 0.0;
};

TEST(Monkey, RandomEventsEndNeitherInACrashNorInASlowFrame) {
  // Scenes that it saves stay in a separate folder
  const auto before = std::filesystem::current_path();
  const auto folder = std::filesystem::path(testing::TempDir()) / "monkey";
  std::filesystem::create_directories(folder);
  ScreenSession session;
  std::filesystem::current_path(folder);
  const int events = number_from("ATTNSCOPE_MONKEY_EVENTS", 1000);
  const auto seed = static_cast<unsigned>(number_from("ATTNSCOPE_MONKEY_SEED", 1));
  Monkey monkey(session, seed);
  for (int k = 0; k < events; ++k) {
    SCOPED_TRACE(fmt::format("event {} of seed {}", k, seed));
    monkey.act();
    if (const auto snapshot = session.app().snapshot()) {
      ASSERT_LT(snapshot->step, snapshot->run->step_count);
      ASSERT_GE(snapshot->step, -1);
    }
    ASSERT_TRUE(session.rects().find("transport.play"));
    ASSERT_TRUE(session.rects().find("transport.scrub") || !session.app().snapshot());
  }
  RecordProperty("slowest_frame_ms", fmt::format("{:.1f}", 1e3 * monkey.slowest_s()));
  fmt::print("slowest frame: {:.1f} ms of CPU time\n", 1e3 * monkey.slowest_s());
#ifndef ATTNSCOPE_SANITIZED
  EXPECT_LT(monkey.slowest_s(), 0.1);
#endif

  // The app is still usable afterwards
  session.app().commands.push(app::OpenScene{"default"});
  session.frame(1e6);
  session.app().view.playing = false;
  session.settle();
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attnscope::test
