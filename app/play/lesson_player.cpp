#include "app/play/lesson_player.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/documents/simulated_run.h"
#include "reference/field_rules.h"

namespace attnscope::app {

using lessons::Answer;
using lessons::Lesson;
using lessons::LessonRuns;
using lessons::Question;
using lessons::Step;
using lessons::Verdict;

/// State of the background jobs, which run one at a time, in order.
struct LessonPlayer::Desk {
  LessonFiles files;
  std::shared_ptr<const Lesson> lesson;
  std::optional<LessonRuns> runs;
  std::optional<lessons::Progress> progress;
  lessons::LessonProgress done;
  std::optional<std::string> gpu;  ///< at hand

  Result<Reply> open(const std::string& name_or_path, std::optional<std::size_t> step);
  /// Prepares the step with these changes of the lesson's fields, which replace earlier ones.
  Result<Reply> prepare(std::size_t step, const lessons::Changes& changes);
  Result<Reply> judge(std::size_t step, const std::optional<Answer>& answer);

 private:
  /// The name of the run that a step shows first: its own run, else the one that the previous step
  /// left.
  const std::string& run_of(std::size_t step) const;
  /// The name of the run that a step shows at its end.
  const std::string& run_after(std::size_t step) const;
  /// The lesson's initial changes: they replace its GPU with the one that is available.
  lessons::Changes first_changes() const;
  Result<Outcome> outcome_of(std::size_t step, const std::optional<Answer>& answer);
  std::optional<Error> keep_answer(std::size_t step, const std::optional<Answer>& answer,
                                   const std::optional<Verdict>& verdict, bool reveals);
  Result<std::optional<Index>> place_of(const Step& step);
  void keep_progress(std::size_t step);
};

namespace {

/// An axis that extends an order of magnitude beyond both ends of the curve, so that it does not
/// give the curve away.
CurveAxis axis_around(const std::vector<double>& curve) {
  const auto [low, high] = std::ranges::minmax(curve);
  if (!(low > 0.0)) return {false, std::min(low, 0.0) * 2.0, std::max(high, 1.0) * 2.0};
  return {true, std::pow(10.0, std::floor(std::log10(low)) - 1.0),
          std::pow(10.0, std::ceil(std::log10(high)) + 1.0)};
}

/// The run with Br and Bc set, as the screen needs it. A run that the model rejects is returned
/// unchanged; the screen says why.
RunSpec with_tiles(RunSpec spec) {
  if (spec.tiling()) return spec;
  if (const auto model = model_run(spec)) spec.set_tiling(model.value().run.tiling);
  return spec;
}

}  // namespace

const std::string& LessonPlayer::Desk::run_of(std::size_t step) const {
  const std::string& own = lesson->steps[step].show.run;
  if (!own.empty()) return own;
  return step > 0 ? run_after(step - 1) : lesson->runs.front().name;
}

const std::string& LessonPlayer::Desk::run_after(std::size_t step) const {
  const std::string& revealed = lesson->steps[step].show.reveal;
  return revealed.empty() ? run_of(step) : revealed;
}

Result<std::optional<Index>> LessonPlayer::Desk::place_of(const Step& step) {
  if (!step.show.step) return std::optional<Index>();
  ATTNSCOPE_TRY(const double number, step.show.step->number(*runs));
  return std::optional(static_cast<Index>(number));
}

void LessonPlayer::Desk::keep_progress(std::size_t step) {
  done.step = step;
  if (progress) progress->keep(*lesson, done);  // the lesson continues if this fails
}

Result<LessonPlayer::Reply> LessonPlayer::Desk::open(const std::string& name_or_path,
                                                     std::optional<std::size_t> step) {
  ATTNSCOPE_TRY(Lesson read, lessons::load_lesson(name_or_path));
  const std::size_t count = read.steps.size();
  if (step && *step >= count) {
    return invalid_request("step {}: lesson '{}' has {} steps", *step + 1, read.name, count);
  }
  auto created = LessonRuns::create(read);
  if (!created) return lessons::in_lesson(read, "runs", created.error());
  if (!progress) progress.emplace(files.progress);
  lesson = std::make_shared<const Lesson>(std::move(read));
  runs.emplace(std::move(created).value());
  done = progress->find(*lesson);
  return prepare(step.value_or(done.step), first_changes());
}

lessons::Changes LessonPlayer::Desk::first_changes() const {
  const RunField& field = run_field("gpu");
  const auto choice = std::ranges::find(lesson->choices, &field, &lessons::Vary::field);
  if (!gpu || choice == lesson->choices.end()) return {};
  const bool is_own = std::ranges::all_of(lesson->runs, [&](const lessons::RunRecipe& run) {
    return field.print(*runs->find(run.name)) == *gpu;
  });
  if (is_own) return {};
  return {{&field, *gpu}};
}

Result<LessonPlayer::Reply> LessonPlayer::Desk::prepare(std::size_t number,
                                                        const lessons::Changes& changes) {
  if (auto error = runs->change(changes)) return *error;
  const Step& step = lesson->steps[number];
  Reply reply{.lesson = lesson, .step = number, .changes = changes, .prepared = PreparedStep{}};
  PreparedStep& prepared = *reply.prepared;
  const auto say = lessons::text_of(step.say, *runs);
  if (!say) return lessons::in_step(*lesson, number, "say", say.error());
  prepared.say = say.value().words;
  prepared.run = with_tiles(*runs->find(run_of(number)));
  if (!step.show.reveal.empty()) prepared.revealed = with_tiles(*runs->find(step.show.reveal));
  if (!step.show.beside.empty()) prepared.beside = with_tiles(*runs->find(step.show.beside));

  // The playhead begins where the previous steps left it
  for (std::size_t n = number; n-- > 0 && run_after(n) == run_of(number);) {
    const auto place = place_of(lesson->steps[n]);
    if (!place || !place.value()) continue;
    prepared.start = *place.value();
    break;
  }

  if (!step.ask) {
    ATTNSCOPE_TRY(reply.outcome, outcome_of(number, std::nullopt));
  } else if (std::holds_alternative<lessons::CurveQuestion>(step.ask->kind)) {
    const auto truth = lessons::truth_of(*step.ask, *runs);
    prepared.axis = truth ? axis_around(std::get<std::vector<double>>(truth.value())) : CurveAxis{};
  }
  keep_progress(number);
  reply.progress = done;
  return reply;
}

Result<Outcome> LessonPlayer::Desk::outcome_of(std::size_t number,
                                               const std::optional<Answer>& answer) {
  const Step& step = lesson->steps[number];
  Outcome outcome;
  std::optional<Verdict> verdict;
  std::optional<Error> missing;
  if (step.ask && answer) {
    const auto judged = lessons::judge(*step.ask, *answer, *runs);
    if (judged) verdict = judged.value();
    if (!judged) missing = judged.error();
  } else if (step.ask) {
    const auto truth = lessons::truth_of(*step.ask, *runs);
    if (truth) outcome.truth = truth.value();
    if (!truth) missing = truth.error();
  }
  if (missing && missing->kind != Error::Kind::unavailable) {
    return lessons::in_step(*lesson, number, "ask", *missing);
  }
  if (verdict) {
    outcome.verdict = verdict->kind;
    outcome.truth = verdict->truth;
    outcome.why = verdict->why;
  }
  ATTNSCOPE_TRY(const auto say, lessons::text_of(step.say, *runs));
  const auto then = lessons::text_of(step.then, *runs);
  if (!then) return lessons::in_step(*lesson, number, "then", then.error());
  for (const auto& unavailable : {then.value().unavailable, say.unavailable}) {
    if (!missing) missing = unavailable;
  }
  const bool has_then = (outcome.truth || !step.ask) && !then.value().unavailable;
  if (has_then) outcome.then = then.value().words;
  if (missing) outcome.unavailable = lessons::reason_sentence(*missing, Reader::screen);
  const auto place = place_of(step);
  if (place) outcome.step = place.value();
  if (!place) outcome.unplaced = words(place.error(), Reader::screen);
  if (!step.ask) return outcome;
  if (const auto error = keep_answer(number, answer, verdict, outcome.truth.has_value())) {
    outcome.unsaved = words(*error, Reader::screen);
  }
  return outcome;
}

/// Adds the answer to the user's file, if there is one; `reveals`: the truth is shown with it.
std::optional<Error> LessonPlayer::Desk::keep_answer(std::size_t step,
                                                     const std::optional<Answer>& answer,
                                                     const std::optional<Verdict>& verdict,
                                                     bool reveals) {
  if (!files.answers) return std::nullopt;
  ATTNSCOPE_TRY(const auto earlier, files.answers->earlier_attempts(*lesson, step));
  const bool is_known = earlier.truth_shown || done.answered.contains(step);
  const auto shown = is_known  ? lessons::TruthShown::before
                     : reveals ? lessons::TruthShown::after
                               : lessons::TruthShown::no;
  return files.answers->add(
      lessons::record_of(*lesson, step, *runs, {earlier.count + 1, shown}, answer, verdict));
}

Result<LessonPlayer::Reply> LessonPlayer::Desk::judge(std::size_t number,
                                                      const std::optional<Answer>& answer) {
  Reply reply{.lesson = lesson, .step = number};
  ATTNSCOPE_TRY(reply.outcome, outcome_of(number, answer));
  if (reply.outcome->truth) done.answered.insert(number);
  if (reply.outcome->verdict == Verdict::Kind::right) done.right.insert(number);
  keep_progress(number);
  reply.progress = done;
  return reply;
}

LessonPlayer::LessonPlayer() : desk_(std::make_shared<Desk>()) {}
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
  task_ = std::move(task);
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
    cue_ = {};  // the cue of the step before
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

void LessonPlayer::take(const Reply& reply) {
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

  if (!task_ || waits_for_gpu_) return;
  if (job_.wants(number_)) job_.start(number_, task_);
  const Reply* reply = job_.latest();
  if (job_.busy()) return;
  const bool is_this_one = job_.latest_key() != nullptr && *job_.latest_key() == number_;
  if (!is_this_one && !job_.error()) return;
  task_ = nullptr;
  if (is_this_one) return take(*reply);
  take_failure(*job_.error());
}

}  // namespace attnscope::app
