/// Shapes, tilings and masks that every schedule runs on.
#pragma once

#include <fmt/core.h>

#include <ostream>
#include <vector>

#include "sim/simulation.h"
#include "tests/support/model_request.h"

namespace attnscope::test {

struct ScheduleCase {
  Index N, N_kv, d;
  Tiling tiling;
  Mask mask;
  Index heads = 1, kv_heads = 1;
};

inline void PrintTo(const ScheduleCase& c, std::ostream* out) {
  *out << fmt::format("N={} N_kv={} d={} {}x{} {} heads={}/{}", c.N, c.N_kv, c.d, c.tiling.Br,
                      c.tiling.Bc, to_string(c.mask), c.heads, c.kv_heads);
}

/// Cases with every mask in every tiling at every pair of lengths, d = 8.
inline std::vector<ScheduleCase> all_cases(std::span<const Mask> masks,
                                           std::span<const Tiling> tilings,
                                           std::span<const std::pair<Index, Index>> lengths) {
  std::vector<ScheduleCase> all;
  for (const Mask& mask : masks) {
    for (const Tiling& tiling : tilings) {
      for (const auto& [N, N_kv] : lengths) all.push_back({N, N_kv, 8, tiling, mask});
    }
  }
  return all;
}

/// A request for the case's forward pass on the H200, even if its tiles do not fit.
inline test::ModelRequest request_for(const ScheduleCase& c, std::string_view algorithm,
                                      DType dtype = DType::fp32, Index batch = 1) {
  test::ModelRequest request;
  request.problem = {.batch = batch,
                     .heads = c.heads,
                     .kv_heads = c.kv_heads,
                     .N = c.N,
                     .N_kv = c.N_kv,
                     .d = c.d,
                     .dtype = dtype,
                     .mask = c.mask};
  request.algorithm = algorithm;
  request.set_tiling(c.tiling);
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;
  return request;
}

}  // namespace attnscope::test
