#include "app/play/lesson_desk.h"

#include <algorithm>
#include <cmath>

#include "app/documents/simulated_run.h"

namespace attnscope::app {

using lessons::Answer;
using lessons::Lesson;
using lessons::LessonRuns;
using lessons::Step;
using lessons::Verdict;

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

const std::string& LessonDesk::run_of(std::size_t step) const {
  const std::string& own = lesson_->steps[step].show.run;
  if (!own.empty()) return own;
  return step > 0 ? run_after(step - 1) : lesson_->runs.front().name;
}

const std::string& LessonDesk::run_after(std::size_t step) const {
  const std::string& revealed = lesson_->steps[step].show.reveal;
  return revealed.empty() ? run_of(step) : revealed;
}

Result<std::optional<Index>> LessonDesk::place_of(const std::optional<lessons::Expression>& step) {
  if (!step) return std::optional<Index>();
  ATTNSCOPE_TRY(const double number, step->number(*runs_));
  return std::optional(static_cast<Index>(number));
}

Index LessonDesk::start_of(std::size_t step) {
  const auto own = place_of(lesson_->steps[step].show.start);
  if (own && own.value()) return *own.value();
  for (std::size_t n = step; n-- > 0 && run_after(n) == run_of(step);) {
    const auto left = place_of(lesson_->steps[n].show.step);
    if (left && left.value()) return *left.value();
  }
  return PreparedStep{}.start;
}

void LessonDesk::keep_progress(std::size_t step) {
  done_.step = step;
  if (progress_) progress_->keep(*lesson_, done_);  // the lesson continues if this fails
}

void LessonDesk::set_session(lessons::SessionRuns session) {
  session_ = std::move(session);
  if (runs_) runs_->set_session(session_);
}

Result<LessonReply> LessonDesk::open(const std::string& name_or_path,
                                     std::optional<std::size_t> step) {
  ATTNSCOPE_TRY(Lesson read, lessons::load_lesson(name_or_path));
  const std::size_t count = read.steps.size();
  if (step && *step >= count) {
    return invalid_request("step {}: lesson '{}' has {} steps", *step + 1, read.name, count);
  }
  auto created = LessonRuns::create(read);
  if (!created) return lessons::in_lesson(read, "runs", created.error());
  if (!progress_) progress_.emplace(files.progress);
  lesson_ = std::make_shared<const Lesson>(std::move(read));
  runs_.emplace(std::move(created).value());
  runs_->set_session(session_);
  done_ = progress_->find(*lesson_);
  return prepare(step.value_or(done_.step), lessons::first_changes(*lesson_, *runs_, gpu));
}

Result<LessonReply> LessonDesk::prepare(std::size_t number, const lessons::Changes& changes) {
  if (auto error = runs_->change(changes)) return *error;
  const Step& step = lesson_->steps[number];
  LessonReply reply{
      .lesson = lesson_, .step = number, .changes = changes, .prepared = PreparedStep{}};
  PreparedStep& prepared = *reply.prepared;
  const auto say = lessons::text_of(step.say, *runs_);
  if (!say) return lessons::in_step(*lesson_, number, "say", say.error());
  prepared.say = say.value().words;
  prepared.lacks_values = say.value().unavailable.has_value();
  prepared.run = with_tiles(*runs_->find(run_of(number)));
  if (!step.show.reveal.empty()) prepared.revealed = with_tiles(*runs_->find(step.show.reveal));
  if (!step.show.beside.empty()) prepared.beside = with_tiles(*runs_->find(step.show.beside));

  prepared.start = start_of(number);

  if (!step.ask) {
    ATTNSCOPE_TRY(reply.outcome, outcome_of(number, std::nullopt));
  } else if (std::holds_alternative<lessons::CurveQuestion>(step.ask->kind)) {
    const auto truth = lessons::truth_of(*step.ask, *runs_);
    prepared.axis = truth ? axis_around(std::get<std::vector<double>>(truth.value())) : CurveAxis{};
    prepared.lacks_values |= !truth.ok();
  }
  keep_progress(number);
  reply.progress = done_;
  return reply;
}

Result<Outcome> LessonDesk::outcome_of(std::size_t number, const std::optional<Answer>& answer) {
  const Step& step = lesson_->steps[number];
  Outcome outcome;
  std::optional<Verdict> verdict;
  std::optional<Error> missing;
  if (step.ask && answer) {
    const auto judged = lessons::judge(*step.ask, *answer, *runs_);
    if (judged) verdict = judged.value();
    if (!judged) missing = judged.error();
  } else if (step.ask) {
    const auto truth = lessons::truth_of(*step.ask, *runs_);
    if (truth) outcome.truth = truth.value();
    if (!truth) missing = truth.error();
  }
  if (missing && missing->kind != Error::Kind::unavailable) {
    return lessons::in_step(*lesson_, number, "ask", *missing);
  }
  if (verdict) {
    outcome.verdict = verdict->kind;
    outcome.truth = verdict->truth;
    outcome.why = verdict->why;
  }
  if (outcome.truth) outcome.kind = lessons::basis_of(*step.ask, *runs_).kind;
  ATTNSCOPE_TRY(const auto say, lessons::text_of(step.say, *runs_));
  const auto then = lessons::text_of(step.then, *runs_);
  if (!then) return lessons::in_step(*lesson_, number, "then", then.error());
  for (const auto& unavailable : {then.value().unavailable, say.unavailable}) {
    if (!missing) missing = unavailable;
  }
  const bool has_then = (outcome.truth || !step.ask) && !then.value().unavailable;
  if (has_then) outcome.then = then.value().words;
  if (missing) outcome.unavailable = lessons::reason_sentence(*missing, Reader::screen);
  const auto place = place_of(step.show.step);
  if (place) outcome.step = place.value();
  if (!place) outcome.unplaced = words(place.error(), Reader::screen);
  if (!step.ask) return outcome;
  if (const auto error = keep_answer(number, answer, verdict, outcome.truth.has_value())) {
    outcome.unsaved = words(*error, Reader::screen);
  }
  return outcome;
}

/// Adds the answer to the user's file, if there is one; `reveals`: the truth is shown with it.
std::optional<Error> LessonDesk::keep_answer(std::size_t step, const std::optional<Answer>& answer,
                                             const std::optional<Verdict>& verdict, bool reveals) {
  if (!files.answers) return std::nullopt;
  ATTNSCOPE_TRY(const auto earlier, files.answers->earlier_attempts(*lesson_, step));
  const bool is_known = earlier.truth_shown || done_.answered.contains(step);
  const auto shown = is_known  ? lessons::TruthShown::before
                     : reveals ? lessons::TruthShown::after
                               : lessons::TruthShown::no;
  return files.answers->add(
      lessons::record_of(*lesson_, step, *runs_, {earlier.count + 1, shown}, answer, verdict));
}

Result<LessonReply> LessonDesk::judge(std::size_t number, const std::optional<Answer>& answer) {
  LessonReply reply{.lesson = lesson_, .step = number};
  ATTNSCOPE_TRY(reply.outcome, outcome_of(number, answer));
  if (reply.outcome->truth) done_.answered.insert(number);
  if (reply.outcome->verdict == Verdict::Kind::right) done_.right.insert(number);
  keep_progress(number);
  reply.progress = done_;
  return reply;
}

}  // namespace attnscope::app
