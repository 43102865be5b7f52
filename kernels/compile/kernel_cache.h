/// Compiled kernels on the disk, shared by all programs of a user: each is compiled only once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/compile/compiler.h"

namespace attnscope::kernels {

/// Everything that decides what a program compiles to: the texts of its include closure, its
/// expression and options, the architecture and NVRTC's build.
std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build);

/// $XDG_CACHE_HOME/attnscope/kernels, else ~/.cache/attnscope/kernels; empty where neither is set
/// to an absolute path.
std::filesystem::path default_cache_folder();

/// A folder of entries, one file each, which several processes may use at once. An entry that is
/// damaged or of another key counts as missing. What cannot be read or written only costs time:
/// nothing here fails.
class KernelCache {
 public:
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20U;

  /// An empty path: nothing is found, nothing kept. Once entries take more than `most_bytes`, those
  /// that were not used for the longest time are removed.
  explicit KernelCache(std::filesystem::path folder, std::uintmax_t most_bytes = kMostBytes);

  std::optional<CompiledKernel> find(const std::string& key) const;
  void keep(const std::string& key, const CompiledKernel& kernel) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  void remove_oldest() const;

  std::filesystem::path folder_;
  std::uintmax_t most_bytes_;
};

}  // namespace attnscope::kernels
