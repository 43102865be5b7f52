#include "kernels/measure/trace/trace_steps.h"

#include <array>

#include "reference/check.h"

namespace attnscope::kernels {

namespace {

struct StepWords {
  TraceStep step;
  std::string_view name;
  StepClass kind;
  bool row_tile;
  bool column_tile;
};

// clang-format off
constexpr std::array kSteps{
    StepWords{TraceStep::wait, "wait", StepClass::waiting, true, true},
    StepWords{TraceStep::load_Qi, "load Q_i", StepClass::memory, true, false},
    StepWords{TraceStep::load_Kj, "load K_j", StepClass::memory, false, true},
    StepWords{TraceStep::load_Vj, "load V_j", StepClass::memory, false, true},
    StepWords{TraceStep::load_Oi, "load O_i", StepClass::memory, true, false},
    StepWords{TraceStep::load_dOi, "load dO_i", StepClass::memory, true, false},
    StepWords{TraceStep::load_statistics, "load row statistics", StepClass::memory, true, false},
    StepWords{TraceStep::scores, "S = Q_i K_j^T", StepClass::matrix, true, true},
    StepWords{TraceStep::mask, "mask S", StepClass::other, true, true},
    StepWords{TraceStep::update_max, "m_i, alpha", StepClass::other, true, true},
    StepWords{TraceStep::rescale, "rescale l_i, O_i", StepClass::other, true, true},
    StepWords{TraceStep::exponentiate, "P = exp(S - m_i), row sums", StepClass::other, true, true},
    StepWords{TraceStep::accumulate, "O_i + P V_j", StepClass::matrix, true, true},
    StepWords{TraceStep::normalize, "O_i / l_i", StepClass::other, true, false},
    StepWords{TraceStep::store_Oi, "store O_i", StepClass::memory, true, false},
    StepWords{TraceStep::store_LSEi, "store LSE_i", StepClass::memory, true, false},
    StepWords{TraceStep::store_statistics, "store l_i, m_i", StepClass::memory, true, false},
    StepWords{TraceStep::product_dP, "dP = dO_i V_j^T", StepClass::matrix, true, true},
    StepWords{TraceStep::softmax_gradient, "dS = P (dP - D_i)", StepClass::other, true, true},
    StepWords{TraceStep::accumulate_dV, "dV_j + P^T dO_i", StepClass::matrix, true, true},
    StepWords{TraceStep::accumulate_dK, "dK_j + dS^T Q_i", StepClass::matrix, true, true},
    StepWords{TraceStep::row_dot, "D_i = rowsum(dO_i O_i)", StepClass::other, true, true},
    StepWords{TraceStep::product_dQ, "dQ_i + dS K_j", StepClass::matrix, true, true},
    StepWords{TraceStep::load_dQi, "load dQ_i", StepClass::memory, true, false},
    StepWords{TraceStep::store_dQi, "store dQ_i", StepClass::memory, true, false},
    StepWords{TraceStep::add_dQi, "dQ_i + dS K_j, atomically", StepClass::memory, true, true},
    StepWords{TraceStep::store_dKj, "store dK_j", StepClass::memory, false, true},
    StepWords{TraceStep::store_dVj, "store dV_j", StepClass::memory, false, true},
};
// clang-format on

constexpr bool in_order() {
  for (std::size_t n = 0; n < kSteps.size(); ++n) {
    if (static_cast<std::size_t>(kSteps[n].step) != n) return false;
  }
  return kSteps.size() == kTraceStepCount;
}
static_assert(in_order());

const StepWords& words(TraceStep step) {
  const auto index = static_cast<std::size_t>(step);
  ATTNSCOPE_CHECK(index, <, kSteps.size());
  return kSteps[index];
}

}  // namespace

std::string_view step_name(TraceStep step) {
  return words(step).name;
}
StepClass step_class(TraceStep step) {
  return words(step).kind;
}
bool has_row_tile(TraceStep step) {
  return words(step).row_tile;
}
bool has_column_tile(TraceStep step) {
  return words(step).column_tile;
}

}  // namespace attnscope::kernels
