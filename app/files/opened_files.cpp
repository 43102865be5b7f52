#include "app/files/opened_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/recording/recording.h"
#include "reference/json/json_document.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kRecordingSchema = "attnscope.recording/";

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

/// A tensor, and the words that name it in file names, the short one first.
struct TensorName {
  std::array<std::string_view, 2> words;
  std::string InputPaths::*path;
};
const TensorName kTensors[] = {{{"q", "query"}, &InputPaths::Q},
                               {{"k", "key"}, &InputPaths::K},
                               {{"v", "value"}, &InputPaths::V},
                               {{"do", "dout"}, &InputPaths::dO}};

/// The part of a file's name that names its tensor.
struct NamedPart {
  std::size_t begin = 0, size = 0;
  std::size_t tensor = 0, word = 0;  ///< indices in kTensors and its words
};

std::optional<NamedPart> named_part(const std::string& stem) {
  std::optional<NamedPart> found;
  for (std::size_t begin = 0; begin < stem.size();) {
    if (!is_letter(stem[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    std::string word;
    while (end < stem.size() && is_letter(stem[end])) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(stem[end++])));
    }
    for (std::size_t tensor = 0; tensor < std::size(kTensors); ++tensor) {
      for (std::size_t k = 0; k < kTensors[tensor].words.size(); ++k) {
        if (word == kTensors[tensor].words[k]) found = {begin, end - begin, tensor, k};
      }
    }
    begin = end;
  }
  return found;
}

/// The file of another tensor whose name differs only in this part; empty if there is none.
std::string sibling(const fs::path& file, const NamedPart& part, const TensorName& tensor) {
  std::string stem = file.stem().string();
  std::string word(tensor.words[part.word]);
  const bool is_upper = std::isupper(static_cast<unsigned char>(stem[part.begin])) != 0;
  if (is_upper) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  stem.replace(part.begin, part.size, word);
  const fs::path other = file.parent_path() / (stem + std::string(kNpy));
  std::error_code error;
  return fs::is_regular_file(other, error) ? other.string() : std::string();
}

bool is_recording(const nlohmann::json& document) {
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  return schema != document.end() && schema->is_string() &&
         schema->get<std::string>().starts_with(kRecordingSchema);
}

}  // namespace

FolderList list_folder(const fs::path& folder) {
  FolderList list;
  std::error_code error;
  const fs::path canonical = fs::canonical(folder, error);
  list.path = (error ? folder : canonical).string();
  for (fs::directory_iterator entry(list.path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    const bool is_folder = entry->is_directory(unknown);
    const bool can_open = is_folder || name.ends_with(".json") || name.ends_with(kNpy);
    if (can_open && !name.starts_with('.')) list.entries.push_back({name, is_folder});
  }
  std::ranges::sort(list.entries, [](const FolderEntry& a, const FolderEntry& b) {
    return std::pair(!a.is_folder, a.name) < std::pair(!b.is_folder, b.name);
  });
  return list;
}

Result<InputPaths> tensors_among(std::span<const std::string> npy_files) {
  InputPaths paths;
  for (const std::string& file : npy_files) {
    const auto part = named_part(fs::path(file).stem().string());
    if (!part) {
      return invalid_request(
          "'{}': the name does not say whether it is Q, K, V or dO; name the files q.npy, k.npy "
          "and v.npy, or enter each in its field",
          printable(file));
    }
    paths.*kTensors[part->tensor].path = file;
    for (const TensorName& tensor : kTensors) {
      std::string& other = paths.*tensor.path;
      const bool is_asked_for = tensor.path != &InputPaths::dO;
      if (other.empty() && is_asked_for) other = sibling(file, *part, tensor);
    }
  }
  return paths;
}

Result<OpenedFiles> open_files(const std::vector<std::string>& paths, const Scene& base) {
  OpenedFiles opened;
  std::vector<std::string> npy_files;
  for (const std::string& path : paths) {
    if (path.ends_with(kNpy)) {
      npy_files.push_back(path);
      continue;
    }
    ATTNSCOPE_TRY(const fs::path file, find_scene(path));
    ATTNSCOPE_TRY(const nlohmann::json document, read_json_file(file));
    if (!is_recording(document)) {
      ATTNSCOPE_TRY(opened.scene, load_scene(path));
      continue;
    }
    ATTNSCOPE_TRY(const Recording recording, read_recording(file));
    for (MeasuredRun& run : runs_of(recording, NumberKind::recorded)) {
      opened.recorded.push_back(std::move(run));
    }
    opened.recording = recording.device.name;
  }
  if (npy_files.empty()) return opened;
  ATTNSCOPE_TRY(InputPaths tensors, tensors_among(npy_files));
  if (base.view.choice.pass == PassKind::forward) tensors.dO.clear();
  ATTNSCOPE_TRY(opened.scene, scene_of_files(base, tensors));
  return opened;
}

}  // namespace attnscope::app
