/* A client in plain C: the header must compile as C, and the calls must work with dlsym only. */
#include "tests/kernels/c_interface/c_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attnscope_kernels.h"

typedef uint32_t (*version_function)(void);
typedef const char* (*message_function)(void);
typedef attnscope_status (*open_function)(int32_t, attnscope_session**);
typedef void (*close_function)(attnscope_session*);
typedef attnscope_status (*workspace_function)(const attnscope_problem*, const attnscope_kernel*,
                                               uint64_t*);

int c_client_run(const char* library, char* message, size_t message_size) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return C_CLIENT_NO_LIBRARY;
  version_function version = (version_function)dlsym(handle, "attnscope_kernels_version");
  message_function last_message = (message_function)dlsym(handle, "attnscope_last_message");
  open_function open_session = (open_function)dlsym(handle, "attnscope_session_open");
  close_function close_session = (close_function)dlsym(handle, "attnscope_session_close");
  workspace_function workspace = (workspace_function)dlsym(handle, "attnscope_forward_workspace");
  if (!version || !last_message || !open_session || !close_session || !workspace) {
    return C_CLIENT_NO_FUNCTION;
  }
  if (version() != ATTNSCOPE_KERNELS_VERSION) return C_CLIENT_OTHER_VERSION;

  /* at least S and P of standard attention */
  attnscope_problem problem = {
      sizeof problem, ATTNSCOPE_BF16, 2, 4, 4, 1024, 1024, 64, -1, -1, 0, 0};
  attnscope_kernel kernel = {sizeof kernel, ATTNSCOPE_CARRY_PROBLEM, "standard", 0, 0};
  uint64_t bytes = 0;
  if (workspace(&problem, &kernel, &bytes) != ATTNSCOPE_OK) return C_CLIENT_NO_WORKSPACE;
  if (bytes < UINT64_C(2) * 2 * 4 * 1024 * 1024 * 2) return C_CLIENT_NO_WORKSPACE;

  attnscope_session* session = NULL;
  attnscope_status status = open_session(0, &session);
  snprintf(message, message_size, "%s", last_message());
  if (status == ATTNSCOPE_OK) {
    close_session(session);
    return C_CLIENT_HAS_GPU;
  }
  return status == ATTNSCOPE_UNAVAILABLE && session == NULL ? C_CLIENT_NO_GPU : C_CLIENT_FAILED;
}
