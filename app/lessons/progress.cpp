#include "app/lessons/progress.h"

#include <nlohmann/json.hpp>

#include "reference/files/file_writer.h"
#include "reference/fnv1a.h"
#include "reference/json/json_document.h"

namespace attnscope::lessons {

using nlohmann::json;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kProgressSchema = "attnscope.progress";

LessonProgress progress_from(const json& entry) {
  const auto hash = entry.at("lesson_hash").get<std::string>();
  return {.lesson_hash = std::stoull(hash, nullptr, 16),
          .step = entry.at("step").get<std::size_t>(),
          .answered = entry.at("answered").get<std::set<std::size_t>>(),
          .right = entry.at("right").get<std::set<std::size_t>>()};
}

}  // namespace

fs::path progress_file_beside(const fs::path& state) {
  return fs::path(state).replace_extension(".lessons.json");
}

Progress::Progress(fs::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto document = read_json_file(file_);
  if (!document || check_schema(document.value(), kProgressSchema, 1, file_.string())) return;
  try {
    for (const auto& [name, entry] : document.value().at("lessons").items()) {
      lessons_[name] = progress_from(entry);
    }
  } catch (const std::exception&) {  // thrown by the JSON library or std::stoull
    lessons_.clear();
  }
}

LessonProgress Progress::find(const Lesson& lesson) const {
  const auto known = lessons_.find(lesson.name);
  const bool is_same = known != lessons_.end() && known->second.lesson_hash == lesson.hash &&
                       known->second.step < lesson.steps.size();
  return is_same ? known->second : LessonProgress{.lesson_hash = lesson.hash};
}

std::optional<Error> Progress::keep(const Lesson& lesson, LessonProgress progress) {
  progress.lesson_hash = lesson.hash;
  lessons_[lesson.name] = std::move(progress);
  if (file_.empty()) return std::nullopt;
  json document = {{"schema", std::string(kProgressSchema) + "/1"}, {"lessons", json::object()}};
  for (const auto& [name, entry] : lessons_) {
    document["lessons"][name] = {{"lesson_hash", hash_text(entry.lesson_hash)},
                                 {"step", entry.step},
                                 {"answered", entry.answered},
                                 {"right", entry.right}};
  }
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  return write_file(file_, json_dump(document, 2) + "\n");
}

}  // namespace attnscope::lessons
