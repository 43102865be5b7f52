#include "tests/gui/window_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/app/screen/screen_session.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {

namespace {

constexpr int kMaxFrames = 18000;          // five minutes: ends a session whose test failed
constexpr std::size_t kAnswerFrames = 5;   // until a command has had all of its effects
constexpr std::size_t kPressedFrames = 2;  // to draw a mouse button that is held down
constexpr std::size_t kRestingFrames = 3;  // at rest, after which it will stay so
constexpr int kMaxCaptures = 60;           // more frames than a notice takes to fade

}  // namespace

Rect rect_in(const nlohmann::json& dump, const std::string& widget) {
  const auto& rects = dump["rects"];
  if (!rects.contains(widget)) throw std::runtime_error("no widget " + widget);
  const auto& r = rects[widget];
  return {{r[0].get<float>(), r[1].get<float>()}, {r[2].get<float>(), r[3].get<float>()}};
}

/// A running Xvfb. It keeps its screen in a file, which is read much faster than through X.
class Display::Server {
 public:
  Server(int width, int height) : width_(width), height_(height) {
    // The server writes the free display number that it found to a file; -noreset keeps it from
    // resetting when the last window closes
    const std::string number = folder_ / "number";
    const std::string command = fmt::format(
        "exec Xvfb -displayfd 5 -screen 0 {}x{}x24 -fbdir {} -nocursor -nolisten tcp -noreset 5>{}",
        width, height, folder_.path().string(), number);
    process_ = std::make_unique<Process>(std::vector<std::string>{"bash", "-c", command},
                                         std::vector<std::string>{});
    std::string text;
    const auto started = [&] {
      text = read_file(number);
      return text.ends_with('\n');
    };
    if (!test::wait_until(started, process_->id())) {
      throw std::runtime_error("Xvfb did not start; install the Debian package xvfb");
    }
    name_ = fmt::format(":{}", std::string_view(text).substr(0, text.size() - 1));
  }

  bool has_size(int width, int height) const { return width_ == width && height_ == height; }
  std::string setting() const { return "DISPLAY=" + name_; }
  Picture screen() const { return read_screen(folder_ / "Xvfb_screen0"); }

 private:
  const int width_, height_;
  ScratchFolder folder_;
  std::string name_;
  std::unique_ptr<Process> process_;
};

std::vector<std::unique_ptr<Display::Server>>& Display::unused() {
  static std::vector<std::unique_ptr<Server>> servers;
  return servers;
}

Display::Display(int width, int height) {
  std::vector<std::unique_ptr<Server>>& all = unused();
  const auto found =
      std::ranges::find_if(all, [&](const auto& each) { return each->has_size(width, height); });
  if (found == all.end()) {
    server_ = std::make_unique<Server>(width, height);
    return;
  }
  server_ = std::move(*found);
  all.erase(found);
  // A failed test may have left a button or a key down
  const std::string at_first =
      fmt::format("xdotool mouseup 1 mouseup 3 keyup ctrl mousemove {} {}", width / 2, height / 2);
  if (run({"bash", "-c", at_first}, {setting()}).status != 0) throw std::runtime_error(at_first);
}

Display::~Display() {
  unused().push_back(std::move(server_));
}

std::string Display::setting() const {
  return server_->setting();
}

Picture Display::capture() const {
  return server_->screen();
}

WindowSession::WindowSession(int width, int height, Opened opened)
    : display_(width, height), width_(width), height_(height), opened_(std::move(opened)) {
  std::vector<std::string> words{ATTNSCOPE_PROGRAM, "--dump-ui", "--size",
                                 fmt::format("{}x{}", width, height)};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (opened_.lesson.empty()) add("--scene", opened_.scene);
  add("--lesson", opened_.lesson);
  if (opened_.step) add("--step", std::to_string(*opened_.step));
  add("--answers", opened_.answers);
  words.insert(words.end(), {"--frames", std::to_string(kMaxFrames), "--log-frames"});
  app_ = std::make_unique<Process>(words, std::vector<std::string>{display_.setting()});
  std::ignore = screenshot();
}

void WindowSession::run_there(const std::string& input) {
  // The X server answers a question only once it has sent the app the events before it
  const std::string command = fmt::format("xdotool {} getmouselocation", input);
  const Finished done = run({"bash", "-c", command}, {display_.setting()});
  if (done.status != 0) throw std::runtime_error(command + ": " + done.errors);
}

