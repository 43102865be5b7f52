#include "app/gpu_catalog.h"

namespace attnscope::app {

Result<GpuDescription> GpuCatalog::gpu_of(const RunSpec& spec) {
  const std::lock_guard lock(mutex_);
  auto found = read_.find(spec.gpu);
  if (found == read_.end()) {
    ATTNSCOPE_TRY(auto gpu, load_gpu(spec.gpu));
    found = read_.emplace(spec.gpu, std::move(gpu)).first;
  }
  return with_capacities(found->second, {spec.sram_bytes, spec.l2_bytes}, "given");
}

}  // namespace attnscope::app
