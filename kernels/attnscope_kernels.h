/* C interface of libattnscope_kernels.so: attention kernels on a GPU, for other programs.
 *
 * Plain C, to be linked or loaded at run time (dlopen, ctypes). Every struct that may grow begins
 * with struct_size: set it to the sizeof of the struct that you compiled and zero the rest. An
 * older library rejects nonzero values in fields that it does not have. Fields are only added at
 * the end.
 *
 * Tensors are in device memory, [batch, heads, rows, head_dim] with a contiguous last axis; the
 * other strides are arbitrary, so tensors of other frameworks need no copy. Pointers named *_dev
 * are device pointers on the session's GPU. A stream is a cudaStream_t; NULL is the default stream.
 *
 * A session owns the GPU's context in a separate thread. Any thread may call it; the calls run one
 * after another. Every call returns a status; attnscope_last_message() explains in one
 * line why the calling thread's last call did not return ATTNSCOPE_OK. */
#ifndef ATTNSCOPE_KERNELS_H
#define ATTNSCOPE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* C's own customs: NOLINTBEGIN(modernize-use-using, readability-identifier-naming) */

#if defined(__GNUC__)
#define ATTNSCOPE_API __attribute__((visibility("default")))
#else
#define ATTNSCOPE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Increases only with changes that break older callers, not with additions. */
#define ATTNSCOPE_KERNELS_VERSION 3

typedef enum attnscope_status {
  ATTNSCOPE_OK = 0,
  ATTNSCOPE_INVALID_REQUEST = 1, /* invalid request; the message says what would be accepted */
  ATTNSCOPE_FAILED = 2,          /* attempted but failed (out of memory, a CUDA error) */
  ATTNSCOPE_UNAVAILABLE = 3,     /* no driver, no GPU, no library, no permission */
  ATTNSCOPE_LOST = 4             /* an earlier error corrupted the GPU's context: open again in a
                                    new process */
} attnscope_status;

typedef enum attnscope_dtype {
  ATTNSCOPE_FP32 = 0,
  ATTNSCOPE_FP16 = 1,
  ATTNSCOPE_BF16 = 2
} attnscope_dtype;

typedef enum attnscope_alignment {
  ATTNSCOPE_BOTTOM_RIGHT = 0, /* the last query is aligned with the last key */
  ATTNSCOPE_TOP_LEFT = 1
} attnscope_alignment;

typedef enum attnscope_carry {
  ATTNSCOPE_CARRY_PROBLEM = 0,
  ATTNSCOPE_CARRY_FP32 = 1
} attnscope_carry;

typedef struct attnscope_session attnscope_session;

/* The problem: softmax(Q K^T / sqrt(head_dim)) V under a mask. In soft_cap and the fields after it,
 * zero means unused; a kernel rejects a field that is used but not supported. Pointers point to
 * host memory, which is read during the call. */
typedef struct attnscope_problem {
  uint32_t struct_size;
  int32_t dtype; /* attnscope_dtype */
  int64_t batch;
  int64_t heads;
  int64_t kv_heads;       /* divides heads */
  int64_t seq_len;        /* N */
  int64_t kv_len;         /* N_kv */
  int64_t head_dim;       /* d */
  int64_t mask_left;      /* keys visible before the diagonal; -1: unlimited */
  int64_t mask_right;     /* keys visible after the diagonal; -1: unlimited; causal: 0 */
  int32_t mask_alignment; /* attnscope_alignment */
  int32_t reserved;       /* 0 */
  /* The score function, in this order: S = soft_cap tanh(S / soft_cap); S = S - slope |k - (q +
   * kv_len - seq_len)|; P = softmax(S); elements of P are dropped, the others divided by 1 - p. */
  double soft_cap;
  const double* alibi_slopes; /* [heads] */
  double dropout_probability; /* p, less than 1 */
  uint64_t dropout_seed;
  int64_t dropout_first_batch; /* the bits are drawn for a larger batch, in which these are */
  int64_t dropout_first_head;  /* the indices of the first batch entry and head */
  /* Key padding: the number of valid keys of each batch entry, [batch]. */
  const int64_t* key_lengths;
  /* Packed sequences, batch 1: sequence s begins at query cu_seqlens_q[s] and key cu_seqlens_k[s];
   * both arrays have sequences + 1 numbers, from 0 to seq_len and to kv_len. */
  const int64_t* cu_seqlens_q;
  const int64_t* cu_seqlens_k;
  int64_t sequences;
  /* Block-sparse: tile (i, j) of S is computed where block_mask[i * block_mask_cols + j] is not 0.
   * A tile has block_mask_tile_rows queries and block_mask_tile_cols keys. */
  const uint8_t* block_mask;
  int64_t block_mask_rows;
  int64_t block_mask_cols;
  int64_t block_mask_tile_rows;
  int64_t block_mask_tile_cols;
} attnscope_problem;

/* The kernel to run. */
typedef struct attnscope_kernel {
  uint32_t struct_size;
  int32_t carry;         /* attnscope_carry; FP32 only for "flash1"; the others reject it */
  const char* name;      /* "standard", "flash1", "flash2", "block_sparse2", "split_kv" */
  int64_t block_rows;    /* Br; 0 with block_cols = 0: the kernel's default tiling */
  int64_t block_cols;    /* Bc */
  int32_t deterministic; /* 1: the backward pass's dQ is bit-identical on every run */
  int32_t reserved;      /* 0 */
} attnscope_kernel;

/* A tensor in device memory; strides in elements. This struct never grows. */
typedef struct attnscope_tensor {
  void* data_dev;
  int64_t stride_batch;
  int64_t stride_head;
  int64_t stride_row;
} attnscope_tensor;

/* A pass on device memory. A backward pass follows the forward pass of the same kernel. */
typedef struct attnscope_pass {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  const attnscope_problem* problem;
  const attnscope_kernel* kernel;
  attnscope_tensor q;  /* [B, H, N, d] of the problem's dtype */
  attnscope_tensor k;  /* [B, H_kv, N_kv, d] */
  attnscope_tensor v;  /* [B, H_kv, N_kv, d] */
  attnscope_tensor o;  /* [B, H, N, d], written by the forward pass, read by the backward pass */
  float* lse_dev;      /* [B, H, N] contiguous, as o; natural logarithm, -inf: empty row */
  void* workspace_dev; /* at least as many bytes as the pass needs, 256-byte aligned */
  uint64_t workspace_bytes;
  void* stream; /* cudaStream_t */
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

/* Bytes of workspace that the kernel needs. */
ATTNSCOPE_API attnscope_status attnscope_forward_workspace(const attnscope_problem* problem,
                                                           const attnscope_kernel* kernel,
                                                           uint64_t* bytes);
ATTNSCOPE_API attnscope_status attnscope_backward_workspace(const attnscope_problem* problem,
                                                            const attnscope_kernel* kernel,
                                                            uint64_t* bytes);

/* Enqueues the pass on its stream and returns. */
ATTNSCOPE_API attnscope_status attnscope_forward_launch(attnscope_session* session,
                                                        const attnscope_pass* pass);
ATTNSCOPE_API attnscope_status attnscope_backward_launch(attnscope_session* session,
                                                         const attnscope_pass* pass);

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
