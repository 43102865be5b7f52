#include "sim/device/field_files.h"

#include "reference/block_pattern.h"
#include "sim/device/assets.h"

namespace attnscope {

std::optional<std::filesystem::path> file_named_by(const RunField& field, const std::string& text) {
  if (text.empty()) return std::nullopt;
  switch (field.file) {
    case FieldFile::none:
      return std::nullopt;
    case FieldFile::npy:
      return text;
    case FieldFile::npy_or_pattern:
      if (!names_mask_file(text)) return std::nullopt;
      return text;
    case FieldFile::gpu: {
      const auto path = find_asset("gpus", text);
      if (!path) return std::nullopt;
      return path.value();
    }
  }
  return std::nullopt;
}

}  // namespace attnscope
