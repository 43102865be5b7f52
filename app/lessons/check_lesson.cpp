#include "app/lessons/check_lesson.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace attnscope::lessons {

namespace {

/// Checks one lesson, and remembers the questions that had an answer at some point.
class Checker {
 public:
  Checker(const Lesson& lesson, LessonRuns& runs, LessonCheck& check)
      : lesson_(lesson), runs_(runs), check_(check), reasons_(lesson.steps.size()) {}

  void check_point(const Changes& changes) {
    at_ = changes_text(changes);
    if (auto error = runs_.change(changes)) return note("vary", *error);
    check_steps(0, lesson_.steps.size());
  }

  void check_steps(std::size_t first, std::size_t end) {
    for (std::size_t n = first; n < end; ++n) check_step(n);
  }

  /// Adds findings for questions that were unavailable everywhere.
  void finish() {
    at_.clear();
    for (std::size_t n = 0; n < reasons_.size(); ++n) {
      if (!lesson_.steps[n].ask || answered_.contains(n) || reasons_[n].empty()) continue;
      note(fmt::format("steps[{}]: ask", n),
           invalid_request("no combination of values gives an answer: {}", reasons_[n]));
    }
  }

 private:
  void check_step(std::size_t n) {
    const Step& step = lesson_.steps[n];
    const std::string path = fmt::format("steps[{}]", n);
    for (const auto& [key, text] : {std::pair{"say", &step.say}, {"then", &step.then}}) {
      const auto shown = text_of(*text, runs_);
      if (!shown) note(fmt::format("{}: {}", path, key), shown.error());
    }
    check_show(step.show, path + ": show");
    if (step.ask) check_answer(*step.ask, path + ": ask", n);
  }

  void check_show(const Show& show, const std::string& path) {
    for (const auto& [key, place] : {std::pair("start", &show.start), {"step", &show.step}}) {
      if (!*place) continue;
      // Whatever the reason, the playhead would not move
      const auto step = (*place)->number(runs_);
      if (!step)
        add({fmt::format("{}: {}", path, key), words(step.error(), Reader::command_line), ""});
    }
    if (show.run.empty()) return;
    const Index rows = runs_.find(show.run)->problem.N;
    if (!show.query_row || (*show.query_row >= 0 && *show.query_row < rows)) return;
    note(path + ": query_row",
         invalid_request("row {} of {} queries; use 0 to {}", *show.query_row, rows, rows - 1));
  }

  void check_answer(const Question& question, const std::string& path, std::size_t n) {
    const auto truth = truth_of(question, runs_);
    if (truth) answered_.insert(n);
    if (!truth && truth.error().kind == Error::Kind::unavailable) {
      reasons_[n] = truth.error().message;
    }
    for (Finding& finding : check_question(question, runs_, path)) add(std::move(finding));
  }

  /// Adds a finding for the error, unless it is the reason for an unavailable value rather than a
  /// mistake in the lesson.
  void note(const std::string& field, const Error& error) {
    if (error.kind == Error::Kind::unavailable) return;
    add({field, words(error, Reader::command_line), ""});
  }

  void add(Finding finding) {
    const auto is_known = [&](const Finding& other) { return other.field == finding.field; };
    if (std::ranges::any_of(check_.findings, is_known)) return;
    finding.at = at_;
    check_.findings.push_back(std::move(finding));
  }

  const Lesson& lesson_;
  LessonRuns& runs_;
  LessonCheck& check_;
  std::string at_;
  std::vector<std::string> reasons_;  ///< why a question was unavailable, by step
  std::set<std::size_t> answered_;
};

}  // namespace

std::string Finding::line() const {
  return at.empty() ? fmt::format("{}: {}", field, message)
                    : fmt::format("{}: {}: {}", field, at, message);
}

std::string changes_text(const Changes& changes) {
  std::vector<std::string> texts;
  for (const auto& [field, text] : changes) {
    texts.push_back(fmt::format("{} {}", field->option, text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<Finding> check_question(const Question& question, LessonRuns& runs,
                                    const std::string& path) {
  std::vector<Finding> findings;
  const auto note = [&](const std::string& field, const Error& error) {
    if (error.kind == Error::Kind::unavailable) return;
    findings.push_back({field, words(error, Reader::command_line), ""});
  };
  const auto truth = truth_of(question, runs);
  if (!truth) {
    note(path, truth.error());
    return findings;
  }
  if (question.agrees) {
    const auto agrees = answer_by(question, *question.agrees, runs);
    if (!agrees) {
      note(path + ": agrees", agrees.error());
    } else if (!is_right(question, agrees.value(), truth.value())) {
      note(path + ": agrees", invalid_request("the second computation gives {}, the answer is {}",
                                              answer_text(question, agrees.value()),
                                              answer_text(question, truth.value())));
    }
  }
  std::vector<Answer> before;
  for (const Mistake& mistake : mistakes_of(question)) {
    const std::string here = fmt::format("{}: mistakes[{}]", path, before.size());
    const auto leads_to = answer_by(question, mistake.is, runs);
    before.push_back(leads_to ? leads_to.value() : truth.value());
    if (!leads_to) {
      note(here, leads_to.error());
      continue;
    }
    const std::string text = answer_text(question, leads_to.value());
    if (is_right(question, leads_to.value(), truth.value())) {
      note(here, invalid_request("{} would be accepted as right; the answer is {}", text,
                                 answer_text(question, truth.value())));
    }
    for (std::size_t k = 0; k + 1 < before.size(); ++k) {
      if (!is_right(question, leads_to.value(), before[k])) continue;
      note(here, invalid_request("mistakes[{}] leads to the same answer: {}", k, text));
    }
  }
  return findings;
}

std::vector<Changes> points_of(const Lesson& lesson) {
  std::vector<Changes> points = {{}};
  for (const Vary& vary : lesson.vary) {
    std::vector<Changes> longer;
    for (const Changes& point : points) {
      for (const std::string& value : vary.values) {
        longer.push_back(point);
        longer.back().push_back({vary.field, value});
      }
    }
    points = std::move(longer);
  }
  if (!lesson.vary.empty()) points.insert(points.begin(), Changes());
  return points;
}

LessonCheck check_lesson(const Lesson& lesson,
                         const std::function<void(std::size_t, std::size_t)>& progress) {
  LessonCheck check;
  for (const Step& step : lesson.steps) check.questions += step.ask ? 1 : 0;
  auto runs = LessonRuns::create(lesson);
  if (!runs) {
    check.findings.push_back({"runs", words(runs.error(), Reader::command_line), ""});
    return check;
  }
  Checker checker(lesson, runs.value(), check);
  const std::vector<Changes> points = points_of(lesson);
  for (const Changes& point : points) {
    checker.check_point(point);
    ++check.points;
    if (progress) progress(check.points, points.size());
  }
  checker.finish();
  return check;
}

std::optional<Error> first_mistake(const Lesson& lesson, std::size_t first, std::size_t end) {
  auto runs = LessonRuns::create(lesson);
  if (!runs) return in_lesson(lesson, "runs", runs.error());
  LessonCheck check;
  Checker(lesson, runs.value(), check).check_steps(first, end);
  if (check.findings.empty()) return std::nullopt;
  return invalid_request("{}: {}", lesson.path, check.findings.front().line());
}

}  // namespace attnscope::lessons
