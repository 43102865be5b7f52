#include "kernels/measure/timing/conditioning.h"

#include "kernels/measure/measuring_programs.h"

namespace attnscope::kernels {

Conditioning::Conditioning(CompiledKernels& kernels, std::size_t l2_bytes)
    : kernels_(kernels), zeros_(2 * l2_bytes) {
  zeros_.fill_bytes(0);
}

void Conditioning::sweep_cache(const Stream& stream) const {
  constexpr Index kBlocks = 1024;
  constexpr std::size_t kPieceBytes = 16;
  void* const zeros = zeros_.data_dev();
  kernels_.start(sweep_cache_program(), kBlocks, stream.get(), zeros,
                 std::uint64_t{zeros_.bytes() / kPieceBytes}, zeros);
}

void Conditioning::give_head_start(const Stream& stream) const {
  kernels_.start(head_start_program(), 1, stream.get());
}

}  // namespace attnscope::kernels
