/// attnscope-cli lesson list|run|grade|check: lessons in the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/lessons/check_lesson.h"
#include "app/lessons/grade.h"
#include "app/report/report_text.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace {

using lessons::Lesson;

std::size_t question_count(const Lesson& lesson) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lesson.steps, [](const lessons::Step& step) { return step.ask.has_value(); }));
}

Answer answer_of_rows(std::string_view name, const ordered_json& rows, std::string text) {
  return {json_text({{"schema", "attnscope.lessons/1"}, {name, rows}}), csv_text(rows),
          std::move(text)};
}

Result<Answer> list_lessons() {
  if (const auto assets = find_assets_dir(); !assets) return assets.error();
  ordered_json rows = ordered_json::array();
  Lines lines = {{"name", "title", "steps", "questions"}};
  for (const auto& [name, lesson] : lessons::list_shipped_lessons()) {
    ordered_json& row = rows.emplace_back(ordered_json{{"name", name}});
    if (!lesson) {
      row["error"] = words(lesson.error(), Reader::command_line);
      lines.push_back({name, "unavailable: " + row["error"].get<std::string>(), "-", "-"});
      continue;
    }
    const Lesson& read = lesson.value();
    row.update(
        {{"title", read.title}, {"steps", read.steps.size()}, {"questions", question_count(read)}});
    lines.push_back({name, read.title, std::to_string(read.steps.size()),
                     std::to_string(question_count(read))});
  }
  return answer_of_rows("lessons", rows, table_text(lines, 2));
}

/// The findings, one per line; the error only gives their number.
Answer answer_of_findings(const std::vector<lessons::Finding>& findings, const std::string& path,
                          const std::string& summary) {
  ordered_json rows = ordered_json::array();
  std::string text;
  for (const lessons::Finding& finding : findings) {
    rows.push_back({{"field", finding.field}, {"at", finding.at}, {"message", finding.message}});
    text += finding.line() + "\n";
  }
  Answer answer = answer_of_rows("findings", rows, text + summary);
  if (findings.empty()) return answer;
  answer.failure = invalid_request("{}: {} {}", path, findings.size(),
                                   findings.size() == 1 ? "mistake" : "mistakes");
  return answer;
}

/// Splits "steps[2]: ask: MESSAGE" into the field "steps[2]" and the message.
lessons::Finding finding_of(const std::string& mistake) {
  const std::size_t colon = mistake.find(": ");
  if (colon == mistake.npos) return {"", mistake, ""};
  return {mistake.substr(0, colon), mistake.substr(colon + 2), ""};
}

Result<Answer> check_file(const std::string& name) {
  ATTNSCOPE_TRY(const lessons::ReadLesson read, lessons::read_lesson(name));
  const Lesson& lesson = read.lesson;
  if (!read.mistakes.empty()) {
    std::vector<lessons::Finding> findings;
    std::ranges::transform(read.mistakes, std::back_inserter(findings), finding_of);
    return answer_of_findings(findings, read.path, "");
  }
  const auto check = lessons::check_lesson(lesson, [](std::size_t done, std::size_t all) {
    show_progress(fmt::format("checked {} of {} combinations of values", done, all));
  });
  return answer_of_findings(
      check.findings, read.path,
      fmt::format(
          "{}: {} questions at {} {}, {}\n", printable(lesson.name), check.questions, check.points,
          check.points == 1 ? "point" : "points",
          check.findings.empty() ? "no mistakes" : fmt::format("{} wrong", check.findings.size())));
}

/// The shipped lessons, and those of --lesson.
Result<std::vector<Lesson>> markable_lessons(const GivenOptions& given) {
  std::vector<Lesson> all;
  for (auto& [name, lesson] : lessons::list_shipped_lessons()) {
    if (lesson) all.push_back(std::move(lesson).value());
  }
  for (const std::string& name : given.all("lesson")) {
    ATTNSCOPE_TRY(all.emplace_back(), lessons::load_lesson(name));
  }
  return all;
}

Result<Answer> grade_folder(const GivenOptions& given, const std::string& folder) {
  ATTNSCOPE_TRY(const auto known, markable_lessons(given));
  show_progress("marking");
  ATTNSCOPE_TRY(const auto marks, lessons::grade(folder, known));
  ordered_json rows = ordered_json::array();
  Lines lines = {{"student", "questions", "answered", "right first time", "right"}};
  for (const lessons::StudentMarks& student : marks) {
    const lessons::LessonMarks total = student.total();
    ordered_json& row = rows.emplace_back(ordered_json{{"student", student.student},
                                                       {"questions", total.questions},
                                                       {"answered", total.answered},
                                                       {"right_first", total.right_first},
                                                       {"right", total.right},
                                                       {"measured", student.measured},
                                                       {"other_version", student.other_version},
                                                       {"unmarked", student.unmarked},
                                                       {"unreadable", student.unreadable}});
    for (const auto& [name, own] : student.lessons) {
      row[name] = {
          {"right_first", own.right_first}, {"right", own.right}, {"questions", own.questions}};
    }
    lines.push_back({student.student, std::to_string(total.questions),
                     std::to_string(total.answered), std::to_string(total.right_first),
                     std::to_string(total.right)});
  }
  return answer_of_rows("students", rows, table_text(lines));
}

constexpr std::string_view kWords[] = {"list", "run", "grade", "check"};

/// The name that must follow the word, such as the lesson after "run".
Result<std::string> object_of(const GivenOptions& given, std::string_view word,
                              std::string_view what) {
  const auto object = given.text(kObject);
  if (object) return *object;
  return invalid_request("lesson {} needs {}; see attnscope-cli lesson --help", word, what);
}

Result<Answer> answer_lesson(const GivenOptions& given) {
  const std::string word = given.text(kOperand).value_or("");
  if (word == "list") return list_lessons();
  if (word == "grade") {
    ATTNSCOPE_TRY(const auto folder, object_of(given, word, "a folder of answers"));
    return grade_folder(given, folder);
  }
  if (word == "check") {
    ATTNSCOPE_TRY(const auto file, object_of(given, word, "a lesson: a name or a file"));
    return check_file(file);
  }
  return invalid_request(unknown_name_message(
      "word", word, std::vector<std::string>(std::begin(kWords), std::end(kWords))));
}

/// Marks an option whose file receives answers; it is never standard output.
OptionFiles adds_to_answers() {
  OptionFiles file = writes_file();
  file.may_be_stdout = false;
  return file;
}

}  // namespace

CommandSpec lesson_command() {
  CommandSpec command = answering(
      {.name = "lesson",
       .summary = "Lessons that ask for a prediction: list, run NAME, grade DIR, check FILE.",
       .operand = "list|run|grade|check",
       .options = {{"answers", "FILE", "run: add each answer to this file, as JSON Lines", false,
                    adds_to_answers()},
                   {"step", "K", "run: begin at this step [1]"},
                   {"gpu", "NAME",
                    "run: the GPU to model [this computer's if list gpus has it, otherwise the "
                    "lesson's]"},
                   {"measured", "FILE", "run: use this recording of measure for measured values",
                    true, reads_recording()},
                   {"set", "FIELD=VALUE", "run: a value that the lesson lets you change", true},
                   {"lesson", "FILE", "grade: a lesson in addition to the shipped ones", true}},
       .object = "[NAME|DIR|FILE]"},
      answer_lesson);
  command.run = [answer = std::move(command.run)](const GivenOptions& given) {
    return given.text(kOperand) == "run" ? play_lesson(given) : answer(given);
  };
  return command;
}

}  // namespace attnscope::cli
