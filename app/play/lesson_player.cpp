#include "app/play/lesson_player.h"

#include <algorithm>
#include <utility>

namespace attnscope::app {

using lessons::Answer;
using lessons::Question;

LessonPlayer::LessonPlayer() : desk_(std::make_shared<LessonDesk>()) {}
LessonPlayer::~LessonPlayer() = default;

void LessonPlayer::set_files(LessonFiles files) {
  desk_->files = std::move(files);
}

void LessonPlayer::set_gpu(std::optional<std::string> name) {
  if (!waits_for_gpu_) return;
  waits_for_gpu_ = false;
  desk_->gpu = std::move(name);
}

const std::filesystem::path& LessonPlayer::progress_file() const {
  return desk_->files.progress;
}

bool LessonPlayer::hides_answer() const {
  if (!is_open() || !current().ask) return false;
  return phase_ == Phase::preparing || phase_ == Phase::asking || phase_ == Phase::judging;
}

const PreparedStep* LessonPlayer::prepared() const {
  const auto& prepared = states_[step_].prepared;
  return prepared ? &*prepared : nullptr;
}

const Outcome* LessonPlayer::outcome() const {
  const auto& outcome = states_[step_].outcome;
  return outcome ? &*outcome : nullptr;
}

void LessonPlayer::start(Phase phase, Task task) {
  phase_ = phase;
  task_ = [desk = desk_, session = session_, task = std::move(task)](WorkControl& control) {
    desk->set_session(session);
    return task(control);
  };
  ++number_;
}

void LessonPlayer::open(std::string name_or_path, std::optional<std::size_t> step) {
  leave();
  start(Phase::opening, [desk = desk_, name = std::move(name_or_path), step](WorkControl&) {
    return desk->open(name, step);
  });
}

void LessonPlayer::leave() {
  lesson_.reset();
  states_.clear();
  changes_.clear();
  wanted_changes_.reset();
  has_measured_ = false;
  draft = {};
  task_ = nullptr;
  cue_ = {};
  phase_ = Phase::closed;
}

void LessonPlayer::change(const RunField& field, std::optional<std::string> text) {
  if (!is_open()) return;
  lessons::Changes changes = wanted_changes_.value_or(changes_);
  std::erase_if(changes, [&](const auto& each) { return each.field == &field; });
  if (text) changes.push_back({&field, *std::move(text)});
  wanted_changes_ = std::move(changes);
}

void LessonPlayer::add_measured(Recording run) {
  const auto has_measurement = [](const RecordingRow& row) { return row.measurement.has_value(); };
  if (std::ranges::none_of(run.rows, has_measurement)) return;
  auto runs = session_ ? *session_ : std::vector<Recording>();
  runs.push_back(std::move(run));
  session_ = std::make_shared<const std::vector<Recording>>(std::move(runs));
  has_measured_ = true;
}

/// Discards the steps that may now have a value that they lacked, and computes the current one.
void LessonPlayer::use_measured() {
  has_measured_ = false;
  if (!is_open()) return;
  for (std::size_t n = 0; n < states_.size(); ++n) {
    StepState& state = states_[n];
    const bool lacks = (state.prepared && state.prepared->lacks_values) ||
                       (state.outcome && !state.outcome->unavailable.empty());
    if (lacks && lessons::uses_measurements(lesson_->steps[n])) state = {};
  }
  if (!states_[step_].prepared && phase_ != Phase::failed) go_to(step_);
}

void LessonPlayer::execute(Action action) {
  const bool waits = phase_ == Phase::opening || phase_ == Phase::judging;
  if (action == Action::leave) return leave();
  if (!is_open() || waits) return;
  if (action == Action::next && step_ + 1 < lesson_->steps.size()) go_to(step_ + 1);
  if (action == Action::previous && step_ > 0) go_to(step_ - 1);
  if (phase_ != Phase::asking) return;
  if (action == Action::check) check();
  if (action == Action::show_me) judge(std::nullopt);
}

void LessonPlayer::go_to(std::size_t step) {
  step_ = step;
  draft = {};
  problem_.clear();
  StepState& state = states_[step_];
  if (!state.prepared) {
    cue_ = {};  // drops the cue of the previous step
    return start(Phase::preparing, [desk = desk_, step, changes = changes_](WorkControl&) {
      return desk->prepare(step, changes);
    });
  }
  task_ = nullptr;
  phase_ = state.outcome ? Phase::revealed : Phase::asking;
  cue_ = {.enters = true, .reveals = state.outcome.has_value()};
}

Result<Answer> LessonPlayer::drafted() const {
  const Question& question = *current().ask;
  if (std::holds_alternative<lessons::NumberQuestion>(question.kind)) {
    return lessons::parse_answer(question, draft.text.data());
  }
  if (std::holds_alternative<lessons::ChoiceQuestion>(question.kind)) {
    if (draft.option) return Answer(lessons::Chosen{*draft.option});
    return invalid_request("choose one of the options");
  }
  if (std::holds_alternative<lessons::TileQuestion>(question.kind)) {
    if (draft.tile) return Answer(*draft.tile);
    return invalid_request("click a tile in SCORES");
  }
  const auto& curve = std::get<lessons::CurveQuestion>(question.kind);
  std::vector<double> numbers;
  for (const auto& value : draft.curve) {
    if (value) numbers.push_back(*value);
  }
  if (numbers.size() == curve.values.size()) return Answer(std::move(numbers));
  return invalid_request("draw the whole curve: {} of {} points are missing",
                         curve.values.size() - numbers.size(), curve.values.size());
}

void LessonPlayer::check() {
  auto answer = drafted();
  draft.error = answer ? "" : words(answer.error(), Reader::screen);
  if (answer) judge(std::move(answer).value());
}

void LessonPlayer::judge(std::optional<Answer> answer) {
  StepState& state = states_[step_];
  state.given = answer;
  start(Phase::judging, [desk = desk_, step = step_, answer = std::move(answer)](WorkControl&) {
    return desk->judge(step, answer);
  });
}

void LessonPlayer::take(const LessonReply& reply) {
  const bool opens = lesson_ == nullptr;
  lesson_ = reply.lesson;
  if (opens) states_.assign(lesson_->steps.size(), {});
  if (opens) changes_ = reply.changes;
  step_ = reply.step;
  progress_ = reply.progress;
  StepState& state = states_[step_];
  if (reply.prepared) state.prepared = reply.prepared;
  if (reply.outcome) state.outcome = reply.outcome;
  phase_ = state.outcome ? Phase::revealed : Phase::asking;
  cue_.enters |= reply.prepared.has_value();
  cue_.reveals |= state.outcome.has_value();
}

void LessonPlayer::take_failure(const Error& error) {
  problem_ = words(error, Reader::screen);
  if (is_open()) {
    phase_ = Phase::failed;
    return;
  }
  error_ = std::exchange(problem_, {});
  leave();
}

void LessonPlayer::update() {
  for (const Action action : std::exchange(actions_, {})) execute(action);

  // After a change of fields, every step is computed and asked again
  if (is_open() && phase_ != Phase::judging && wanted_changes_) {
    changes_ = *std::exchange(wanted_changes_, std::nullopt);
    for (StepState& state : states_) state = {};
    go_to(step_);
  }

  if (has_measured_ && !task_) use_measured();
  if (!task_ || waits_for_gpu_) return;
  if (job_.wants(number_)) job_.start(number_, task_);
  const LessonReply* reply = job_.latest();
  if (job_.busy()) return;
  const bool is_this_one = job_.latest_key() != nullptr && *job_.latest_key() == number_;
  if (!is_this_one && !job_.error()) return;
  task_ = nullptr;
  if (is_this_one) return take(*reply);
  take_failure(*job_.error());
}

}  // namespace attnscope::app
