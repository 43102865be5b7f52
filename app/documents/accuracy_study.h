/// The accuracy of the algorithms as a study (in JSON: schema attnscope.accuracy/1).
#pragma once

#include "app/report/table.h"
#include "sim/accuracy.h"

namespace attnscope {

/// In JSON, an error that is NaN is omitted; "nan_elems" or "has_nan" explains why.
Study accuracy_study(const AccuracyRequest& request, const AccuracyReport& report);

}  // namespace attnscope
