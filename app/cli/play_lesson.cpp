#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/lessons/answers_file.h"
#include "app/lessons/judge.h"
#include "app/report/compare.h"
#include "kernels/measure/gpu.h"
#include "kernels/recording/recording.h"
#include "reference/field_rules.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace {

using lessons::FieldValueText;
using lessons::Lesson;
using lessons::LessonRuns;

/// The text, broken into lines of at most 79 characters between words and at its own line breaks.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kMost = 79;
  std::string lines;
  for (const std::string& line : split(text, '\n')) {
    std::size_t column = 0;
    for (const std::string& word : split(line, ' ')) {
      if (column > 0 && column + 1 + word.size() > kMost) {
        lines += '\n';
        column = 0;
      }
      lines += (column > 0 ? " " : "") + word;
      column += word.size() + (column > 0 ? 1 : 0);
    }
    lines += '\n';
  }
  return lines;
}

/// Plays one lesson in the terminal, with answers from standard input.
class Player {
 public:
  Player(const Lesson& lesson, LessonRuns& runs, const lessons::AnswersFile* answers)
      : lesson_(lesson), runs_(runs), answers_(answers) {}

  std::optional<Error> play(std::size_t first) {
    std::string heading = "The window shows the panels: attnscope --lesson " + lesson_.name;
    const auto gpu = std::ranges::find(runs_.changes(), &run_field("gpu"), &FieldValueText::field);
    if (gpu != runs_.changes().end()) heading += "\nModelled GPU: " + gpu->text;
    if (auto error = print(wrapped(heading))) return error;
    for (std::size_t n = first; n < lesson_.steps.size() && !ended_; ++n) {
      if (auto error = play_step(n)) return error;
    }
    return print(
        fmt::format("\n{} of {} questions right on the first attempt\n", right_first_, asked_));
  }

 private:
  std::optional<Error> print(const std::string& text) {
    clear_progress();
    return print_output(text);
  }

  std::optional<std::string> read_line() {
    std::string line;
    if (std::getline(std::cin, line) && line != "quit") return line;
    ended_ = true;
    return std::nullopt;
  }

  std::optional<Error> play_step(std::size_t n) {
    const lessons::Step& step = lesson_.steps[n];
    const auto say = text_of(step.say, runs_);
    if (!say) return in_step(lesson_, n, "say", say.error());
    if (auto error = print(fmt::format("\n{}, step {} of {}\n\n{}", lesson_.title, n + 1,
                                       lesson_.steps.size(), wrapped(say.value().words)))) {
      return error;
    }
    if (!step.ask) {
      if (auto error = print_reason(say.value().unavailable)) return error;
      if (n + 1 == lesson_.steps.size()) return std::nullopt;
      if (auto error = print("\n(Enter) ")) return error;
      read_line();
      return std::nullopt;
    }
    show_progress("computing");
    const auto truth = truth_of(*step.ask, runs_);
    if (!truth && truth.error().kind != Error::Kind::unavailable) {
      return in_step(lesson_, n, "ask", truth.error());
    }
    if (auto error = print("\n" + wrapped(step.ask->text) + choices_text(*step.ask))) return error;
    if (!truth) return print_reason(truth.error());
    if (auto error = ask(*step.ask, truth.value(), n)) return error;
    if (ended_ || step.then.empty()) return std::nullopt;
    const auto then = text_of(step.then, runs_);
    if (!then) return in_step(lesson_, n, "then", then.error());
    const auto& [words, unavailable] = then.value();
    return unavailable ? print_reason(unavailable) : print(wrapped(words));
  }

  std::optional<Error> print_reason(const std::optional<Error>& unavailable) {
    if (!unavailable) return std::nullopt;
    return print(wrapped(lessons::reason_sentence(*unavailable, Reader::command_line)));
  }

  std::optional<Error> ask(const lessons::Question& question, const lessons::Answer& truth,
                           std::size_t n) {
    ++asked_;
    lessons::EarlierAttempts earlier;
    if (answers_ != nullptr) {
      ATTNSCOPE_TRY(earlier, answers_->earlier_attempts(lesson_, n));
    }
    const auto attempt_at = [&](Index number, bool reveals) {
      const auto shown = earlier.truth_shown ? lessons::TruthShown::before
                         : reveals           ? lessons::TruthShown::after
                                             : lessons::TruthShown::no;
      return lessons::Attempt{earlier.count + number, shown};
    };
    for (Index number = 1;; ++number) {
      if (auto error = print("> ")) return error;
      const auto line = read_line();
      if (!line) return std::nullopt;
      if (*line == "show") {
        if (auto error = keep(n, attempt_at(number, true), std::nullopt, std::nullopt)) {
          return error;
        }
        return print(truth_text(question, truth));
      }
      const auto answer = parse_answer(question, *line);
      if (!answer) {
        if (auto error = print(wrapped(answer.error().message))) return error;
        --number;
        continue;
      }
      ATTNSCOPE_TRY(const auto verdict, judge(question, answer.value(), runs_));
      const bool is_right = verdict.kind == lessons::Verdict::Kind::right;
      const lessons::Attempt attempt = attempt_at(number, is_right);
      if (auto error = keep(n, attempt, answer.value(), verdict)) return error;
      if (is_right) {
        right_first_ += attempt.number == 1 ? 1 : 0;
        return print("Right. " + truth_text(question, truth));
      }
      const std::string why = verdict.why.empty() ? "" : " " + verdict.why;
      if (auto error = print(wrapped(fmt::format("Not {}.{} Try again, or type show.",
                                                 answer_text(question, answer.value()), why)))) {
        return error;
      }
    }
  }

