#include "kernels/host/device_table.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

namespace attnscope::kernels {

namespace {

constexpr std::size_t kMostTables = 64;

struct Table {
  int device = 0;
  std::vector<std::byte> content;
  std::shared_ptr<const DeviceBuffer> buffer;

  bool holds(int other_device, const void* data, std::size_t bytes) const {
    return device == other_device && content.size() == bytes &&
           std::memcmp(content.data(), data, bytes) == 0;
  }
};

}  // namespace

std::shared_ptr<const DeviceBuffer> device_table(const void* data, std::size_t bytes) {
  // Most recent first. Never destroyed: CUDA may already be unloaded at the end of the process
  static std::mutex mutex;
  static auto& tables = *new std::list<Table>;
  const std::scoped_lock lock(mutex);
  int device = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const Table& table) {
    return table.holds(device, data, bytes);
  });
  if (found != tables.end()) {
    tables.splice(tables.begin(), tables, found);
    return tables.front().buffer;
  }

  const auto* const begin = static_cast<const std::byte*>(data);
  auto buffer = std::make_shared<DeviceBuffer>(bytes);
  buffer->copy_from_host(data);
  tables.push_front({device, {begin, begin + bytes}, buffer});
  if (tables.size() > kMostTables) tables.pop_back();
  return buffer;
}

}  // namespace attnscope::kernels
