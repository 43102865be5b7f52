#include "tests/bench/field_bench.h"

#include <fmt/format.h>
#include <imgui.h>
#include <stdlib.h>

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "reference/npy.h"

namespace attnscope::app {

namespace {

constexpr int kFramesAfterChange = 8;
constexpr int kFramesToLook = 4;       // frames that a list stays open
constexpr int kPatienceFrames = 120;   // frames to wait for a widget to appear
constexpr int kFramesForPanels = 250;  // frames to wait for panels, whose work may take longer
constexpr int kMostFrames = 5000;      // frames to wait for the simulation of a choice

/// Creates a folder and returns its path, or an empty path if that fails: fields that take files
/// are then reported as rejected.
std::filesystem::path new_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attnscope-XXXXXX").string();
  return ::mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
}

/// Writes a tensor of this shape; returns its path.
std::string write_tensor(const std::filesystem::path& path, const std::vector<Index>& shape) {
  Index count = 1;
  for (const Index size : shape) count *= size;
  const std::vector<double> values(static_cast<std::size_t>(count), 0.5);
  std::ignore = write_npy(path.string(), shape, values);
  return path.string();
}

/// Writes tensors of the problem's shapes to the folder; returns their paths.
InputPaths write_tensors(const std::filesystem::path& folder, const AttentionProblem& problem) {
  const std::vector<Index> queries{problem.batch, problem.heads, problem.N, problem.d};
  const std::vector<Index> keys{problem.batch, problem.kv_heads, problem.N_kv, problem.d};
  return {write_tensor(folder / "q.npy", queries), write_tensor(folder / "k.npy", keys),
          write_tensor(folder / "v.npy", keys), write_tensor(folder / "do.npy", queries)};
}

}  // namespace

FieldBench::FieldBench(App& app, const Screen& screen, DrawFrame draw_frame)
    : app_(app),
      screen_(screen),
      draw_frame_(std::move(draw_frame)),
      folder_(new_folder()),
      opened_choice_(app.view.choice),
      scene_path_(app.scene.path),
      scripts_(field_scripts(write_tensors(folder_, opened_choice_.problem))) {}

FieldBench::~FieldBench() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void FieldBench::run(int runs) {
  const auto run_count = static_cast<std::size_t>(runs);
  slowest_s_.assign(scripts_.size(), std::vector<double>(run_count, 0.0));
  settle(false);
  for (std::size_t run = 0; run < run_count; ++run) {
    for (std::size_t field = 0; field < scripts_.size() && !closed_; ++field) {
      const FieldScript& script = scripts_[field];
      charged_ = &slowest_s_[field][run];
      for (const FieldAction& action : script.actions) {
        doing_ = fmt::format("field {}: {} {}", script.field, action.place, action.value);
        act(action);
      }
      doing_ = "back from field " + script.field;
      restore();
    }
  }
}

void FieldBench::frames(int count) {
  const auto put_mouse = [this] {
    ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM >= 18700
    io.AddMousePosEvent(mouse_.x, mouse_.y);
    io.AddMouseButtonEvent(0, pressed_);
#else
    io.MousePos = mouse_;
    io.MouseDown[0] = pressed_;
#endif
  };
  for (int frame = 0; frame < count && !closed_; ++frame) {
    const std::optional<double> cpu_s = draw_frame_(put_mouse);
    closed_ = !cpu_s;
    if (cpu_s && charged_ != nullptr) *charged_ = std::max(*charged_, *cpu_s);
  }
}

/// Draws up to `most` frames until done() is true; returns whether it became true.
bool FieldBench::frames_until(const std::function<bool()>& done, int most) {
  for (int frame = 0; !done(); ++frame) {
    if (frame >= most || closed_) return false;
    frames(1);
  }
  return true;
}

void FieldBench::note_problem(const std::string& what) {
  if (!closed_) problems_.push_back(doing_ + ": " + what);
}

