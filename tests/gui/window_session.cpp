#include "tests/gui/window_session.h"

#include <fmt/core.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace attnscope::app {

namespace {

using namespace std::chrono_literals;

constexpr int kMaxFrames = 3000;     // minutes at rest: ends a session that went wrong
constexpr auto kAnswerTime = 350ms;  // many frames, unless the machine is busy
constexpr int kMaxCaptures = 60;     // longer than a sanitizer's slowest frame

}  // namespace

Rect rect_in(const nlohmann::json& dump, const std::string& widget) {
  const auto& rects = dump["rects"];
  if (!rects.contains(widget)) throw std::runtime_error("no widget " + widget);
  const auto& r = rects[widget];
  return {{r[0].get<float>(), r[1].get<float>()}, {r[2].get<float>(), r[3].get<float>()}};
}

Display::Display(int width, int height) {
  // The server writes the number that it found free into a file; it stays as it is when the last
  // window closes
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

WindowSession::WindowSession(int width, int height, const std::string& scene)
    : display_(width, height) {
  const std::string size = fmt::format("{}x{}", width, height);
  const std::vector<std::string> words{ATTNSCOPE_PROGRAM, "--dump-ui", "--scene", scene,
                                       "--size",          size};
  const Finished first = run(words, {display_.setting()});
  if (first.status != 0) throw std::runtime_error("the app failed: " + first.errors);
  first_dump_ = first.output;

  std::vector<std::string> longer = words;
  longer.insert(longer.end(), {"--frames", std::to_string(kMaxFrames)});
  app_ = std::make_unique<Process>(longer, std::vector<std::string>{display_.setting()});
  std::this_thread::sleep_for(1500ms);
  std::ignore = screenshot();
}

void WindowSession::do_and_wait(const std::string& command) {
  const Finished done = run({"bash", "-c", command}, {display_.setting()});
  if (done.status != 0) throw std::runtime_error(command + ": " + done.errors);
  std::this_thread::sleep_for(kAnswerTime);
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

void WindowSession::click_at(const Rect& rect) {
  do_and_wait(fmt::format("xdotool mousemove {} {} sleep 0.2 mousedown 1 sleep 0.1 mouseup 1",
                          static_cast<int>(rect.center().x), static_cast<int>(rect.center().y)));
}

void WindowSession::drag_to(const std::string& widget, float share) {
  const Rect rect = rect_of(widget);
  const int x = static_cast<int>(rect.min.x + rect.width() * share);
  const int y = static_cast<int>(rect.center().y);
  do_and_wait(
      fmt::format("xdotool mousemove {0} {2} sleep 0.2 mousedown 1 sleep 0.1 mousemove "
                  "{1} {2} sleep 0.3 mouseup 1",
                  static_cast<int>(rect.center().x), x, y));
}

Picture WindowSession::capture() {
  const std::string path = folder_ / "shot.bmp";  // nothing to compress
  do_and_wait("import -window root " + path);
  return read_picture(path);
}

Picture WindowSession::screenshot() {
  Picture last = capture();
  for (int captures = 1; captures < kMaxCaptures; ++captures) {
    Picture next = capture();
    if (next == last && count_colors(next) > 1) return next;  // one colour: the window is not there
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
  key("ctrl+q");
  const Finished finished = app_->wait();
  if (finished.status != 0) throw std::runtime_error("the app failed: " + finished.errors);
  return nlohmann::json::parse(finished.output);
}

nlohmann::json WindowSession::final_state() {
  return final_dump()["state"];
}

}  // namespace attnscope::app