  static std::string choices_text(const lessons::Question& question) {
    const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind);
    std::string text;
    for (std::size_t k = 0; choice != nullptr && k < choice->options.size(); ++k) {
      text += fmt::format("  {}) {}\n", lessons::letter_of(k), choice->options[k].text);
    }
    if (std::holds_alternative<lessons::TileQuestion>(question.kind)) {
      text += "  row, column =\n";
    }
    if (const auto* curve = std::get_if<lessons::CurveQuestion>(&question.kind)) {
      text += fmt::format("  {} =", curve->over->option);
      for (const std::string& value : curve->values) text += " " + value;
      text += "\n";
    }
    return text;
  }

  std::string truth_text(const lessons::Question& question, const lessons::Answer& truth) {
    return wrapped(fmt::format("The answer is {} ({}).", answer_text(question, truth),
                               basis_of(question, runs_).kind));
  }

  std::optional<Error> keep(std::size_t n, const lessons::Attempt& attempt,
                            const std::optional<lessons::Answer>& answer,
                            const std::optional<lessons::Verdict>& verdict) {
    if (answers_ == nullptr) return std::nullopt;
    return answers_->add(record_of(lesson_, n, runs_, attempt, answer, verdict));
  }

  const Lesson& lesson_;
  LessonRuns& runs_;
  const lessons::AnswersFile* answers_;
  bool ended_ = false;
  std::size_t asked_ = 0, right_first_ = 0;
};

/// Whether this is the value of the GPU field.
template <typename OfField>
bool is_gpu(const OfField& of_field) {
  return of_field.field == &run_field("gpu");
}

bool sets_gpu(const lessons::Changes& changes) {
  return std::ranges::any_of(changes, is_gpu<FieldValueText>);
}

Result<lessons::Changes> parse_changes(const Lesson& lesson, const GivenOptions& given) {
  lessons::Changes changes;
  for (const std::string& text : given.all("set")) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return not_accepted("set", text, "FIELD=VALUE, such as gpu=a100-80gb");
    ATTNSCOPE_TRY(changes.emplace_back(),
                  parse_change(lesson, text.substr(0, equals), text.substr(equals + 1)));
  }
  if (const auto gpu = given.text("gpu")) {
    if (sets_gpu(changes)) {
      return invalid_request("--gpu and --set gpu set the same field; give one");
    }
    ATTNSCOPE_TRY(changes.emplace_back(), parse_change(lesson, "gpu", *gpu));
  }
  return changes;
}

/// The lesson's runs with the changes that were given, and those for this machine's GPU unless
/// another one was named. The GPU is opened only if it matters.
Result<LessonRuns> create_runs(const Lesson& lesson, lessons::Changes changes) {
  auto runs = LessonRuns::create(lesson, changes);
  if (!runs) return in_lesson(lesson, "runs", runs.error());
  const bool is_open = std::ranges::any_of(lesson.choices, is_gpu<lessons::Vary>);
  if (!is_open || sets_gpu(changes)) return runs;
  show_progress("looking for a GPU");
  const auto gpu = Gpu::open();
  const auto name = gpu ? find_gpu_of(gpu.value()->device()) : std::nullopt;
  for (auto& change : first_changes(lesson, runs.value(), name)) changes.push_back(change);
  if (auto error = runs.value().change(std::move(changes))) {
    return in_lesson(lesson, "runs", std::move(*error));
  }
  return runs;
}

/// The recordings of --measured; null without one.
Result<lessons::SessionRuns> read_session(const GivenOptions& given) {
  std::vector<Recording> runs;
  for (const std::string& file : given.all("measured")) {
    ATTNSCOPE_TRY(const auto path, find_asset("recordings", file));
    ATTNSCOPE_TRY(runs.emplace_back(), read_recording(path));
  }
  if (runs.empty()) return lessons::SessionRuns();
  return std::make_shared<const std::vector<Recording>>(std::move(runs));
}

}  // namespace

std::optional<Error> play_lesson(const GivenOptions& given) {
  const auto name = given.text(kObject);
  if (!name) {
    return invalid_request(
        "lesson run needs the name or the file of a lesson; see attnscope-cli lesson list");
  }
  for (const char* option : {"json", "csv", "lesson"}) {
    if (given.has(option)) return invalid_request("--{} is not an option of lesson run", option);
  }
  ATTNSCOPE_TRY(const Lesson lesson, lessons::load_lesson(*name));
  ATTNSCOPE_TRY(const std::size_t step,
                read_whole<std::size_t>(given, "step", 1, lesson.steps.size(), 1));
  ATTNSCOPE_TRY(auto changes, parse_changes(lesson, given));
  ATTNSCOPE_TRY(LessonRuns runs, create_runs(lesson, std::move(changes)));
  ATTNSCOPE_TRY(lessons::SessionRuns session, read_session(given));
  runs.set_session(std::move(session));
  std::optional<lessons::AnswersFile> answers;
  if (const auto path = given.text("answers")) {
    ATTNSCOPE_TRY(answers, lessons::AnswersFile::open(*path));
  }
  return Player(lesson, runs, answers ? &*answers : nullptr).play(step - 1);
}

}  // namespace attnscope::cli
