/// The kernels' switches as constants. The compiler gets a macro for each switch that a run
/// changes; kernels/knobs.cpp and reference/run_fields.cpp (visit_hidden) describe them.
#pragma once

#ifndef ATTNSCOPE_STAGES
#define ATTNSCOPE_STAGES 2
#endif
#ifndef ATTNSCOPE_ASYNC_COPIES
#define ATTNSCOPE_ASYNC_COPIES 1
#endif
#ifndef ATTNSCOPE_SWIZZLE
#define ATTNSCOPE_SWIZZLE 1
#endif
#ifndef ATTNSCOPE_RESCALE_ALWAYS
#define ATTNSCOPE_RESCALE_ALWAYS 0
#endif
#ifndef ATTNSCOPE_MASK_ALL
#define ATTNSCOPE_MASK_ALL 0
#endif
#ifndef ATTNSCOPE_SLICED_K
#define ATTNSCOPE_SLICED_K 0
#endif
#ifndef ATTNSCOPE_ASCENDING
#define ATTNSCOPE_ASCENDING 0
#endif
#ifndef ATTNSCOPE_OVERLAP
#define ATTNSCOPE_OVERLAP 1
#endif
#ifndef ATTNSCOPE_PING_PONG
#define ATTNSCOPE_PING_PONG 1
#endif
#ifndef ATTNSCOPE_PERSISTENT
#define ATTNSCOPE_PERSISTENT 1
#endif
#ifndef ATTNSCOPE_TRIM
#define ATTNSCOPE_TRIM 1
#endif
#ifndef ATTNSCOPE_POLYNOMIAL_EVERY
#define ATTNSCOPE_POLYNOMIAL_EVERY 0
#endif
#ifndef ATTNSCOPE_VISIT_HIDDEN
#define ATTNSCOPE_VISIT_HIDDEN 0
#endif

namespace attnscope::kernels::knob {

inline constexpr int kStages = ATTNSCOPE_STAGES;
inline constexpr bool kAsyncCopies = ATTNSCOPE_ASYNC_COPIES != 0;
inline constexpr bool kSwizzle = ATTNSCOPE_SWIZZLE != 0;
inline constexpr bool kRescaleAlways = ATTNSCOPE_RESCALE_ALWAYS != 0;
inline constexpr bool kMaskAll = ATTNSCOPE_MASK_ALL != 0;
inline constexpr bool kSlicedK = ATTNSCOPE_SLICED_K != 0;
inline constexpr bool kAscending = ATTNSCOPE_ASCENDING != 0;
inline constexpr bool kOverlap = ATTNSCOPE_OVERLAP != 0;
inline constexpr bool kPingPong = ATTNSCOPE_PING_PONG != 0;
inline constexpr bool kPersistent = ATTNSCOPE_PERSISTENT != 0;
inline constexpr bool kTrim = ATTNSCOPE_TRIM != 0;
inline constexpr int kPolynomialEvery = ATTNSCOPE_POLYNOMIAL_EVERY;
inline constexpr bool kVisitHidden = ATTNSCOPE_VISIT_HIDDEN != 0;

}  // namespace attnscope::kernels::knob
