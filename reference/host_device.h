/// Marks functions that plain C++ and CUDA device code share.
#pragma once

#ifdef __CUDACC__
#define ATTNSCOPE_HOST_DEVICE __host__ __device__
#else
#define ATTNSCOPE_HOST_DEVICE
#endif
