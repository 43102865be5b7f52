/// Shared libraries that are loaded when they are first needed. Internal to kernels/.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

namespace attnscope::kernels {

/// The address of a function, or null; converts to the type of function that the caller expects.
struct Symbol {
  void* address = nullptr;
  template <typename Function>
  operator Function*() const {  // NOLINT: implicit on purpose
    return reinterpret_cast<Function*>(address);
  }
};

/// A shared library that is never unloaded. A struct of its functions initialises each pointer with
/// require(); then is_complete() says whether all were found.
class SharedLibrary {
 public:
  /// The first of the named libraries that can be loaded.
  explicit SharedLibrary(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      if (reason_.empty()) reason_ = dlerror();
    }
  }

  bool is_loaded() const { return handle_ != nullptr; }
  const std::string& reason() const { return reason_; }  ///< why the first name was not loaded

  /// Null if the library is not loaded or lacks the function.
  Symbol find(const char* name) const { return {is_loaded() ? dlsym(handle_, name) : nullptr}; }
  Symbol require(const char* name) {
    const Symbol found = find(name);
    if (found.address == nullptr) missing_ = name;
    return found;
  }
  bool is_complete() const { return missing_.empty(); }
  const std::string& missing() const { return missing_; }  ///< the last function not found

 private:
  void* handle_ = nullptr;
  std::string reason_, missing_;
};

}  // namespace attnscope::kernels
