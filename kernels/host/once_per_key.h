/// Values that are each created once, on any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>

namespace attnscope::kernels {

/// Values by key. The first thread that requests a key creates its value, and other threads that
/// request the same key wait for it; requests for other keys do not wait.
template <typename Key, typename Value>
class OncePerKey {
 public:
  /// The key's value, created by `make()` if there is none yet. If `make()` throws, there is still
  /// none, and the next request tries again.
  template <typename Make>
  Value get(const Key& key, Make&& make) {
    Place& place = place_of(key);
    const std::lock_guard lock(place.mutex);
    if (!place.value) place.value = make();
    return *place.value;
  }

 private:
  struct Place {
    std::mutex mutex;  ///< held while the value is made
    std::optional<Value> value;
  };

  Place& place_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    return places_[key];  // a map's elements do not move
  }

  std::mutex mutex_;
  std::map<Key, Place> places_;
};

}  // namespace attnscope::kernels
