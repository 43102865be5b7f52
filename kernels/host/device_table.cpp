#include "kernels/host/device_table.h"

#include <algorithm>

namespace attnscope::kernels {

std::shared_ptr<const DeviceBuffer> DeviceTables::find_or_upload(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      tables_, [&](const Table& table) { return std::ranges::equal(table.content, bytes); });
  if (found != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, found);
    return tables_.front().buffer;
  }

  auto buffer = std::make_shared<DeviceBuffer>(bytes.size());
  buffer->copy_from_host(bytes.data());
  tables_.push_front({{bytes.begin(), bytes.end()}, buffer});
  constexpr std::size_t kMostTables = 64;
  if (tables_.size() > kMostTables) tables_.pop_back();
  return buffer;
}

}  // namespace attnscope::kernels
