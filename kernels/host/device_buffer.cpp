#include "kernels/host/device_buffer.h"

#include <utility>

namespace attnscope::kernels {

std::shared_ptr<const DeviceBuffer> DeviceTables::find_or_upload(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::byte> content(bytes.begin(), bytes.end());
  const auto found = tables_.find(content);
  if (found != tables_.end()) return found->second;

  constexpr std::size_t kMostTables = 64, kMostBytes = std::size_t{1} << 30;
  if (tables_.size() == kMostTables || bytes_ + bytes.size() > kMostBytes) {
    tables_.clear();  // those still needed are uploaded again
    bytes_ = 0;
  }
  auto buffer = std::make_shared<DeviceBuffer>(bytes.size());
  buffer->copy_from_host(bytes.data());
  bytes_ += bytes.size();
  return tables_.emplace(std::move(content), std::move(buffer)).first->second;
}

}  // namespace attnscope::kernels
