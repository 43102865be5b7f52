/* Stands for a kernels' library of a later version. */
#include <stdint.h>

uint32_t attnscope_kernels_version(void) {
  return 99;
}
