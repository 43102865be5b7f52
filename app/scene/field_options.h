/// The options that the box of a field offers for the displayed choice.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reference/run_fields.h"

namespace attnscope::app {

/// A line of a box's list.
struct FieldOption {
  std::string text;   ///< as it may be typed
  std::string label;  ///< as the list shows it
  std::string help;
};

/// Whether the box may be empty, so that the field follows a rule. Tiles on the screen are always
/// given.
bool can_be_unset(const RunField& field);
/// The text in the box of an unset field: "off", "generated", "the GPU's".
std::string unset_word(const RunField& field);

/// The named values of a field, or usual ones if it has none. Files are listed by
/// npy_files_beside().
std::vector<FieldOption> options_of(const RunField& field, const RunSpec& choice);

/// Whether the field's list also offers the files of npy_files_beside().
bool takes_npy_files(const RunField& field);
/// The .npy files in the folder of the file, or in the current folder if the name is empty. Reads
/// the folder: do not call it on the thread that draws.
std::vector<FieldOption> npy_files_beside(const std::filesystem::path& file);

}  // namespace attnscope::app
