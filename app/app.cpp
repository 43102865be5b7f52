#include "app/app.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "app/scene_check.h"
#include "app/step_simulator.h"

namespace attnscope::app {

namespace {

constexpr double kNoticeSeconds = 4.0;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

Request request_for(const Choice& choice, const ViewState& view) {
  return {choice, view.head, view.step, view.query_row, view.O_column, view.race.has_value()};
}

}  // namespace

App::App(Scene opened, const std::function<void()>& wake)
    : view(opened.view),
      scene(std::move(opened)),
      gpu_(wake),
      worker_(StepSimulator{}, wake),
      rival_worker_(StepSimulator{}, wake) {
  if (view.race) opened_tick_ = view.race_tick;
  std::vector<std::string> unreadable;
  measurements.recorded = load_shipped_recordings(unreadable);
  measurements.traced = load_shipped_traces(unreadable);
  if (!unreadable.empty()) show_notice(unreadable.front());
}

bool App::settled() const {
  return !pending_ && !worker_.busy() && published_ == worker_.latest() &&
         (first_error_ || (published_->snapshot && asked_ == request_for(view.choice, view))) &&
         race_settled();
}

void App::show_notice(std::string text) {
  notice = Notice{std::move(text), now_s_ + kNoticeSeconds};
}

void App::update(double now_s) {
  if (notice && now_s_ == 0.0) notice->until_s = now_s + kNoticeSeconds;  // shown before any clock
  const double elapsed_s = now_s_ > 0.0 ? std::min(now_s - now_s_, 0.25) : 0.0;
  now_s_ = now_s;
  take_published();
  for (const Command& command : commands.take()) execute(command);

  // Move the playhead
  run_race(elapsed_s);
  const auto shown = published_->snapshot;
  if (shown && !view.race) {
    player_.advance(*shown->run, view, elapsed_s);
    if (!pending_) view.step = clamp_step(*shown->run, view.step);
  }

  // Take in what the GPU has measured
  if (measurements.live_gpu.empty()) measurements.live_gpu = gpu_.gpu_name();
  if (measurements.live_unavailable.empty()) measurements.live_unavailable = gpu_.reason();
  measurements.running = gpu_.state() == GpuRunner::State::running;
  for (MeasuredRun& run : gpu_.take_results()) {
    const std::string why = run.why_unavailable();
    show_notice(why.empty() ? "measured on " + run.provenance.gpu() : "GPU run: " + why);
    measurements.measured.push_back(std::move(run));
  }

  if (notice && now_s_ > notice->until_s) notice.reset();
  ask_worker();
}

void App::take_published() {
  const auto latest = worker_.latest();
  if (latest == published_) return;
  const bool new_snapshot = latest->snapshot != published_->snapshot;
  published_ = latest;

  // A good answer makes the choice under way the valid one
  if (new_snapshot && pending_ && published_->request.choice == *pending_) {
    view.choice = *pending_;
    pending_.reset();
    refused.reset();
    const AttentionProblem& problem = view.choice.problem;
    const Index rows = published_->snapshot->run->problem.N;  // of a group, where heads are packed
    view.query_row = std::clamp<Index>(view.query_row, 0, rows - 1);
    view.O_column = std::clamp<Index>(view.O_column, 0, problem.d - 1);
    view.step = clamp_step(*published_->snapshot->run, view.step);
  }
  if (new_snapshot) first_error_.reset();

  // A refusal is shown where the choice was made; the last result stays
  if (published_->error && pending_ && published_->failed_request.choice == *pending_) {
    refused = RefusedChoice{*pending_, last_edited_field, published_->error->message, {}, {}, {}};
    pending_.reset();
  } else if (published_->error && !published_->snapshot) {
    first_error_ = published_->error;
  }
}

void App::ask_worker() {
  const Request wanted = request_for(wanted_choice(), view);
  if (asked_ == wanted) return;
  asked_ = wanted;
  worker_.request(wanted);
}

void App::choose(const Choice& choice) {
  if (choice == wanted_choice()) {
    refused.reset();
    return;
  }
  const std::optional<RefusedChoice> before = refused;
  refused = refuse(choice, last_edited_field, view.choice);
  if (refused && before && refused->message == before->message) {
    refused = refuse(choice, before->field, view.choice);  // the field before is still the reason
  }
  if (refused) return;
  player_.restart();
  view.head = std::min(view.head, choice.problem.batch * choice.problem.heads - 1);
  pending_ = choice;
}

void App::open_scene(const std::string& name_or_path) {
  Result<Scene> opened = load_scene(name_or_path);
  std::optional<Error> error;
  if (!opened) error = opened.error();
  if (!error) {
    error = check_choice(opened.value().view.choice);
    if (error) error->message = opened.value().path + ": " + error->message;
  }
  if (!error) error = check_places(opened.value());
  scene_answer = SceneAnswer{error ? error->message : ""};
  if (error) {
    show_notice(error->message);
    return;
  }
  // The looks are the user's, not the scene's, once the app is open
  ViewState next = opened.value().view;
  next.theme = view.theme;
  next.presenter = view.presenter;
  const Choice choice = next.choice;
  next.choice = view.choice;
  scene = std::move(opened.value());
  view = next;
  opened_tick_ = view.race ? view.race_tick : 0;
  player_.restart();
  refused.reset();
  last_edited_field.clear();
  if (!(choice == view.choice)) choose(choice);
}

void App::execute(const Command& command) {
  const auto run = published_->snapshot ? published_->snapshot->run : nullptr;
  if (course_ && view.race) step_race(command);
  std::visit(Overloaded{
                 [&](const SeekTo& seek) {
                   view.playing = false;
                   player_.restart();
                   view.step = run ? clamp_step(*run, seek.step) : seek.step;
                 },
                 [&](const SeekToEnd&) {
                   view.playing = false;
                   player_.restart();
                   if (run) view.step = run->step_count - 1;
                 },
                 [&](const StepBy& by) {
                   view.playing = false;
                   player_.restart();
                   if (run) view.step = moved_step(*run, view.step, by.granularity, by.count);
                 },
                 [&](const TogglePlay&) {
                   view.playing = !view.playing;
                   player_.restart();
                   if (view.playing && run && view.step >= run->step_count - 1) view.step = -1;
                 },
                 [&](const Choose& chosen) { choose(chosen.choice); },
                 [&](const RefuseText& text) {
                   const Choice& shown = refused ? refused->choice : wanted_choice();
                   refused = RefusedChoice{shown, text.field, text.message, {}, {}, text.typed};
                 },
                 [&](const RunOnGpu&) {
                   const bool has_gpu = gpu_.state() != GpuRunner::State::unavailable;
                   if (has_gpu) gpu_.run(view.choice);
                   if (!has_gpu) show_notice("no GPU to run on: " + gpu_.reason());
                 },
                 [&](const CancelWork&) {
                   worker_.cancel();
                   pending_.reset();
                   asked_ = request_for(view.choice, view);
                 },
                 [&](const CopyText& copy) {
                   clipboard_ = copy.text;
                   show_notice("copied " + copy.what);
                 },
                 [&](const SeekTick&) {},  // of a race: step_race()
                 [&](const ChooseRace& chosen) {
                   view.race = chosen.race;
                   view.race_tick = course_ ? view.race_tick : 0;
                   player_.restart();
                 },
                 [&](const SavePicture& picture) { pictures_.push_back(picture); },
                 [&](const OpenScene& open) { open_scene(open.name_or_path); },
                 [&](const SaveScene& save) {
                   Scene saved = scene;
                   saved.view = view;
                   const auto error = save_scene(saved, save.path);
                   scene_answer = SceneAnswer{error ? error->message : ""};
                   show_notice(error ? error->message : "saved " + save.path);
                 },
                 [&](const Quit&) { quit_ = true; },
                 [&](const ShowNotice& show) { show_notice(show.text); },
             },
             command);
}

}  // namespace attnscope::app
