/// The ranges of quantities in AttnScope's JSON files. Wide enough for any machine, and narrow
/// enough that products and quotients of a few values stay finite.
#pragma once

#include "reference/json/json_document.h"

namespace attnscope {

struct NumberRange {
  double least;
  double most;
};

inline constexpr NumberRange kSecondsRange{1e-12, 1e9};
inline constexpr NumberRange kMegahertzRange{1, 1e6};
inline constexpr NumberRange kHertzRange{1e6, 1e12};
inline constexpr NumberRange kWattsRange{1, 1e6};
inline constexpr NumberRange kRateRange{1e6, 1e18};  ///< bytes or operations per second
/// The two counters of a share may be read in separate runs, so a share may slightly exceed 100.
inline constexpr NumberRange kPercentRange{0, 110};
inline constexpr NumberRange kCountRange{0, 0x1p63};

inline constexpr Index kMostSms = 65536;  ///< the timeline has a track for each
inline constexpr std::size_t kMostNameBytes = 200;
inline constexpr std::size_t kMostNoteBytes = 1000;

/// Throws JsonFieldError unless the number is in the range.
void check_range(const JsonObject& object, std::string_view key, double value,
                 const NumberRange& range);
/// Each throws JsonFieldError if the field is missing, of the wrong type or out of range.
double number_in(const JsonObject& object, std::string_view key, const NumberRange& range);
/// The same; the number may also be 0.
double zero_or_number_in(const JsonObject& object, std::string_view key, const NumberRange& range);
std::string text_of_at_most(const JsonObject& object, std::string_view key, std::size_t bytes);
/// The same; "" if the field is missing.
std::string optional_text_of_at_most(const JsonObject& object, std::string_view key,
                                     std::size_t bytes);

}  // namespace attnscope
