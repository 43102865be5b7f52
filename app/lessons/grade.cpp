#include "app/lessons/grade.h"

#include <algorithm>
#include <memory>

#include "reference/message_text.h"

namespace attnscope::lessons {

namespace fs = std::filesystem;

namespace {

/// Marks the answers to all lessons; keeps the results of each lesson's runs.
class Marker {
 public:
  explicit Marker(const std::vector<Lesson>& lessons) : lessons_(lessons) {}

  StudentMarks mark(std::string student, const ReadAnswers& answers) {
    StudentMarks marks{.student = std::move(student), .unreadable = answers.unreadable};
    std::map<std::pair<std::uint64_t, std::size_t>, Question> asked;
    for (const AnswerRecord& record : answers.records) {
      const auto lesson = std::ranges::find(lessons_, record.lesson_hash, &Lesson::hash);
      const bool is_known = lesson != lessons_.end() && record.step < lesson->steps.size() &&
                            lesson->steps[record.step].ask;
      if (!is_known) {
        ++marks.other_version;
        continue;
      }
      Question& question = asked[{record.lesson_hash, record.step}];
      if (question.shown || question.right) continue;
      const auto verdict = judge_again(*lesson, record);
      if (!verdict) {
        ++marks.unmarked;
        continue;
      }
      marks.measured += verdict.value().by_measurements ? 1 : 0;
      count(question, record, verdict.value().is_right, marks_of(*lesson, marks));
    }
    return marks;
  }

 private:
  struct Question {
    std::size_t attempts = 0;
    bool right = false;
    bool shown = false;
  };

  struct Mark {
    bool is_right = false;
    bool by_measurements = false;  ///< that are in the answer's line
  };

  /// An error if the answer cannot be marked here.
  Result<Mark> judge_again(const Lesson& lesson, const AnswerRecord& record) {
    if (!record.answer && record.attempt.truth_shown == TruthShown::no) {
      return unavailable("the requested answer could not be shown");
    }
    if (!record.answer) return Mark{};
    auto& runs = runs_[lesson.hash];
    if (runs == nullptr) {
      ATTNSCOPE_TRY(auto created, LessonRuns::create(lesson));
      runs = std::make_unique<LessonRuns>(std::move(created));
    }
    Changes changes;
    for (const auto& [option, text] : record.changes) {
      ATTNSCOPE_TRY(changes.emplace_back(), parse_change(lesson, option, text));
    }
    if (auto error = runs->change(std::move(changes))) return *error;
    runs->set_session(record.measured.empty()
                          ? nullptr
                          : std::make_shared<const std::vector<Recording>>(record.measured));
    const lessons::Question& question = *lesson.steps[record.step].ask;
    ATTNSCOPE_TRY(const Verdict verdict, judge(question, *record.answer, *runs));
    return Mark{verdict.kind == Verdict::Kind::right, !basis_of(question, *runs).measured.empty()};
  }

  static void count(Question& question, const AnswerRecord& record, bool is_right,
                    LessonMarks& marks) {
    if (question.attempts++ == 0) ++marks.answered;
    question.shown = record.attempt.truth_shown != TruthShown::no;
    question.right = is_right && record.attempt.truth_shown != TruthShown::before;
    if (!question.right) return;
    ++marks.right;
    if (question.attempts == 1) ++marks.right_first;
  }

  static LessonMarks& marks_of(const Lesson& lesson, StudentMarks& marks) {
    LessonMarks& own = marks.lessons[lesson.name];
    own.questions = static_cast<std::size_t>(
        std::ranges::count_if(lesson.steps, [](const Step& step) { return step.ask.has_value(); }));
    return own;
  }

  const std::vector<Lesson>& lessons_;
  std::map<std::uint64_t, std::unique_ptr<LessonRuns>> runs_;  ///< runs by the lesson's hash
};

}  // namespace

LessonMarks StudentMarks::total() const {
  LessonMarks sum;
  for (const auto& [name, marks] : lessons) {
    sum.questions += marks.questions;
    sum.answered += marks.answered;
    sum.right_first += marks.right_first;
    sum.right += marks.right;
  }
  return sum;
}

Result<std::vector<StudentMarks>> grade(const fs::path& folder,
                                        const std::vector<Lesson>& lessons) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".jsonl") files.push_back(entry->path());
  }
  if (error) {
    return invalid_request("the folder '{}' cannot be read: {}", printable(folder.string()),
                           error.message());
  }
  if (files.empty()) {
    return invalid_request("'{}' has no file NAME.jsonl with answers", printable(folder.string()));
  }
  std::ranges::sort(files);
  Marker marker(lessons);
  std::vector<StudentMarks> all;
  for (const fs::path& file : files) {
    ATTNSCOPE_TRY(const ReadAnswers answers, read_answers(file));
    all.push_back(marker.mark(file.stem().string(), answers));
  }
  return all;
}

}  // namespace attnscope::lessons
