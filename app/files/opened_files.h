/// Files that a user opens in a dialog or drops on the window: scenes, recordings, and the tensors
/// of an attention head.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/jobs/measurements.h"
#include "app/scene/scene.h"

namespace attnscope::app {

/// An entry of a folder that can be opened.
struct FolderEntry {
  std::string name;
  bool is_folder = false;
};
struct FolderList {
  std::string path;                  ///< absolute
  std::vector<FolderEntry> entries;  ///< folders, then .json and .npy files, each sorted
};
/// The folder's entries that can be opened, without hidden files; none if it cannot be read.
FolderList list_folder(const std::filesystem::path& folder);

/// The contents of the opened files.
struct OpenedFiles {
  std::optional<Scene> scene;         ///< from a scene's file, or made for the tensors
  std::vector<MeasuredRun> recorded;  ///< the runs in the recordings
  std::string recording;              ///< name of the last recording's GPU
};

/// Reads the files: scenes by path or name, recordings (recognised by their schema), .npy files.
/// Tensors become a scene like `base`. Of several scenes, the last is returned.
Result<OpenedFiles> open_files(const std::vector<std::string>& paths, const Scene& base);

/// Finds Q, K, V and dO among the .npy files by a part of their names: "q.npy", "layer0_k.npy",
/// "value.npy". Missing ones are found by names that differ only in this part: q.npy alone also
/// opens k.npy and v.npy in its folder. invalid_request for a name without such a part.
Result<InputPaths> tensors_among(std::span<const std::string> npy_files);

}  // namespace attnscope::app
