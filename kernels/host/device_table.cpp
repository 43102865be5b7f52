#include "kernels/host/device_table.h"

#include <algorithm>
#include <cstring>

namespace attnscope::kernels {

namespace {
constexpr std::size_t kMostTables = 64;
}

bool DeviceTables::Table::holds(const void* data, std::size_t bytes) const {
  return content.size() == bytes && std::memcmp(content.data(), data, bytes) == 0;
}

std::shared_ptr<const DeviceBuffer> DeviceTables::find_or_upload(const void* data,
                                                                 std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(tables_, [&](const Table& table) { return table.holds(data, bytes); });
  if (found != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, found);
    return tables_.front().buffer;
  }

  const auto* const begin = static_cast<const std::byte*>(data);
  auto buffer = std::make_shared<DeviceBuffer>(bytes);
  buffer->copy_from_host(data);
  tables_.push_front({{begin, begin + bytes}, buffer});
  if (tables_.size() > kMostTables) tables_.pop_back();
  return buffer;
}

}  // namespace attnscope::kernels
