/* A client of the kernels' library, written in C. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C's own customs: NOLINTBEGIN(readability-identifier-naming) */
enum {
  C_CLIENT_HAS_GPU,
  C_CLIENT_NO_GPU, /* the library's reason is in `message` */
  C_CLIENT_NO_LIBRARY,
  C_CLIENT_NO_FUNCTION,
  C_CLIENT_OTHER_VERSION,
  C_CLIENT_NO_RUN, /* the library's reason is in `message` */
  C_CLIENT_NO_WORKSPACE,
  C_CLIENT_FAILED
};
/* NOLINTEND(readability-identifier-naming) */

/* Loads the library at the path and calls its functions. */
int c_client_run(const char* library, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif
