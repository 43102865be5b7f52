#include "app/app.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/files/user_state.h"
#include "app/jobs/refuse.h"
#include "app/scene/choice_rules.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace {

constexpr double kNoticeSeconds = 4.0;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// The index, which may come from another problem, clamped to the heads of this problem.
Index nearest_head(const AttentionProblem& problem, Index head) {
  return std::clamp<Index>(head, 0, std::max<Index>(problem.batch * problem.heads, 1) - 1);
}

}  // namespace

App::App(Scene opened, const std::function<void()>& wake)
    : view(opened.view),
      scene(std::move(opened)),
      gpu_(wake),
      worker_(StepSimulator(gpus), wake,
              [gpus = gpus](const RunSpec& refused_choice, const Error& error,
                            const RunSpec& last_valid, const WorkControl& control) {
                return refuse(refused_choice, error, last_valid, *gpus, control);
              }),
      rival_worker_(StepSimulator(gpus), wake),
      files_(wake) {
  if (view.race) opened_tick_ = view.race_tick;
  lesson_player.wait_for_gpu();
  pending_ = view.choice;
  scene.view.welcome = false;  // shown once, not again by scenes made from this one
  opening_ = Opening{scene, scene.view};
  read_shipped_files();
}

bool App::settled() const {
  return !files_.busy() && lesson_player.settled() && quiz.settled() && !asked_quiz_ && !glide_ &&
         !searching_ && !pending_ && !worker_.busy() && published_ == worker_.latest() &&
         (first_error_ || (shown_->snapshot && asked_ == wanted())) && race_settled();
}

void App::show_notice(std::string text) {
  notice = Notice{std::move(text), now_s_ + kNoticeSeconds};
}

void App::update(double now_s) {
  // Until the first run is on the screen, notices stay
  if (notice && !shown_->snapshot && !first_error_) notice->until_s = now_s + kNoticeSeconds;
  const double elapsed_s = now_s_ > 0.0 ? std::min(now_s - now_s_, 0.25) : 0.0;
  now_s_ = now_s;
  files_.run_completed();
  take_published();
  if (const auto seed = std::exchange(asked_quiz_, std::nullopt)) begin_quiz(*seed);
  for (const Command& command : commands.take()) execute(command);
  run_search();
  run_lesson(elapsed_s);
  run_quiz();

  // Move the playhead
  run_race(elapsed_s);
  const auto shown = shown_->snapshot;
  if (shown && !view.race) {
    player_.advance(*shown->run, view, elapsed_s);
    if (!pending_) view.step = clamp_step(*shown->run, view.step);
  }

  // Collect the GPU's new measurements
  const GpuRunner::Status gpu = gpu_.status();
  if (gpu.state != GpuRunner::State::opening) lesson_player.set_gpu(gpu.description);
  measurements.live_gpu = gpu.gpu_name;
  measurements.live_unavailable = gpu.reason;
  measurements.running = gpu.state == GpuRunner::State::running;
  measurements.kernels = gpu.kernels;
  measurements.compiled = gpu.compiled;
  measurements.waiting = gpu.waiting;
  for (MeasuredRun& run : gpu_.take_results()) {
    show_notice(measured_notice(run));
    lesson_player.add_measured(recording_of(run));
    measurements.measured.push_back(std::move(run));
  }

  if (notice && now_s_ > notice->until_s) notice.reset();
  note_choices();
  ask_worker();
}

void App::take_published() {
  const auto latest = worker_.latest();
  if (latest == published_) return;
  const bool new_snapshot = latest->snapshot != published_->snapshot;
  published_ = latest;
  const Request& answered = published_->request;
  const bool in_full = opening_ || restoring_;
  const bool wants_it = in_full ? answered == wanted() : answered.choice == wanted_choice();
  if (new_snapshot && wants_it) take_snapshot();
  if (published_->refusal) take_refusal(*published_->refusal);
}

