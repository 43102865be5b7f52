/// Structs of the C interface as AttnScope's own types. Internal to
/// libattnscope_kernels.so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/attnscope_kernels.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The struct's size in bytes in the first version of the library: no caller's struct is smaller.
template <typename Struct>
inline constexpr std::size_t kFirstBytes = sizeof(Struct);

template <>
inline constexpr std::size_t kFirstBytes<attnscope_problem> = offsetof(attnscope_problem, soft_cap);
template <>
inline constexpr std::size_t kFirstBytes<attnscope_kernel> = offsetof(attnscope_kernel,
                                                                      deterministic);

/// Copies a caller's struct into `known`, which is all zeros: fields that a shorter struct lacks
/// count as unused. A longer struct comes from a newer caller: its unknown fields must be zero,
/// since they cannot be honoured.
template <typename Struct>
std::optional<Error> read_struct(const Struct* given, Struct& known, const char* name) {
  if (given == nullptr) return invalid_request("{} is NULL", name);
  if (given->struct_size < kFirstBytes<Struct>) {
    return invalid_request("{}.struct_size is {}; it must be sizeof the struct, {}", name,
                           given->struct_size, sizeof(Struct));
  }
  std::memcpy(&known, given, std::min<std::size_t>(given->struct_size, sizeof(Struct)));
  if (given->struct_size <= sizeof(Struct)) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const bool extra = std::any_of(bytes + sizeof(Struct), bytes + given->struct_size,
                                 [](unsigned char byte) { return byte != 0; });
  if (!extra) return std::nullopt;
  return invalid_request("{} has {} bytes and uses fields beyond the {} that this library supports",
                         name, given->struct_size, sizeof(Struct));
}

/// Reads the run. The tiling is 0 x 0 if the caller gives neither a tiling nor a block mask.
Result<ResolvedRun> read_request(PassKind pass, const attnscope_problem* problem,
                                 const attnscope_kernel* kernel);

}  // namespace attnscope::kernels
