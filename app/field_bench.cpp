#include "app/field_bench.h"

#include <fmt/format.h>
#include <imgui.h>
#include <stdlib.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "reference/npy.h"

namespace attnscope::app {

namespace {

constexpr int kFramesAfterChange = 8;
constexpr int kFramesToLook = 4;       // at an open list
constexpr int kPatienceFrames = 120;   // for a widget to appear
constexpr int kFramesForPanels = 250;  // for the work of panels, which may take longer
constexpr int kMostFrames = 5000;      // for a choice to be simulated

/// A folder that nobody else uses; empty when none can be made: the fields that take files are then
/// reported as refused.
std::filesystem::path new_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attnscope-XXXXXX").string();
  return ::mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
}

/// Writes a tensor of this shape; its path.
std::string write_tensor(const std::filesystem::path& path, const std::vector<Index>& shape) {
  Index count = 1;
  for (const Index size : shape) count *= size;
  const std::vector<double> values(static_cast<std::size_t>(count), 0.5);
  std::ignore = write_npy(path.string(), shape, values);
  return path.string();
}

/// Tensors of the problem's shapes in the folder.
InputPaths write_tensors(const std::filesystem::path& folder, const AttentionProblem& problem) {
  const std::vector<Index> queries{problem.batch, problem.heads, problem.N, problem.d};
  const std::vector<Index> keys{problem.batch, problem.kv_heads, problem.N_kv, problem.d};
  return {write_tensor(folder / "q.npy", queries), write_tensor(folder / "k.npy", keys),
          write_tensor(folder / "v.npy", keys), write_tensor(folder / "do.npy", queries)};
}

void set_look(ViewState& view, const FieldAction& action) {
  const bool on = action.value == "on";
  if (action.place == "theme")
    view.theme = parse_name<ThemeName>(action.value).value_or(view.theme);
  if (action.place == "presenter") view.presenter = on;
  if (action.place == "large_chart") view.large_chart = on;
  if (action.place == "keys") view.show_keys = on;
}

}  // namespace

FieldBench::FieldBench(const App& app, int runs)
    : folder_(new_folder()), opened_(app.view), scene_path_(app.scene.path), runs_(runs) {
  scripts_ = field_scripts(write_tensors(folder_, opened_.choice.problem));
  slowest_s_.assign(scripts_.size(), std::vector<double>(static_cast<std::size_t>(runs), 0.0));
  doing_ = "opening the scene";
  plan_settled({});
}

FieldBench::~FieldBench() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void FieldBench::steer(App& app, const NamedRects& rects, bool busy) {
  const Now now{app, rects, busy};
  if (steps_.empty() && !finished()) next_field();
  if (!steps_.empty()) {
    // A step may put others before those that wait
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    if (step(now)) {
      waited_ = 0;
    } else {
      ++waited_;
      steps_.push_front(step);
    }
  }
  move_mouse();
}

void FieldBench::move_mouse() {
  ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM >= 18700
  io.AddMousePosEvent(mouse_.x, mouse_.y);
  io.AddMouseButtonEvent(0, pressed_);
#else
  io.MousePos = mouse_;
  io.MouseDown[0] = pressed_;
#endif
}

void FieldBench::add(double cpu_s) {
  if (!started_ || finished()) return;
  double& slowest = slowest_s_[field_][static_cast<std::size_t>(run_)];
  slowest = std::max(slowest, cpu_s);
}

void FieldBench::next_field() {
  if (started_ && ++field_ == scripts_.size()) {
    field_ = 0;
    ++run_;
  }
  started_ = true;
  if (finished()) return;
  for (const FieldAction& action : scripts_[field_].actions) plan(action);
  plan_restore();
}

void FieldBench::plan(const FieldAction& action) {
  using Kind = FieldAction::Kind;
  steps_.push_back([this, action](const Now&) {
    doing_ = fmt::format("field {}: {} {}", scripts_[field_].field, action.place, action.value);
    return true;
  });
  const std::string box = "field." + action.place;
  if (action.kind == Kind::press) plan_press(action.place);
  if (action.kind == Kind::look) {
    steps_.push_back([action](const Now& now) {
      set_look(now.app.view, action);
      return true;
    });
  }
  if (action.kind == Kind::press || action.kind == Kind::look) {
    plan_settled(action);
    return;
  }
  plan_show(action.place);
  if (action.kind == Kind::type) {
    plan_press(box);
    steps_.push_back([action](const Now&) {
      ImGui::GetIO().AddInputCharactersUTF8(action.value.c_str());
      return true;
    });
    plan_wait(1);
    plan_leave(action.place);
  }
  if (action.kind == Kind::pick || action.kind == Kind::open) {
    // The list of a box that can be typed into hangs on its arrow
    steps_.push_back([this, box](const Now& now) {
      plan_first([&] { plan_press(now.rects.find(box + ".list") ? box + ".list" : box); });
      return true;
    });
    plan_wait(kFramesToLook);
  }
  if (action.kind == Kind::pick) plan_press("option." + action.place + "." + action.value);
  if (action.kind != Kind::open) plan_settled(action);
  if (action.refused && !action.stays) plan_press("refusal.dismiss");
  plan_close_lists();
}