/// Takes a valid snapshot: finishes opening a scene, and makes the pending choice the valid one.
void App::take_snapshot() {
  const RunInfo& run = *published_->snapshot->run;
  if (opening_) {
    if (auto error = check_places(opening_->view, run)) return end_opening(std::move(*error));
    // Once the app is open, the user's appearance settings override the scene's
    opening_->view.theme = view.theme;
    opening_->view.presenter = view.presenter;
    scene = std::move(opening_->scene);
    view = std::move(opening_->view);
    opening_.reset();
    before_lesson_.reset();  // the scene brings its own tabs
    opened_tick_ = view.race ? view.race_tick : 0;
    player_.restart();
    scene_answer = SceneAnswer{};
  }
  if (restoring_) restore();
  shown_ = published_;
  first_error_.reset();
  if (pending_) refused.reset();
  if (pending_) {
    const RunSpec before = std::exchange(view.choice, *std::exchange(pending_, std::nullopt));
    // A lesson's step names both runs of its race
    const bool same_race = view.race && course_ && view.race != lesson_race_;
    if (same_race) view.race->rival = rival_after(before, view.choice, view.race->rival);
  }
  view.head = nearest_head(view.choice.problem, view.head);
  view.query_row = std::clamp<Index>(view.query_row, 0, run.problem().N - 1);
  view.O_column = std::clamp<Index>(view.O_column, 0, run.problem().d - 1);
}

/// Shows the error at the field of the choice; the last result remains on the screen.
void App::take_refusal(const Refusal& refusal) {
  if (!pending_ || !(published_->refused_request.choice == *pending_)) return;
  if (opening_) return end_opening(refusal.error);
  restoring_.reset();
  refused = RefusedChoice{
      refusal, *std::exchange(pending_, std::nullopt), words(refusal.error, Reader::screen), {}};
}

Request App::wanted() const {
  const RunSpec& choice = wanted_choice();
  if (restoring_) {
    const Choices& to = *history_.at(*restoring_);
    return {choice, to.head, to.step, to.query_row, to.O_column, to.race.has_value()};
  }
  const ViewState& of = opening_ ? opening_->view : view;
  const Index head = opening_ ? of.head : nearest_head(choice.problem, of.head);
  return {choice, head, of.step, of.query_row, of.O_column, of.race.has_value()};
}

void App::ask_worker() {
  if (first_error_ && !pending_) return;  // nothing to request until the user chooses again
  const Request request = wanted();
  if (asked_ == request) return;
  asked_ = request;
  worker_.request(request);
}

void App::choose(const RunSpec& choice) {
  refused.reset();
  ++generation_;
  if (choice == wanted_choice()) return;
  player_.restart();
  opening_.reset();
  restoring_.reset();
  pending_ = choice;
  if (choice == view.choice) pending_.reset();
}

/// Reads the lists and the guide, then recordings and traces. The first frame does not wait for
/// these large files.
void App::read_shipped_files() {
  files_.post([this] {
    std::vector<std::string> unreadable;
    FileLists read{.scenes = list_shipped_scenes(),
                   .folder = {},
                   .gpus = list_gpus(),
                   .guide = load_guide(unreadable),
                   .lessons = {}};
    return [this, read = std::move(read), unreadable = std::move(unreadable)]() mutable {
      listed = std::move(read);
      if (!unreadable.empty()) show_notice(unreadable.front());
    };
  });
  files_.post([this] {
    return [this, shipped = shipped_runs()]() mutable {
      measurements.recorded = std::move(shipped.recorded);
      measurements.traced = std::move(shipped.traced);
      measurements.peers = std::move(shipped.peers);
      if (!shipped.problems.empty()) show_notice(shipped.problems.front());
    };
  });
}

void App::list_folder_again(const std::string& path) {
  files_.post([this, path] {
    return [this, list = list_folder(path.empty() ? "." : path)] { listed.folder = list; };
  });
}

void App::open(const std::vector<std::string>& paths) {
  const int generation = ++generation_;
  files_.post([this, generation, paths, base = scene] {
    auto opened =
        result_of([&] { return open_files(paths, base); }, "not enough memory for these files");
    return [this, generation, paths, opened = std::move(opened)] {
      if (generation == generation_) take_files(paths, opened);
    };
  });
}

void App::take_files(const std::vector<std::string>& paths, Result<OpenedFiles> opened) {
  if (!opened) {
    scene_answer = SceneAnswer{words(opened.error(), Reader::screen), opened.error().accepted};
    show_notice(scene_answer->error);
    return;
  }
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_path = std::filesystem::is_regular_file(path, error);
    const std::filesystem::path file = is_path ? std::filesystem::path(path) : scene_file(path);
    const bool is_own = std::filesystem::is_regular_file(file, error) && !shipped_as(file);
    if (is_own) remember(recent_files, file);
  }
  OpenedFiles& files = opened.value();
  if (!files.recorded.empty()) {
    show_notice(
        fmt::format("{} recorded runs of {} added", files.recorded.size(), files.recording));
    std::ranges::move(files.recorded, std::back_inserter(measurements.recorded));
  }
  if (files.scene) return take_scene(std::move(*files.scene));
  scene_answer = SceneAnswer{};
}

