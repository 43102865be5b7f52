#include "kernels/measure/trace/trace_steps.h"

#include <array>
#include <optional>

#include "reference/check.h"

namespace attnscope::kernels {

namespace {

struct HookInfo {
  TraceStep hook;
  std::string_view name;
  StepClass kind;
  bool row_tile;
  bool column_tile;
  Step step;                        ///< the step of this line, or of a part of it
  std::optional<Step> flash1 = {};  ///< in flash1, if its line differs
};

constexpr auto kHooks = std::to_array<HookInfo>({
    {TraceStep::wait, "wait", StepClass::waiting, true, true, Step::given},
    {TraceStep::load_Qi, "load Q_i", StepClass::memory, true, false, Step::load_row_tile},
    {TraceStep::load_Kj, "load K_j", StepClass::memory, false, true, Step::load_column_tile},
    {TraceStep::load_Vj, "load V_j", StepClass::memory, false, true, Step::load_column_tile},
    {TraceStep::load_Oi, "load O_i", StepClass::memory, true, false, Step::load_row_tile},
    {TraceStep::load_dOi, "load dO_i", StepClass::memory, true, false, Step::load_row_tile},
    {TraceStep::load_statistics, "load row statistics", StepClass::memory, true, false,
     Step::load_row_tile},
    {TraceStep::scores, "S = Q_i K_j^T", StepClass::matrix, true, true, Step::scores},
    {TraceStep::mask, "mask S", StepClass::other, true, true, Step::mask},
    {TraceStep::update_max, "m_i, alpha", StepClass::other, true, true, Step::update_max},
    {TraceStep::rescale, "rescale l_i, O_i", StepClass::other, true, true, Step::update_output,
     Step::rescale_output},
    {TraceStep::exponentiate, "P = exp(S - m_i), row sums", StepClass::other, true, true,
     Step::exponentiate},
    {TraceStep::accumulate, "O_i + P V_j", StepClass::matrix, true, true, Step::update_output},
    {TraceStep::normalize, "O_i / l_i", StepClass::other, true, false, Step::normalize,
     Step::update_output},
    {TraceStep::store_Oi, "store O_i", StepClass::memory, true, false, Step::store_output},
    {TraceStep::store_LSEi, "store LSE_i", StepClass::memory, true, false, Step::store_output},
    {TraceStep::store_statistics, "store l_i, m_i", StepClass::memory, true, false,
     Step::store_statistics},
    {TraceStep::product_dP, "dP = dO_i V_j^T", StepClass::matrix, true, true, Step::product_dP},
    {TraceStep::softmax_gradient, "dS = P (dP - D_i)", StepClass::other, true, true,
     Step::softmax_gradient},
    {TraceStep::accumulate_dV, "dV_j + P^T dO_i", StepClass::matrix, true, true, Step::update_dV},
    {TraceStep::accumulate_dK, "dK_j + dS^T Q_i", StepClass::matrix, true, true, Step::update_dK},
    {TraceStep::row_dot, "D_i = rowsum(dO_i O_i)", StepClass::other, true, true, Step::row_dot},
    {TraceStep::product_dQ, "dQ_i + dS K_j", StepClass::matrix, true, true, Step::update_dQ},
    {TraceStep::load_dQi, "load dQ_i", StepClass::memory, true, false, Step::load_row_tile},
    {TraceStep::store_dQi, "store dQ_i", StepClass::memory, true, false, Step::store_dQ},
    {TraceStep::add_dQi, "dQ_i + dS K_j, atomically", StepClass::memory, true, true,
     Step::update_dQ},
    {TraceStep::store_dKj, "store dK_j", StepClass::memory, false, true, Step::store_key_gradients},
    {TraceStep::store_dVj, "store dV_j", StepClass::memory, false, true, Step::store_key_gradients},
});

constexpr bool in_order() {
  for (std::size_t n = 0; n < kHooks.size(); ++n) {
    if (kHooks[n].hook != static_cast<TraceStep>(n)) return false;
  }
  return kHooks.size() == kTraceStepCount;
}
static_assert(in_order());

const HookInfo& info_of(TraceStep hook) {
  const auto index = static_cast<std::size_t>(hook);
  ATTNSCOPE_CHECK(index, <, kHooks.size());
  return kHooks[index];
}

}  // namespace

std::string_view step_name(TraceStep step) {
  return info_of(step).name;
}
StepClass step_class(TraceStep step) {
  return info_of(step).kind;
}
bool has_row_tile(TraceStep step) {
  return info_of(step).row_tile;
}
bool has_column_tile(TraceStep step) {
  return info_of(step).column_tile;
}

bool is_part_of(TraceStep hook, Step step) {
  return info_of(hook).step == step || info_of(hook).flash1 == step;
}

}  // namespace attnscope::kernels
