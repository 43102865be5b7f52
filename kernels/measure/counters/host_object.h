/// CUPTI's host object: converts the names of a chip's counters to a configuration, and its results
/// to values.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/measure/counters/cupti_library.h"

namespace attnscope::kernels {

/// A CUPTI function's params struct, zeroed, with its size.
#define ATTNSCOPE_CUPTI_PARAMS(type, variable)                             \
  type variable{}; /* NOLINT(bugprone-macro-parentheses): a declaration */ \
  (variable).structSize = type##_STRUCT_SIZE

/// A failed CUPTI call.
class CuptiFailure : public std::runtime_error {
 public:
  CuptiFailure(const CuptiLibrary& cupti, CUptiResult code, const char* function);
  const Error& error() const { return error_; }

 private:
  explicit CuptiFailure(Error error)
      : std::runtime_error(error.message), error_(std::move(error)) {}
  Error error_;
};

inline void check_cupti(const CuptiLibrary& cupti, CUptiResult code, const char* function) {
  if (code != CUPTI_SUCCESS) throw CuptiFailure(cupti, code, function);
}

/// Every function throws CuptiFailure on errors.
class HostObject {
 public:
  HostObject(const CuptiLibrary& cupti, const std::string& chip,
             const std::vector<std::uint8_t>& availability_image);
  ~HostObject();
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;

  /// Adds the counters; false if the chip lacks one of them.
  bool add(const std::vector<const char*>& names);
  std::vector<std::uint8_t> config_image() const;
  std::size_t hardware_passes(std::vector<std::uint8_t>& config_image) const;

  /// Values of the counters in one range of decoded counter data.
  std::vector<double> evaluate(const std::vector<std::uint8_t>& counter_data, std::size_t range,
                               std::vector<const char*> names) const;

 private:
  const CuptiLibrary& cupti_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

}  // namespace attnscope::kernels