void App::take_scene(Scene opened) {
  lesson_player.act(LessonPlayer::Action::leave);
  quiz.close();
  const ViewState first = opened.view;
  opening_ = Opening{std::move(opened), first};
  pending_ = first.choice;
  restoring_.reset();
  refused.reset();
  // The run on the screen may already be the scene's
  if (shown_->snapshot && shown_ == published_ && shown_->request == wanted()) take_snapshot();
}

/// Reports that the scene cannot be shown; the last one remains open.
void App::end_opening(Error error) {
  const Scene& failed = opening_->scene;
  const std::string& file = failed.path.empty() ? failed.name : failed.path;
  error.message = fmt::format("{}: {}", file, error.message);
  opening_.reset();
  pending_.reset();
  scene_answer = SceneAnswer{words(error, Reader::screen)};
  if (shown_->snapshot) show_notice(scene_answer->error);
  if (!shown_->snapshot) first_error_ = std::move(error);
}

void App::stop_at(Index step) {
  end_search();
  view.playing = false;
  player_.restart();
  view.step = step;
}

void App::toggle_play() {
  end_search();
  if (walk_plays) {
    walk_plays = !*walk_plays;
    return;
  }
  view.playing = !view.playing;
  player_.restart();
  const auto& snapshot = shown_->snapshot;
  if (view.playing && snapshot && view.step >= snapshot->run->step_count - 1) view.step = -1;
}

void App::cancel_work() {
  end_search();
  worker_.cancel();
  ++generation_;
  pending_.reset();
  opening_.reset();
  restoring_.reset();
  asked_ = wanted();
  if (!shown_->snapshot) first_error_ = cancelled();
}

void App::execute(const Command& command) {
  const auto run = shown_->snapshot ? shown_->snapshot->run : nullptr;
  if (lesson_takes(command)) return;
  if (course_ && view.race) step_race(command);
  std::visit(
      Overloaded{
          [&](const SeekTo& seek) { stop_at(run ? clamp_step(*run, seek.step) : seek.step); },
          [&](const SeekToEnd&) { stop_at(run ? run->step_count - 1 : view.step); },
          [&](const SeekThing& seek) { begin_search(seek); },
          [&](const StepBy& by) {
            if (walk_plays) walk_plays = false;
            stop_at(run ? moved_step(*run, view.step, by.granularity, by.count) : view.step);
          },
          [&](const TogglePlay&) { toggle_play(); },
          [&](const Choose& chosen) { choose(chosen.choice); },
          [&](const RefuseText& text) {
            refused = RefusedChoice{{text.error, text.error.field},
                                    shown_choice(),
                                    words(text.error, Reader::screen),
                                    text.error.value};
          },
          [&](const RunOnGpu&) { run_on_gpu(); },
          [&](const CancelGpuRun&) { gpu_.cancel(); },
          [&](const CancelWork&) { cancel_work(); },
          [&](const CopyText& copy) {
            clipboard_ = copy.text;
            show_notice("copied " + copy.what);
          },
          [&](const SeekTick&) { end_search(); },  // in a race, step_race() moves the clock
          [&](const ChooseRace& chosen) {
            if (std::exchange(restoring_, std::nullopt)) pending_.reset();
            view.race = chosen.race;
            view.race_tick = course_ ? view.race_tick : 0;
            player_.restart();
          },
          [&](const AskToSave& ask) { asked_to_save = ask.file; },
          [&](const SaveFile& save) { save_text_or_picture(save); },
          [&](const OpenScene& scene_to_open) { open({scene_to_open.name_or_path}); },
          [&](const OpenFiles& files) { open(files.paths); },
          [&](const SaveScene& save) { save_scene_as(save.path, save.replaces); },
          [&](const ListFolder& folder) { list_folder_again(folder.path); },
          [&](const Undo&) { move_in_history(-1); },
          [&](const Redo&) { move_in_history(1); },
          [&](const Quit&) { quit_ = true; },
          [&](const ShowNotice& show) { show_notice(show.text); },
      },
      command);
}

}  // namespace attnscope::app