void WindowSession::do_and_wait(const std::string& input) {
  run_there(input);
  wait_for_frames(kAnswerFrames, true);
}

void WindowSession::wait_for_frames(std::size_t count, bool idle) {
  const auto frames = [&] {
    std::istringstream log(app_->output());
    return std::vector<std::string>(std::istream_iterator<std::string>(log), {});
  };
  const auto is_idle = [](const std::string& frame) {
    return frame == "rests" || frame == "plays";
  };
  const std::size_t first = frames().size() + 1;  // the frame being drawn began before this call
  const auto answered = [&] {
    const std::vector<std::string> drawn = frames();
    const auto last = drawn.end() - static_cast<std::ptrdiff_t>(std::min(count, drawn.size()));
    const bool enough = drawn.size() >= first + count;
    return enough && (!idle || std::all_of(last, drawn.end(), is_idle));
  };
  if (!test::wait_until(answered, app_->id())) throw std::runtime_error("the app does not answer");
}

void WindowSession::key(const std::string& name) {
  do_and_wait("key " + name);
}

void WindowSession::type(const std::string& text) {
  do_and_wait(fmt::format("type --args 1 --delay 60 '{}'", text));
}

void WindowSession::click(const std::string& widget) {
  click_at(rect_of(widget));
}

void WindowSession::click_at(const Rect& rect, int button) {
  do_and_wait(fmt::format("mousemove {} {}", static_cast<int>(rect.center().x),
                          static_cast<int>(rect.center().y)));
  run_there(fmt::format("mousedown {}", button));
  wait_for_new_frames();
  do_and_wait(fmt::format("mouseup {}", button));
}

void WindowSession::drag_to(const std::string& widget, float share) {
  const Rect rect = rect_of(widget);
  const int x = static_cast<int>(rect.min.x + rect.width() * share);
  const int y = static_cast<int>(rect.center().y);
  do_and_wait(fmt::format("mousemove {} {}", static_cast<int>(rect.center().x), y));
  run_there("mousedown 1");
  wait_for_new_frames();
  run_there(fmt::format("mousemove {} {}", x, y));
  wait_for_new_frames();
  do_and_wait("mouseup 1");
}

void WindowSession::send(const std::string& input) {
  run_there(input);
  wait_for_new_frames();
}

void WindowSession::wait_for_new_frames() {
  wait_for_frames(kPressedFrames, false);
}

void WindowSession::rest() {
  wait_for_frames(kRestingFrames, true);
}

Picture WindowSession::screenshot() {
  Picture last;
  for (int captures = 0; captures < kMaxCaptures; ++captures) {
    wait_for_frames(kAnswerFrames, true);
    run_there("");  // answered once the app's pictures have arrived
    Picture next = capture();
    if (next == last && has_colors(next)) return next;  // one colour: the window is not shown
    last = std::move(next);
  }
  throw std::runtime_error("the picture on the screen never came to rest");
}

Rect WindowSession::rect_of(const std::string& widget) const {
  // The sessions of one process that start the app in the same way share the first screen
  using Start = std::tuple<int, int, std::string, std::string, std::size_t>;
  static std::map<Start, NamedRects> screens;
  const std::size_t step = opened_.step.value_or(1);
  const Start start{width_, height_, opened_.scene, opened_.lesson, step};
  auto place = screens.find(start);
  if (place == screens.end()) {
    test::ScreenSession screen(opened_.scene);
    screen.resize(static_cast<float>(width_), static_cast<float>(height_));
    if (opened_.lesson.empty()) {
      screen.settle();
    } else {
      screen.open_lesson(opened_.lesson, step);
    }
    place = screens.emplace(start, screen.rects()).first;
  }
  const auto rect = place->second.find(widget);
  if (!rect) throw std::runtime_error("no widget " + widget);
  return *rect;
}

Finished WindowSession::interrupt() {
  app_->send(SIGINT);
  return app_->wait();
}

nlohmann::json WindowSession::final_dump() {
  std::ignore = screenshot();
  // Without the question of run_there(): the window may close before it is answered
  std::ignore = run({"xdotool", "key", "ctrl+q"}, {display_.setting()});
  const Finished finished = app_->wait();
  if (finished.status != 0) throw std::runtime_error("the app failed: " + finished.errors);
  const std::size_t after_frames = std::min(finished.output.find('{'), finished.output.size());
  return nlohmann::json::parse(finished.output.substr(after_frames));
}

nlohmann::json WindowSession::final_state() {
  return final_dump()["state"];
}

}  // namespace attnscope::app
