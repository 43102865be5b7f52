#include "tests/gui/window_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

namespace attnscope::app {

namespace {

using namespace std::chrono_literals;

constexpr int kMaxFrames = 3000;           // minutes at rest: ends a session whose test failed
constexpr std::size_t kAnswerFrames = 5;   // until a command has had all of its effects
constexpr std::size_t kPressedFrames = 2;  // to draw a mouse button that is held down
constexpr std::size_t kRestingFrames = 3;  // at rest, after which it will stay so
constexpr auto kLongestWait = 60s;
constexpr int kMaxCaptures = 60;  // more frames than a notice takes to fade

}  // namespace

Rect rect_in(const nlohmann::json& dump, const std::string& widget) {
  const auto& rects = dump["rects"];
  if (!rects.contains(widget)) throw std::runtime_error("no widget " + widget);
  const auto& r = rects[widget];
  return {{r[0].get<float>(), r[1].get<float>()}, {r[2].get<float>(), r[3].get<float>()}};
}

Display::Display(int width, int height) {
  // The server writes the free display number that it found to a file; -noreset keeps it from
  // resetting when the last window closes
  const std::string number = folder_ / "number";
  const std::string command =
      fmt::format("exec Xvfb -displayfd 5 -screen 0 {}x{}x24 -nolisten tcp -noreset 5>{}", width,
                  height, number);
  server_ = std::make_unique<Process>(std::vector<std::string>{"bash", "-c", command},
                                      std::vector<std::string>{});
  for (int tries = 0; tries < 200; ++tries) {
    const std::string text = read_file(number);
    if (text.ends_with('\n')) {
      name_ = fmt::format(":{}", std::string_view(text).substr(0, text.size() - 1));
      return;
    }
    std::this_thread::sleep_for(50ms);
  }
  throw std::runtime_error("Xvfb did not start; install the Debian package xvfb");
}

namespace {

/// What the app prints when it ends at once. The sessions of one process that start it in the same
/// way share it.
const std::string& dump_of_fresh_app(const std::vector<std::string>& words,
                                     const Display& display) {
  static std::map<std::vector<std::string>, std::string> dumps;
  std::string& dump = dumps[words];
  if (!dump.empty()) return dump;
  const Finished fresh = run(words, {display.setting()});
  if (fresh.status != 0) throw std::runtime_error("the app failed: " + fresh.errors);
  return dump = fresh.output;
}

}  // namespace

WindowSession::WindowSession(int width, int height, const std::string& scene)
    : WindowSession(width, height, std::vector<std::string>{"--scene", scene}) {}

WindowSession::WindowSession(int width, int height, const std::vector<std::string>& arguments)
    : display_(width, height) {
  const std::string size = fmt::format("{}x{}", width, height);
  std::vector<std::string> words{ATTNSCOPE_PROGRAM, "--dump-ui", "--size", size};
  words.insert(words.end(), arguments.begin(), arguments.end());
  first_dump_ = dump_of_fresh_app(words, display_);

  std::vector<std::string> longer = words;
  longer.insert(longer.end(), {"--frames", std::to_string(kMaxFrames), "--log-frames"});
  app_ = std::make_unique<Process>(longer, std::vector<std::string>{display_.setting()});
  std::ignore = screenshot();
}

void WindowSession::run_there(const std::string& command) {
  const Finished done = run({"bash", "-c", command}, {display_.setting()});
  if (done.status != 0) throw std::runtime_error(command + ": " + done.errors);
}

void WindowSession::do_and_wait(const std::string& command) {
  run_there(command);
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
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (std::chrono::steady_clock::now() < end) {
    const std::vector<std::string> drawn = frames();
    const auto last = drawn.end() - static_cast<std::ptrdiff_t>(std::min(count, drawn.size()));
    const bool enough = drawn.size() >= first + count;
    if (enough && (!idle || std::all_of(last, drawn.end(), is_idle))) return;
    std::this_thread::sleep_for(10ms);
  }
  throw std::runtime_error("the app does not answer");
}

void WindowSession::key(const std::string& name) {
  do_and_wait("xdotool key " + name);
}

void WindowSession::type(const std::string& text) {
  do_and_wait("xdotool type --delay 60 " + text);
}

void WindowSession::click(const std::string& widget) {
  click_at(rect_of(widget));
}

void WindowSession::click_at(const Rect& rect, int button) {
  do_and_wait(fmt::format("xdotool mousemove {} {}", static_cast<int>(rect.center().x),
                          static_cast<int>(rect.center().y)));
  run_there(fmt::format("xdotool mousedown {}", button));
  wait_for_frames(kPressedFrames, false);
  do_and_wait(fmt::format("xdotool mouseup {}", button));
}

void WindowSession::drag_to(const std::string& widget, float share) {
  const Rect rect = rect_of(widget);
  const int x = static_cast<int>(rect.min.x + rect.width() * share);
  const int y = static_cast<int>(rect.center().y);
  do_and_wait(fmt::format("xdotool mousemove {} {}", static_cast<int>(rect.center().x), y));
  run_there("xdotool mousedown 1");
  wait_for_frames(kPressedFrames, false);
  run_there(fmt::format("xdotool mousemove {} {}", x, y));
  wait_for_frames(kPressedFrames, false);
  do_and_wait("xdotool mouseup 1");
}

void WindowSession::send(const std::string& input) {
  run_there("xdotool " + input);
  wait_for_frames(kPressedFrames, false);
}

void WindowSession::rest() {
  wait_for_frames(kRestingFrames, true);
}

Picture WindowSession::capture() {
  const std::string path = folder_ / "shot.bmp";  // a format without compression
  run_there("import -window root " + path);
  return read_picture(path);
}

Picture WindowSession::screenshot() {
  Picture last;
  for (int captures = 0; captures < kMaxCaptures; ++captures) {
    wait_for_frames(kAnswerFrames, true);
    Picture next = capture();
    if (next == last && has_colors(next)) return next;  // one colour: the window is not shown
    last = std::move(next);
  }
  throw std::runtime_error("the picture on the screen never came to rest");
}

Rect WindowSession::rect_of(const std::string& widget) const {
  return rect_in(nlohmann::json::parse(first_dump_), widget);
}

Finished WindowSession::interrupt() {
  app_->send(SIGINT);
  return app_->wait();
}

nlohmann::json WindowSession::final_dump() {
  std::ignore = screenshot();
  run_there("xdotool key ctrl+q");
  const Finished finished = app_->wait();
  if (finished.status != 0) throw std::runtime_error("the app failed: " + finished.errors);
  const std::size_t after_frames = std::min(finished.output.find('{'), finished.output.size());
  return nlohmann::json::parse(finished.output.substr(after_frames));
}

nlohmann::json WindowSession::final_state() {
  return final_dump()["state"];
}

}  // namespace attnscope::app
