#include "sim/device/field_files.h"

#include "reference/block_pattern.h"
#include "sim/device/assets.h"

namespace attnscope {

bool names_path(const RunField& field, const std::string& text) {
  switch (field.file) {
    case FieldFile::none:
      return false;
    case FieldFile::npy:
      return !text.empty();
    case FieldFile::npy_or_pattern:
      return names_mask_file(text);
    case FieldFile::gpu:
      return names_json_path(text);
  }
  return false;
}

std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text) {
  const bool is_shipped = field.file == FieldFile::gpu && !text.empty() && !names_json_path(text);
  if (is_shipped) {
    const auto path = find_asset("gpus", text);
    if (!path) return std::nullopt;
    return path.value();
  }
  if (!names_path(field, text)) return std::nullopt;
  return text;
}

}  // namespace attnscope
