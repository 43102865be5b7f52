#include "tests/kernels/measure/copy_kernel.h"

namespace attnscope::kernels {

namespace {

constexpr const char* kText = R"(
namespace attnscope::kernels {

template <int kThreads>
__global__ void copy_kernel(uint4* __restrict__ to, const uint4* __restrict__ from,
                            unsigned long count) {
  const unsigned long i = blockIdx.x * static_cast<unsigned long>(kThreads) + threadIdx.x;
  if (i < count) to[i] = __ldcg(&from[i]);
}

template <int kThreads>
__global__ void repeated_read_kernel(const uint4* __restrict__ from, unsigned long count) {
  unsigned sum = 0;
  for (unsigned long i = threadIdx.x; i < count; i += kThreads) sum += __ldcg(&from[i]).x;
  if (sum == 0xffffffffu) __trap();  // keeps the loads alive; zeros never add up to it
}

template <int kThreads>
__global__ void bad_write_kernel(int* nowhere) {
  *nowhere = 1;
}

}  // namespace attnscope::kernels
)";

BlockProgram block_of(std::string_view kernel, int threads) {
  return {.program = {.expression = instance_of(kernel, threads), .text = kText},
          .threads = threads};
}

constexpr std::size_t kPieceBytes = 16;

}  // namespace

void enqueue_copy(const Session& session, void* to_dev, const void* from_dev, std::size_t bytes) {
  constexpr int kThreads = 256;
  const std::uint64_t count = bytes / kPieceBytes;
  session.resources().kernels.start(block_of("copy_kernel", kThreads),
                                    ceil_div(static_cast<Index>(count), kThreads),
                                    session.stream().get(), to_dev, from_dev, count);
}

void enqueue_repeated_read(const Session& session, const void* from_dev, std::size_t bytes,
                           int blocks) {
  session.resources().kernels.start(block_of("repeated_read_kernel", 1024), blocks,
                                    session.stream().get(), from_dev,
                                    std::uint64_t{bytes / kPieceBytes});
}

void enqueue_bad_write(const Session& session) {
  constexpr std::uint64_t kNowhere = 16;
  session.resources().kernels.start(block_of("bad_write_kernel", 1), 1, session.stream().get(),
                                    kNowhere);
}

}  // namespace attnscope::kernels