void FieldBench::plan_first(const std::function<void()>& plan_these) {
  std::deque<Step> later = std::exchange(steps_, {});
  plan_these();
  std::ranges::move(later, std::back_inserter(steps_));
}

bool FieldBench::aim(const Now& now, const std::string& widget, bool beside) {
  const auto rect = now.rects.find(widget);
  if (!rect && waited_ < kPatienceFrames) return false;
  if (!rect) {
    problems_.push_back(fmt::format("{}: there is no {}", doing_, widget));
    return true;
  }
  // Left of a box stands its label, which takes no click
  mouse_ = beside ? ImVec2{rect->min.x - 4.0f, rect->center().y} : rect->center();
  return true;
}

void FieldBench::plan_press(const std::string& widget) {
  steps_.push_back([this, widget](const Now& now) { return aim(now, widget, false); });
  plan_click();
}

void FieldBench::plan_click() {
  plan_wait(1);
  for (const bool down : {true, false}) {
    steps_.push_back([this, down](const Now&) {
      pressed_ = down;
      return true;
    });
  }
  plan_wait(2);
}

void FieldBench::plan_leave(const std::string& field) {
  steps_.push_back([this, field](const Now& now) { return aim(now, "field." + field, true); });
  plan_click();
}

void FieldBench::plan_show(const std::string& field) {
  steps_.push_back([this, field](const Now& now) {
    if (now.rects.find("field." + field)) return true;
    plan_first([this] {
      plan_press("field.more");
      plan_wait(kFramesToLook);
    });
    return true;
  });
}

void FieldBench::plan_close_lists() {
  // A click beside a list closes it; this corner of the top bar is empty
  steps_.push_back([this](const Now&) {
    mouse_ = {2.0f, 2.0f};
    pressed_ = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup) && !pressed_;
    return !pressed_ && !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  });
  plan_wait(2);
}

void FieldBench::plan_wait(int frames) {
  steps_.push_back([this, frames](const Now&) { return waited_ + 1 >= frames; });
}

void FieldBench::plan_settled(const FieldAction& action) {
  steps_.push_back([this, action](const Now& now) {
    if (waited_ < kFramesAfterChange) return false;
    if (!now.app.settled() && waited_ < kMostFrames) return false;
    if (!now.app.settled()) problems_.push_back(doing_ + ": not simulated in time");
    const auto& refused = now.app.refused;
    if (refused && !action.refused) {
      problems_.push_back(fmt::format("{}: refused: {}", doing_, refused->message));
    }
    if (!refused && action.refused) problems_.push_back(doing_ + ": accepted");
    return true;
  });
}

void FieldBench::plan_restore() {
  steps_.push_back([this](const Now& now) {
    doing_ = "back from field " + scripts_[field_].field;
    App& app = now.app;
    const bool other_scene = app.scene.path != scene_path_;
    if (other_scene) app.commands.push(OpenScene{scene_path_});
    if (app.view.race) app.commands.push(ChooseRace{});
    app.commands.push(Choose{opened_.choice});
    return true;
  });
  plan_wait(2);
  plan_settled({});
  steps_.push_back([this](const Now& now) { return !now.busy || waited_ >= kFramesForPanels; });
}

std::string FieldBench::report() const {
  std::string text = fmt::format("{:<16}", "field");
  for (int run = 1; run <= runs_; ++run) text += fmt::format("{:>10}", fmt::format("run {}", run));
  text += "\n";
  double slowest_s = 0.0;
  std::string slowest_field;
  for (std::size_t field = 0; field < scripts_.size(); ++field) {
    text += fmt::format("{:<16}", scripts_[field].field);
    for (const double seconds : slowest_s_[field]) {
      text += fmt::format("{:>7.2f} ms", seconds * 1e3);
      if (seconds <= slowest_s) continue;
      slowest_s = seconds;
      slowest_field = scripts_[field].field;
    }
    text += "\n";
  }
  return text + fmt::format("slowest frame of {} runs: {:.2f} ms, field {}\n", runs_,
                            slowest_s * 1e3, slowest_field);
}

}  // namespace attnscope::app
