/* C interface of libattnscope_kernels.so: attention kernels on a GPU, for other programs.
 *
 * Plain C, to be linked or loaded at run time (dlopen, ctypes). A run is described in JSON, with
 * the fields that scenes and recordings have for a run; its tensors are in device memory. If a call
 * returns a status other than ATTNSCOPE_OK, attnscope_last_message() explains why in one line, for
 * the calling thread.
 *
 * A session owns the GPU's context in a separate thread. Any thread may call it; the calls run one
 * after another. */
#ifndef ATTNSCOPE_KERNELS_H
#define ATTNSCOPE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* C's own customs: NOLINTBEGIN(modernize-use-using, readability-identifier-naming) */

#define ATTNSCOPE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Increases with every change that older callers would notice, not with new functions or fields of
 * a run. */
#define ATTNSCOPE_KERNELS_VERSION 4

typedef enum attnscope_status {
  ATTNSCOPE_OK = 0,
  ATTNSCOPE_INVALID_REQUEST = 1, /* invalid request; the message says what would be accepted */
  ATTNSCOPE_FAILED = 2,          /* attempted but failed (out of memory, a CUDA error) */
  ATTNSCOPE_UNAVAILABLE = 3,     /* no driver, no GPU, no library, no permission */
  ATTNSCOPE_LOST = 4             /* an earlier error corrupted the GPU's context: open again in a
                                    new process */
} attnscope_status;

typedef struct attnscope_session attnscope_session;
typedef struct attnscope_run attnscope_run;

/* A tensor in device memory with a contiguous last axis; the other strides, in elements, are
 * arbitrary, so tensors of other frameworks need no copy. If one is 0, or 2^40 bytes or more, a
 * kernel runs its mma.sync program; switches that only its program for Hopper has are refused. */
typedef struct attnscope_tensor {
  void* data_dev; /* on the session's GPU */
  int64_t stride_batch;
  int64_t stride_head;
  int64_t stride_row;
} attnscope_tensor;

/* The memory that a run's pass reads and writes. A backward pass follows the forward pass of the
 * same kernel. Zero the fields that the pass does not use. */
typedef struct attnscope_pass {
  uint64_t struct_size; /* sizeof(attnscope_pass); any other number is refused */
  attnscope_tensor q;   /* [B, H, N, d] of the problem's dtype */
  attnscope_tensor k;   /* [B, H_kv, N_kv, d] */
  attnscope_tensor v;   /* [B, H_kv, N_kv, d] */
  attnscope_tensor o;   /* [B, H, N, d], written by the forward pass, read by the backward pass */
  float* lse_dev;       /* [B, H, N] contiguous, as o; natural logarithm, -inf: empty row */
  void* workspace_dev;  /* at least attnscope_run_workspace() bytes, 256-byte aligned */
  uint64_t workspace_bytes;
  void* stream; /* cudaStream_t; NULL: the default stream */
  /* Backward pass only */
  attnscope_tensor d_o;        /* [B, H, N, d] */
  attnscope_tensor dq;         /* [B, H, N, d], written */
  attnscope_tensor dk;         /* [B, H_kv, N_kv, d], written */
  attnscope_tensor dv;         /* [B, H_kv, N_kv, d], written */
  void* forward_workspace_dev; /* as the forward pass left it; standard puts dP in place of S */
} attnscope_pass;

/* ATTNSCOPE_KERNELS_VERSION of the library. */
ATTNSCOPE_API uint32_t attnscope_kernels_version(void);

/* The commit that the library was built from. */
ATTNSCOPE_API const char* attnscope_kernels_commit(void);

/* 1 if its sources differed from that commit's, else 0. */
ATTNSCOPE_API int32_t attnscope_kernels_has_local_changes(void);

/* Why the calling thread's last call did not return ATTNSCOPE_OK; "" after success. */
ATTNSCOPE_API const char* attnscope_last_message(void);

/* Opens GPU number `device` (0: the first). */
ATTNSCOPE_API attnscope_status attnscope_session_open(int32_t device, attnscope_session** session);
ATTNSCOPE_API void attnscope_session_close(attnscope_session* session);

/* The run that a JSON object describes; needs no GPU. For example:
 *   {"algorithm": "flash2", "pass": "forward",
 *    "problem": {"batch": 4, "heads": 16, "kv_heads": 4, "seq_len": 4096, "head_dim": 128,
 *                "dtype": "bf16", "mask": "causal"},
 *    "tiling": {"Br": 128, "Bc": 64}, "switches": "stages=1"}
 * "seq_len" and "head_dim" are required; other missing fields have their defaults. Refused: members
 * that are no fields of a run, and what the kernel does not support. Fields that only the model
 * uses ("gpu", "inputs") have no effect. A block mask is a pattern or the path of a FILE.npy; its
 * tiles are those of the run. Several sessions and threads may use the run, which may be destroyed
 * once their launches have returned. */
ATTNSCOPE_API attnscope_status attnscope_run_create(const char* json, attnscope_run** run);
ATTNSCOPE_API void attnscope_run_destroy(attnscope_run* run);

/* Bytes of workspace that suffice on any GPU; 0 for NULL. */
ATTNSCOPE_API uint64_t attnscope_run_workspace(const attnscope_run* run);

/* Enqueues the run's pass on the stream and returns. The first launch of a run compiles its kernels
 * and copies its lists of tiles and slopes to the GPU, which synchronizes. */
ATTNSCOPE_API attnscope_status attnscope_run_launch(attnscope_session* session,
                                                    const attnscope_run* run,
                                                    const attnscope_pass* pass);

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
