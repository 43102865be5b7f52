/* Stands for a kernels' library with a GPU: its measurements echo what the caller passed. */
#include <string.h>

#include "kernels/attnscope_kernels.h"

struct attnscope_session {
  int unused;
};

static struct attnscope_session the_session;

uint32_t attnscope_kernels_version(void) {
  return ATTNSCOPE_KERNELS_VERSION;
}

const char* attnscope_last_message(void) {
  return "refused by the echo";
}

int32_t attnscope_last_error_code(void) {
  return ATTNSCOPE_ERROR_DOES_NOT_FIT;
}

const char* attnscope_last_field(void) {
  return "Br";
}

attnscope_status attnscope_session_open(int32_t device, attnscope_session** session) {
  (void)device;
  *session = &the_session;
  return ATTNSCOPE_OK;
}

void attnscope_session_close(attnscope_session* session) {
  (void)session;
}

attnscope_status attnscope_session_device(attnscope_session* session, attnscope_device* device) {
  (void)session;
  memcpy(device->name, "Echo", sizeof "Echo");
  return ATTNSCOPE_OK;
}

attnscope_status attnscope_forward_run_host(attnscope_session* session,
                                            attnscope_forward_host* forward) {
  (void)session;
  (void)forward;
  return ATTNSCOPE_FAILED;
}

attnscope_status attnscope_backward_run_host(attnscope_session* session,
                                             attnscope_backward_host* backward) {
  (void)session;
  (void)backward;
  return ATTNSCOPE_FAILED;
}

attnscope_status attnscope_forward_measure(attnscope_session* session,
                                           const attnscope_problem* problem,
                                           const attnscope_kernel* kernel, int32_t input_kind,
                                           uint64_t seed, const attnscope_protocol* protocol,
                                           attnscope_measurement* measurement) {
  (void)session;
  (void)problem;
  (void)kernel;
  (void)protocol;
  measurement->time_min_s = (double)input_kind;
  measurement->time_median_s = (double)seed;
  measurement->time_max_s = (double)seed + 1.0;
  measurement->repeats = 1;
  return ATTNSCOPE_OK;
}

attnscope_status attnscope_backward_measure(attnscope_session* session,
                                            const attnscope_problem* problem,
                                            const attnscope_kernel* kernel, int32_t input_kind,
                                            uint64_t seed, const attnscope_protocol* protocol,
                                            attnscope_measurement* measurement) {
  attnscope_forward_measure(session, problem, kernel, input_kind, seed, protocol, measurement);
  measurement->time_max_s = (double)seed + 2.0;
  return ATTNSCOPE_OK;
}

attnscope_status attnscope_forward_measure_host(attnscope_session* session,
                                                const attnscope_problem* problem,
                                                const attnscope_kernel* kernel,
                                                const attnscope_host_inputs* inputs,
                                                const attnscope_protocol* protocol,
                                                attnscope_measurement* measurement) {
  (void)session;
  (void)protocol;
  if (inputs->struct_size != sizeof *inputs) return ATTNSCOPE_INVALID_REQUEST;
  measurement->time_min_s = inputs->q[0];
  measurement->time_median_s = inputs->k[0];
  measurement->time_max_s = inputs->v[0];
  measurement->repeats = (int32_t)problem->seq_len;
  measurement->block_rows = kernel->block_rows;
  measurement->block_cols = kernel->block_cols;
  return ATTNSCOPE_OK;
}

attnscope_status attnscope_backward_measure_host(attnscope_session* session,
                                                 const attnscope_problem* problem,
                                                 const attnscope_kernel* kernel,
                                                 const attnscope_host_inputs* inputs,
                                                 const attnscope_protocol* protocol,
                                                 attnscope_measurement* measurement) {
  attnscope_forward_measure_host(session, problem, kernel, inputs, protocol, measurement);
  measurement->gradient_rows_checked = 1;
  measurement->dq.max_abs_error = inputs->d_o[0];
  return ATTNSCOPE_OK;
}
