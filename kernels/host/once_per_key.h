/// Values that are each made once, by any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>

namespace attnscope::kernels {

/// Values by key. The first thread that asks for a key makes its value, while others that ask for
/// the same key wait; those that ask for another key do not.
template <typename Key, typename Value>
class OncePerKey {
 public:
  /// The key's value. Where there is none, `make()` gives it; what that throws leaves none.
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
    return places_[key];  // stays where it is
  }

  std::mutex mutex_;
  std::map<Key, Place> places_;
};

}  // namespace attnscope::kernels
