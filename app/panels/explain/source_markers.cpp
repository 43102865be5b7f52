#include "app/panels/explain/source_view.h"

#include <algorithm>
#include <iterator>

namespace attnscope::app {

namespace {

/// The pseudo-code lines `texts`, the `again`-th repetition of each in its launch, are done where
/// the source first says `marker`.
struct Marker {
  std::string_view texts[4];
  std::string_view marker;
  int again = 0;
};

constexpr std::string_view kStart = "O_i = 0; l_i = 0; m_i = -inf";
constexpr std::string_view kScores = "S = scale · Q_i K_jᵀ";
constexpr std::string_view kSoftCap = "S = cap · tanh(S / cap)";
constexpr std::string_view kSoftCapSlope = "S = cap · tanh(S / cap); T = 1 - (S / cap)²";
constexpr std::string_view kAlibi = "S = S - slope · distance";
constexpr std::string_view kUpdateMax =
    "m_prev = m_i; m_i = max(m_prev, rowmax S); alpha = exp(m_prev - m_i)";

constexpr Marker kFlash2Forward[] = {
    {{"load Q_i"}, "// load Qi"},
    {{kStart}, "// O = 0, m = -inf, l = 0"},
    {{"load K_j, V_j"}, "(TileKV{Kj_address + stage}, Kj_source"},
    {{kScores}, "// S = Qi Kj^T"},
    {{kSoftCap, kAlibi, "mask S"}, "scores.shape_scores("},
    {{kUpdateMax}, "update_max<"},
    {{"P = exp(S - m_i)"}, "exponentiate<kRowPieces"},
    {{"l_i = alpha · l_i + rowsum P"}, "l[row] *= alpha[row]"},
    {{"P = dropout(P)"}, "scores.drop(S"},
    {{"O_i = alpha · O_i + P V_j"}, "accumulate_output<T"},
    {{"O_i = O_i / l_i"}, "// O = diag(1 / l) O"},
    {{"LSE_i = m_i + log l_i"}, "// O = diag(1 / l) O; LSE = m + log l"},
    {{"store O_i, LSE_i"}, "finish_row_tile<T"},
};

constexpr Marker kSplitPartial[] = {
    {{"load Q_i"}, "// load Qi"},
    {{kStart}, "// O = 0, m = -inf, l = 0"},
    {{"load K_j, V_j"}, "(Kj_of(j), K.row"},
    {{kScores}, "// S = Qi Kj^T"},
    {{kSoftCap, kAlibi, "mask S"}, "scores.shape_scores("},
    {{kUpdateMax}, "update_max<"},
    {{"P = exp(S - m_i)"}, "exponentiate<1"},
    {{"l_i = alpha · l_i + rowsum P"}, "l[half] *= alpha[half]"},
    {{"O_i = alpha · O_i + P V_j"}, "accumulate_output<T"},
    {{"O_i = O_i / l_i"}, "const float inverse_l"},
    {{"LSE_i^s = m_i + log l_i"}, "parameters.LSE_split + out, log_sum_exp"},
    {{"store O_i^s, LSE_i^s in fp32"}, "// Merge the warps; store O, LSE of the split"},
};

constexpr Marker kSplitCombine[] = {
    {{kStart}, "float4 O{0.0f"},
    {{"load LSE_i^s"}, "// load LSE of the splits"},
    {{"m_prev = m_i; m_i = max(m_prev, LSE_i^s); alpha = exp(m_prev - m_i); beta = exp(LSE_i^s - "
      "m_i)"},
     "// m = max(LSE of the splits); beta"},
    {{"l_i = alpha · l_i + beta"}, "float l = beta"},
    {{"load O_i^s"}, "parts[n] = load_part("},
    {{"O_i = alpha · O_i + beta · O_i^s"}, "// O = sum(beta O of the split)"},
    {{"O_i = O_i / l_i"}, "// O = O / l"},
    {{"LSE_i = m_i + log l_i"}, "parameters.LSE[row] = log_sum_exp"},
    {{"store O_i, LSE_i"}, "__stcg(reinterpret_cast<uint2*>(destination)"},
};

constexpr Marker kFlash1Forward[] = {
    {{"load K_j, V_j"}, "// load Kj, Vj"},
    {{"load Q_i, O_i, l_i, m_i"}, "// load mi, li; load the next Qi, Oi"},
    {{kScores}, "// S = Qi Kj^T"},
    {{kSoftCap, kAlibi, "mask S"}, "scores.shape_scores("},
    {{"m~ = rowmax S; P~ = exp(S - m~); l~ = rowsum P~"}, "exponentiate<1"},
    {{"m_prev = m_i; m_i = max(m_prev, m~); alpha = exp(m_prev - m_i); beta = exp(m~ - m_i)"},
     "update_max<"},
    {{"O_i = (alpha · l_i) · O_i"}, "rescale<1, d>(Oi, weight)"},
    {{"l_i = alpha · l_i + beta · l~"}, "merge_row_sums(l,"},
    {{"P~ = dropout(P~)", "P = dropout(P)"}, "scores.drop(S"},
    {{"O_i = (O_i + beta · P~ V_j) / l_i"}, "accumulate_output<T"},
    {{"store O_i"}, "warp_rows.store_O("},
    {{"store l_i, m_i"}, "store_statistic(l_head"},
};

constexpr Marker kFlash1Rows[] = {
    {{"load O_i in fp32"}, "const float4 carried = __ldcg("},
    {{"round O_i to the problem's precision"}, "/// O = carried O, rounded"},
    {{"store O_i"}, "uint2{device::pack<T>(carried.x"},
};

constexpr Marker kFlash2Backward[] = {
    {{"load K_j, V_j"}, "// load Kj, Vj"},
    {{"dK_j = 0; dV_j = 0"}, "Registers dK{}, dV{}"},
    {{"load Q_i, dO_i, LSE_i, D_i"}, "// load Qi, dOi, LSEi, Di"},
    {{kScores}, "// S = scale Qi Kj^T"},
    {{kSoftCapSlope, kAlibi, "mask S"}, "shape_scores<"},
    {{"P = exp(S - LSE_i)"}, "exponentiate_transposed<"},
    {{"P~ = dropout(P)"}, "scores.template drop<"},
    {{"dV_j = dV_j + Pᵀ dO_i", "dV_j = dV_j + P~ᵀ dO_i"},
     "accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV"},
    {{"dP = dO_i V_jᵀ"}, "// dP = dOi Vj^T"},
    {{"dP = dropout(dP)"}, "scores.gradient(p"},
    {{"dS = P ∘ (dP - D_i)"}, "softmax_gradient_transposed<"},
    {{"dS = dS ∘ T"}, "apply_slopes<"},
    {{"dQ_i = dQ_i + scale · dS K_j, atomically"}, "add_query_gradient<T"},
    {{"dK_j = dK_j + scale · dSᵀ Q_i"}, "accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK"},
    {{"store dK_j, dV_j"}, "// store dKj, dVj"},
};

constexpr Marker kFlash2BackwardFrame[] = {
    {{"load O_i, dO_i"}, "load_chunk(o, O.row"},
    {{"D_i = rowsum(dO_i ∘ O_i)"}, "sum = fmaf(o[n], gradient[n], sum)"},
    {{"store D_i"}, "__stcg(parameters.D + head_row"},
    {{"dQ_i = 0, in fp32"}, "__stcg(dQ_accum + n"},
    {{"load dQ_i in fp32"}, "// load fragments; round"},
    {{"round dQ_i to the problem's precision"}, "word[0] = pack<T>"},
    {{"store dQ_i"}, "// store rows"},
};

constexpr Marker kFlash1Backward[] = {
    {{"load K_j, V_j"}, "// load Kj, Vj"},
    {{"dK_j = 0; dV_j = 0"}, "Registers dK{}, dV{}"},
    {{"load Q_i, O_i, dO_i, dQ_i, l_i, m_i"}, "// load Qi, Oi, dOi, dQi, li, mi"},
    {{kScores}, "// S = scale Qi Kj^T"},
    {{kSoftCapSlope, kAlibi, "mask S"}, "shape_scores<"},
    {{"P = exp(S - m_i) / l_i"}, "exponentiate_transposed<"},
    {{"P~ = dropout(P)"}, "scores.template drop<"},
    {{"dV_j = dV_j + Pᵀ dO_i", "dV_j = dV_j + P~ᵀ dO_i"},
     "accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV"},
    {{"dP = dO_i V_jᵀ"}, "multiply_scores_transposed<T, Scores>(dS"},
    {{"dP = dropout(dP)"}, "scores.gradient(p"},
    {{"D_i = rowsum(dO_i ∘ O_i)"}, "// Di = rowsum(dOi * Oi)"},
    {{"dS = P ∘ (dP - D_i)"}, "// dS = P * (dP - Di)"},
    {{"dS = dS ∘ T"}, "apply_slopes<"},
    {{"dQ_i = dQ_i + scale · dS K_j"}, "add_query_gradient_shared<T"},
    {{"store dQ_i"}, "row_tiles.store_dQ("},
    {{"dK_j = dK_j + scale · dSᵀ Q_i"}, "accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK"},
    {{"store dK_j, dV_j"}, "// store dKj, dVj"},
};

// The two-sweep kernel is the second of its file: its markers are lines that only it has.
constexpr Marker kStandardSoftmax[] = {
    {{"load S_i (whole rows)"}, "// load S; soft cap, ALiBi, mask"},
    {{kSoftCap, kAlibi, "mask S_i"}, "shape_score<T>(values[piece][e]"},
    {{"m = rowmax S_i"}, "// m = rowmax(S)"},
    {{"P_i = exp(S_i - m), in place"}, "values[piece][e] = exp2_fast("},
    {{"l = rowsum P_i"}, "l += values[piece][e]"},
    {{"P_i = P_i / l"}, "// P = P / l"},
    {{"store P_i"}, "store_elements<T, kWidth>(P + column, values[piece])"},
    {{"P~ = dropout(P); store P~"}, "store_dropped<T, kWidth>(parameters"},
    {{"store LSE_i = m + log l"}, "parameters.LSE[row] = log_sum_exp"},
    {{"l = 0; m = -inf"}, "float m_thread = kMinusInfinity, l_thread = 0.0f"},
    {{"load S_ij", "mask S_ij"}, "// First sweep: m and l"},
    {{"m_prev = m; m = max(m_prev, rowmax S_ij); alpha = exp(m_prev - m)"},
     "m_new = fmaxf(m_new, values[e])"},
    {{"P = exp(S_ij - m)"}, "l_thread += exp2_fast("},
    {{"l = alpha · l + rowsum P"}, "l_thread *= rescaling_factor("},
    {{"load S_ij", kSoftCap, kAlibi, "mask S_ij"}, "// Second sweep: P", 1},
    {{"P_ij = exp(S_ij - m)"}, "values[e] = exp2_fast("},
    {{"P_ij = P_ij / l"}, "-m_log2)) * inverse_l"},
    {{"store P_ij"}, "store_elements<T, kWidth>(P + column, values);"},
};

constexpr Marker kStandardGradient[] = {
    {{"load P_i, dP_i (whole rows)"}, "// load P, dP"},
    {{"dP = dropout(dP)"}, "// load P, dP; dP = dropout(dP)"},
    {{"D = rowsum(P_i ∘ dP_i)"}, "D = fmaf(P_pieces[piece]"},
    {{"dS_i = P_i ∘ (dP_i - D)"}, "// dS = P * (dP - D)"},
    {{"load S", kSoftCapSlope, "dS = dS ∘ T"}, "apply_slopes<T, kWidth>(dS"},
    {{"store dS_i"}, "store_elements<T, kWidth>(dP + column, dS)"},
    {{"D = 0"}, "// Rows that no block can hold: a sweep for D"},
    {{"load P_ij, dP_ij"}, "load_elements<T, kWidth>(p, P + column)"},
    {{"D = D + rowsum(P_ij ∘ dP_ij)"}, "D = fmaf(p[e]"},
    {{"load P_ij, dP_ij"}, "load_elements<T, kWidth>(p, P + column)", 1},
    {{"dP = dropout(dP)"}, "zero_dropped(gradient", 1},
    {{"dS_ij = P_ij ∘ (dP_ij - D)"}, "gradient[e] = p[e] * ("},
    {{"store dS_ij"}, "store_elements<T, kWidth>(dP + column, gradient)"},
};

constexpr Marker kSumHeads[] = {
    {{"dK_j = 0; dV_j = 0"}, "float sum[kElements] = {}"},
    {{"load its dK_j, dV_j"}, "load_chunk(part"},
    {{"add them"}, "sum[c] += part[c]"},
    {{"store dK_j, dV_j"}, "store_chunk(destination"},
};

constexpr std::string_view kFlash1RowsFile = "kernels/flash1/flash1_rows.cuh";
constexpr std::string_view kFlash2FrameFile = "kernels/flash2/flash2_backward_rows.cuh";
constexpr std::string_view kSplitCombineFile = "kernels/split_kv/split_kv_combine.cuh";
constexpr std::string_view kSumHeadsFile = "kernels/sum_heads.cuh";

std::span<const Marker> markers_of(std::string_view source) {
  if (source == "kernels/flash2/flash2_forward.cuh") return kFlash2Forward;
  if (source == "kernels/flash2/flash2_backward.cuh") return kFlash2Backward;
  if (source == kFlash2FrameFile) return kFlash2BackwardFrame;
  if (source == "kernels/flash1/flash1_forward.cuh") return kFlash1Forward;
  if (source == "kernels/flash1/flash1_backward.cuh") return kFlash1Backward;
  if (source == kFlash1RowsFile) return kFlash1Rows;
  if (source == "kernels/split_kv/split_kv_partial.cuh") return kSplitPartial;
  if (source == kSplitCombineFile) return kSplitCombine;
  if (source == "kernels/standard/softmax_forward.cuh") return kStandardSoftmax;
  if (source == "kernels/standard/softmax_gradient.cuh") return kStandardGradient;
  return source == kSumHeadsFile ? std::span<const Marker>(kSumHeads) : std::span<const Marker>();
}

}  // namespace

std::string_view source_of_launch(const kernels::KernelInfo& kernel, std::string_view launch,
                                  bool backward) {
  if (launch == "sum_heads") return kSumHeadsFile;
  if (launch == "row_dots") return {};
  if (kernel.algorithm == "standard") {
    if (launch == "softmax" || launch == "recompute_softmax") return kernel.forward.source;
    return launch == "dS" ? kernel.backward->source : std::string_view();  // the rest is cuBLAS's
  }
  if (launch == "combine") return kSplitCombineFile;
  if (launch == "convert" && kernel.algorithm == "flash1") {
    return backward ? std::string_view() : kFlash1RowsFile;  // no kernel keeps dQ in fp32
  }
  if (launch == "preprocess" || launch == "convert") return kFlash2FrameFile;
  return kernel.pass(backward ? PassKind::backward : PassKind::forward).source;
}

int marker_line(std::string_view source, const std::vector<std::string_view>& lines,
                std::span<const PseudoLine> code, std::size_t line) {
  if (line >= code.size()) return -1;
  const auto again = std::ranges::count(code.first(line), code[line].text, &PseudoLine::text);
  for (const Marker& each : markers_of(source)) {
    const bool says = std::ranges::find(each.texts, code[line].text) != std::end(each.texts);
    if (!says || each.again != again) continue;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (lines[k].find(each.marker) != std::string_view::npos) return static_cast<int>(k);
    }
  }
  return -1;
}

}  // namespace attnscope::app
