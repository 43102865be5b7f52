/// Standard attention's elementwise work in separate launches, as a framework runs it when nothing
/// is fused. Each launch takes the score matrix through the SM once, tile by tile, in place.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The launches between S = Q K^T and the softmax at this level of fusion, in order: "scale" and
/// "mask", "scale_mask", "mask" alone, or none. Each reads and writes N N_kv elements per head, in
/// place; a framework that allocates a new matrix moves the same bytes and needs more memory.
std::vector<Launch> score_launches(const ScheduleOptions& options);

/// The same work in the backward pass, between dS and the products with K and Q: "mask_gradient"
/// and "scale_gradient", "mask_scale_gradient", or none.
std::vector<Launch> gradient_launches(const ScheduleOptions& options);

/// "dropout" between the softmax and the product with V, where it is a separate launch: reads P,
/// writes Z, one byte per element, and P~ = Z P. Its gradient between dP and dS,
/// "dropout_gradient": reads dP and Z, writes dP.
std::vector<Launch> probability_launches(const ScheduleOptions& options);
std::vector<Launch> probability_gradient_launches(const ScheduleOptions& options);

/// Whether dropout is a separate launch, not part of the softmax.
bool drops_apart(const ScheduleOptions& options);
/// Whether the scale is a separate launch, not folded into S = scale Q K^T, dQ and dK.
bool scales_apart(const ScheduleOptions& options);
/// Whether the mask is a separate launch, not part of the softmax.
bool masks_apart(const ScheduleOptions& options);

}  // namespace attnscope
