/// Compiled kernels on disk, shared by all programs of a user: each is compiled only once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/compile/compiler.h"
#include "reference/files/disk_cache.h"

namespace attnscope::kernels {

/// Everything that determines the compiled code: the text of the program and its includes, its
/// expression and options, the architecture and the build of NVRTC.
std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build);

class KernelCache {
 public:
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20U;

  /// The default folder is in the user's cache folder.
  explicit KernelCache(std::filesystem::path folder = user_cache_folder("kernels"),
                       std::uintmax_t most_bytes = kMostBytes);

  std::optional<CompiledKernel> find(const std::string& key) const;
  void keep(const std::string& key, const CompiledKernel& kernel) const;

 private:
  DiskCache disk_;
};

}  // namespace attnscope::kernels
