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
/// require(); then problem() says whether all can be called.
class SharedLibrary {
 public:
  /// The first of the named libraries, at least one, that can be loaded.
  explicit SharedLibrary(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      if (problem_.empty()) problem_ = dlerror();
    }
    if (handle_ != nullptr) problem_.clear();
  }

  /// Null if the library is not loaded or lacks the function.
  Symbol find(const char* name) const { return {handle_ ? dlsym(handle_, name) : nullptr}; }
  Symbol require(const char* name) {
    const Symbol found = find(name);
    if (found.address == nullptr && problem_.empty()) problem_ = dlerror();
    return found;
  }
  /// Why the first name was not loaded, or which required function the library lacks, in the
  /// loader's words; empty if it can be used.
  const std::string& problem() const { return problem_; }

 private:
  void* handle_ = nullptr;
  std::string problem_;
};

}  // namespace attnscope::kernels
