/// Marks functions shared by plain C++ and CUDA device code.
#pragma once

#ifdef __CUDACC__
#define ATTNSCOPE_HOST_DEVICE __host__ __device__
#else
#define ATTNSCOPE_HOST_DEVICE
#endif