void FieldBench::act(const FieldAction& action) {
  using Kind = FieldAction::Kind;
  frames(1);
  if (action.kind == Kind::press) {
    press(action.place);
    return settle(action.refused);
  }
  if (action.kind == Kind::look) {
    action.set(app_.view);
    frames(1);
    return settle(action.refused);
  }

  const std::string box = "field." + action.place;
  show(box);
  if (action.kind == Kind::type) {
    press(box);
    ImGui::GetIO().AddInputCharactersUTF8(action.value.c_str());
    frames(2);
    aim(box, /*beside=*/true);
    click();
  } else {
    // The list of a text box opens with its arrow
    const std::string list = find(box + ".list") ? box + ".list" : box;
    frames(1);
    press(list);
    frames(kFramesToLook);
  }
  if (action.kind == Kind::pick) press("option." + action.place + "." + action.value);
  if (action.kind != Kind::open) settle(action.refused);
  if (action.refused && !action.stays) press("refusal.dismiss");
  close_lists();
}

void FieldBench::aim(const std::string& widget, bool beside) {
  if (frames_until([&] { return find(widget).has_value(); }, kPatienceFrames)) {
    // The label to the left of a box does not react to clicks
    const Rect rect = *find(widget);
    mouse_ = beside ? ImVec2{rect.min.x - 4.0f, rect.center().y} : rect.center();
  } else {
    note_problem("there is no " + widget);
  }
  frames(2);
}

void FieldBench::click() {
  pressed_ = true;
  frames(1);
  pressed_ = false;
  frames(3);
}

void FieldBench::press(const std::string& widget) {
  aim(widget);
  click();
}

/// Opens the fields behind the "more" button if the box is one of them.
void FieldBench::show(const std::string& box) {
  const bool hidden = !find(box);
  frames(1);
  if (!hidden) return;
  press("field.more");
  frames(kFramesToLook);
}

void FieldBench::close_lists() {
  // A click beside a list closes it; this corner of the top bar is empty
  mouse_ = {2.0f, 2.0f};
  for (bool open = true; open && !closed_;) {
    open = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
    pressed_ = open && !pressed_;
    frames(1);
  }
  frames(2);
}

/// Waits for the result of a change, which must be rejected or accepted.
void FieldBench::settle(bool refused) {
  frames(kFramesAfterChange);
  if (!frames_until([this] { return app_.settled(); }, kMostFrames)) {
    note_problem("not simulated in time");
  }
  if (app_.refused && !refused) note_problem("refused: " + app_.refused->message);
  if (!app_.refused && refused) note_problem("accepted");
  frames(1);
}

void FieldBench::restore() {
  if (app_.scene.path != scene_path_) app_.commands.push(OpenScene{scene_path_});
  if (app_.view.race) app_.commands.push(ChooseRace{});
  app_.commands.push(Choose{opened_choice_});
  frames(3);
  settle(false);
  frames_until([this] { return !screen_.busy(); }, kFramesForPanels);
  frames(1);
}

namespace {

double slowest_run(const std::vector<double>& runs) {
  return std::ranges::max(runs);
}

}  // namespace

std::string FieldBench::report() const {
  std::string text = fmt::format("{:<16}", "field");
  const std::size_t runs = slowest_s_.front().size();
  for (std::size_t run = 1; run <= runs; ++run) {
    text += fmt::format("{:>10}", fmt::format("run {}", run));
  }
  text += "\n";
  for (std::size_t field = 0; field < scripts_.size(); ++field) {
    text += fmt::format("{:<16}", scripts_[field].field);
    for (const double seconds : slowest_s_[field]) {
      text += fmt::format("{:>7.2f} ms", seconds * 1e3);
    }
    text += "\n";
  }
  // A frame that another program delayed is slow in only one run; one with too much work is slow in
  // each
  const auto slowest = [&](std::string_view what, const auto& of_runs) {
    const auto most = std::ranges::max_element(slowest_s_, {}, of_runs);
    return fmt::format("{}: {:.2f} ms, field {}\n", what, of_runs(*most) * 1e3,
                       scripts_[static_cast<std::size_t>(most - slowest_s_.begin())].field);
  };
  const auto fastest_run = [](const std::vector<double>& of_field) {
    return std::ranges::min(of_field);
  };
  return text + slowest(fmt::format("slowest frame of {} runs", runs), slowest_run) +
         slowest("slowest in every run", fastest_run);
}

double FieldBench::slowest_s() const {
  return slowest_run(*std::ranges::max_element(slowest_s_, {}, slowest_run));
}

}  // namespace attnscope::app
