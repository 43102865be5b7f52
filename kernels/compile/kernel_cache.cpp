#include "kernels/compile/kernel_cache.h"

#include <string_view>
#include <utility>

#include "reference/files/packed_bytes.h"

namespace attnscope::kernels {

namespace {

constexpr DiskCache::Kind kKernels = {.format = "attnscope kernel 3\n", .suffix = ".kernel"};

std::optional<CompiledKernel> kernel_in(std::string_view bytes) {
  const auto cubin = take_block(bytes);
  const auto ptx = take_block(bytes);
  const auto entry = take_block(bytes);
  const auto resources = take<KernelResources>(bytes);
  const auto compile_s = take<double>(bytes);
  if (!compile_s || !bytes.empty()) return std::nullopt;
  return CompiledKernel{std::string(*cubin), std::string(*ptx), std::string(*entry), *resources,
                        *compile_s};
}

}  // namespace

std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build) {
  std::string key;
  append_block(key, nvrtc_build);
  append_block(key, program.expression);
  append_block(key, program.text);
  for (const std::string& option : compiler_options(program)) append_block(key, option);
  for (const SourceFile& file : include_closure(program.sources)) {
    append_block(key, file.path);
    append_block(key, file.text);
  }
  return key;
}

KernelCache::KernelCache(std::filesystem::path folder, std::uintmax_t most_bytes)
    : disk_(std::move(folder), kKernels, most_bytes) {}

std::optional<CompiledKernel> KernelCache::find(const std::string& key) const {
  const auto bytes = disk_.find(key);
  return bytes ? kernel_in(*bytes) : std::nullopt;
}

void KernelCache::keep(const std::string& key, const CompiledKernel& kernel) const {
  std::string bytes;
  append_block(bytes, kernel.cubin);
  append_block(bytes, kernel.ptx);
  append_block(bytes, kernel.entry);
  append(bytes, kernel.resources);
  append(bytes, kernel.compile_s);
  disk_.keep(key, bytes);
}

}  // namespace attnscope::kernels
