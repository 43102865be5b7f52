/// What a program reads from files that it does not read again, such as the shipped ones.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace attnscope {

/// What was read from each file, for all threads. A file that could not be read is not kept.
template <typename Value>
class ReadOnce {
 public:
  /// Null if nothing is kept for the file.
  std::shared_ptr<const Value> find(const std::filesystem::path& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(path);
    return found == values_.end() ? nullptr : found->second;
  }

  /// Keeps the value, and returns it; if another thread was faster, that thread's value.
  std::shared_ptr<const Value> keep(const std::filesystem::path& path, Value value) {
    auto kept = std::make_shared<const Value>(std::move(value));
    const std::lock_guard lock(mutex_);
    return values_.try_emplace(path, std::move(kept)).first->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const Value>> values_;
};

}  // namespace attnscope
