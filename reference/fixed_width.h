/// Fixed-width integers with the same names on the host and in device code, where NVRTC has no
/// standard library.
#pragma once

#ifdef __CUDACC_RTC__
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
#else
#include <cstdint>
#endif
