#include "app/lessons/answers_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/recording/recording.h"
#include "reference/enum_names.h"
#include "reference/files/file_lock.h"
#include "reference/files/file_writer.h"
#include "reference/fnv1a.h"
#include "reference/json/run_json.h"
#include "reference/message_text.h"

namespace attnscope::lessons {

using nlohmann::json;
using nlohmann::ordered_json;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAnswerSchema = "attnscope.answer/1";

ordered_json answer_json(const std::optional<Answer>& answer) {
  if (!answer) return nullptr;
  if (const auto* chosen = std::get_if<Chosen>(&*answer)) return {{"option", chosen->option}};
  if (const auto* tile = std::get_if<TilePlace>(&*answer)) return {{"i", tile->i}, {"j", tile->j}};
  if (const double* number = std::get_if<double>(&*answer)) return *number;
  return std::get<std::vector<double>>(*answer);
}

std::optional<Answer> answer_from(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return Answer(value.get<double>());
  if (value.is_array()) return Answer(value.get<std::vector<double>>());
  if (value.contains("option")) return Answer(Chosen{value.at("option").get<std::size_t>()});
  return Answer(TilePlace{value.at("i").get<Index>(), value.at("j").get<Index>()});
}

std::string line_of(const AnswerRecord& record) {
  ordered_json changes = ordered_json::object();
  for (const auto& [option, value] : record.changes) changes[option] = value;
  ordered_json line = {{"schema", kAnswerSchema},
                       {"date", record.date},
                       {"lesson", record.lesson},
                       {"lesson_hash", hash_text(record.lesson_hash)},
                       {"step", record.step + 1},
                       {"attempt", record.attempt.number},
                       {"truth_shown", to_string(record.attempt.truth_shown)},
                       {"changes", changes},
                       {"run", ordered_json::parse(record.run)},
                       {"gpu", record.gpu},
                       {"answer", answer_json(record.answer)},
                       {"text", record.text},
                       {"outcome", record.outcome}};
  for (const Recording& recording : record.measured) {
    line["measured"].push_back(ordered_json::parse(recording_text(recording)));
  }
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::uint64_t hash_from(const std::string& text) {
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, hash, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end) throw std::invalid_argument("lesson_hash");
  return hash;
}

/// Lines of earlier versions do not record this; a missing answer means that the truth was shown on
/// request.
TruthShown truth_shown_in(const json& document) {
  if (!document.contains("truth_shown")) {
    return document.at("answer").is_null() ? TruthShown::after : TruthShown::no;
  }
  const auto shown = parse_name<TruthShown>(document.at("truth_shown").get<std::string>());
  if (!shown) throw std::invalid_argument("truth_shown");
  return *shown;
}

/// The measurements of a line; throws if one of them cannot be read. Most lines have none.
std::vector<Recording> measured_in(const json& document) {
  std::vector<Recording> measured;
  if (!document.contains("measured")) return measured;
  for (const json& each : document.at("measured")) {
    auto recording = parse_recording(each.dump(), "measured");
    if (!recording) throw std::invalid_argument("measured");
    measured.push_back(std::move(recording).value());
  }
  return measured;
}

/// Nothing when the line is not an answer.
std::optional<AnswerRecord> record_from(const std::string& line) {
  try {
    const json document = json::parse(line);
    if (document.at("schema") != kAnswerSchema) return std::nullopt;
    AnswerRecord record{.date = document.at("date").get<std::string>(),
                        .lesson = document.at("lesson").get<std::string>(),
                        .lesson_hash = hash_from(document.at("lesson_hash").get<std::string>()),
                        .step = document.at("step").get<std::size_t>() - 1,
                        .attempt = {document.at("attempt").get<Index>(), truth_shown_in(document)},
                        .run = document.at("run").dump(),
                        .gpu = document.at("gpu").get<std::string>(),
                        .answer = answer_from(document.at("answer")),
                        .text = document.at("text").get<std::string>(),
                        .outcome = document.at("outcome").get<std::string>(),
                        .measured = measured_in(document)};
    for (const auto& [option, value] : document.at("changes").items()) {
      record.changes.emplace_back(option, value.get<std::string>());
    }
    return record;
  } catch (const std::exception&) {  // from the JSON library, or for an invalid field
    return std::nullopt;
  }
}

Result<std::string> text_in(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) || is_written_in_place(path)) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file && text.str().empty() && fs::file_size(path, ignored) > 0) {
    return failed("cannot read {}", path.string());
  }
  return text.str();
}

}  // namespace

AnswerRecord record_of(const Lesson& lesson, std::size_t step, LessonRuns& runs,
                       const Attempt& attempt, const std::optional<Answer>& answer,
                       const std::optional<Verdict>& verdict) {
  AnswerRecord record{.date = utc_date(),
                      .lesson = lesson.name,
                      .lesson_hash = lesson.hash,
                      .step = step,
                      .attempt = attempt,
                      .answer = answer};
  for (const auto& [field, text] : runs.changes()) {
    record.changes.emplace_back(field->option, text);
  }
  const std::string& shown = lesson.steps[step].show.run;
  const RunSpec& run = *runs.find(shown.empty() ? lesson.runs.front().name : shown);
  json document = json::object();
  store_run(run, document);
  record.run = json_dump(document);
  record.gpu = run.gpu;
  if (answer) record.text = answer_text(*lesson.steps[step].ask, *answer);
  if (lesson.steps[step].ask) record.measured = basis_of(*lesson.steps[step].ask, runs).measured;
  const bool is_shown = attempt.truth_shown != TruthShown::no;
  record.outcome = verdict    ? std::string(to_string(verdict->kind))
                   : is_shown ? "shown"
                              : "unavailable";
  return record;
}

Result<AnswersFile> AnswersFile::open(fs::path path) {
  const std::string reason = reason_not_writable(path);
  if (!reason.empty()) {
    return invalid_request("answers '{}' cannot be written: {}; give a file in a writable folder",
                           printable(path.string()), reason);
  }
  ATTNSCOPE_TRY(const std::string text, text_in(path));
  const std::string first = text.substr(0, text.find('\n'));
  if (!text.empty() && !record_from(first)) {
    return invalid_request("'{}' contains something other than answers; give a new file",
                           printable(path.string()));
  }
  return AnswersFile(std::move(path));
}

std::optional<Error> AnswersFile::add(const AnswerRecord& record) const {
  ATTNSCOPE_TRY(const FileLock lock, FileLock::take(path_));
  ATTNSCOPE_TRY(std::string text, text_in(path_));
  if (!text.empty() && text.back() != '\n') text += '\n';
  return write_file(path_, text + line_of(record));
}

Result<EarlierAttempts> AnswersFile::earlier_attempts(const Lesson& lesson,
                                                      std::size_t step) const {
  ATTNSCOPE_TRY(const ReadAnswers answers, read_answers(path_));
  EarlierAttempts earlier;
  for (const AnswerRecord& record : answers.records) {
    if (record.lesson_hash != lesson.hash || record.step != step) continue;
    earlier.count = std::max(earlier.count, record.attempt.number);
    earlier.truth_shown |= record.attempt.truth_shown != TruthShown::no;
  }
  return earlier;
}

Result<ReadAnswers> read_answers(const fs::path& path) {
  ATTNSCOPE_TRY(const std::string text, text_in(path));
  ReadAnswers answers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (auto record = record_from(line)) {
      answers.records.push_back(*std::move(record));
    } else {
      ++answers.unreadable;
    }
  }
  return answers;
}

}  // namespace attnscope::lessons
