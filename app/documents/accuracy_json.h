/// A study of accuracy as JSON (schema attnscope.accuracy/1).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "sim/accuracy.h"

namespace attnscope {

/// Whether numerators of the softmax overflow, so that its errors say nothing.
bool is_broken(const RowSoftmax& softmax);

/// rounded_output_note() of the first case that rounds O in every pass; empty if none does.
std::string_view carry_note(const AccuracyReport& report);

/// An error that is NaN is absent and explained by "nan_elems" or "has_nan".
nlohmann::ordered_json accuracy_json(const AccuracyRequest& request, const AccuracyReport& report);

}  // namespace attnscope
