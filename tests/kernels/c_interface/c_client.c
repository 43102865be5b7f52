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
typedef attnscope_status (*create_function)(const char*, attnscope_run**);
typedef void (*destroy_function)(attnscope_run*);
typedef uint64_t (*workspace_function)(const attnscope_run*);

int c_client_run(const char* library, char* message, size_t message_size) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return C_CLIENT_NO_LIBRARY;
  version_function version = (version_function)dlsym(handle, "attnscope_kernels_version");
  message_function last_message = (message_function)dlsym(handle, "attnscope_last_message");
  open_function open_session = (open_function)dlsym(handle, "attnscope_session_open");
  close_function close_session = (close_function)dlsym(handle, "attnscope_session_close");
  create_function create_run = (create_function)dlsym(handle, "attnscope_run_create");
  destroy_function destroy_run = (destroy_function)dlsym(handle, "attnscope_run_destroy");
  workspace_function workspace = (workspace_function)dlsym(handle, "attnscope_run_workspace");
  if (!version || !last_message || !open_session || !close_session || !create_run || !destroy_run ||
      !workspace) {
    return C_CLIENT_NO_FUNCTION;
  }
  if (version() != ATTNSCOPE_KERNELS_VERSION) return C_CLIENT_OTHER_VERSION;

  attnscope_run* run = NULL;
  if (create_run("{\"algorithm\": \"standard\", \"problem\": {\"batch\": 2, \"heads\": 4, "
                 "\"kv_heads\": 4, \"seq_len\": 1024, \"head_dim\": 64, \"dtype\": \"bf16\"}}",
                 &run) != ATTNSCOPE_OK) {
    snprintf(message, message_size, "%s", last_message());
    return C_CLIENT_NO_RUN;
  }
  /* at least S and P of standard attention */
  const uint64_t bytes = workspace(run);
  destroy_run(run);
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
