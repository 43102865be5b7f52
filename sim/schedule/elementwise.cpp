#include "sim/schedule/schedules.h"

namespace attnscope {

namespace {

constexpr PseudoLine kForTiles{0, Step::outer_loop, "for each tile (i, j), in parallel",
                               "Every element is independent."};
constexpr std::string_view kWhyLoad = "N × N values are read for one operation each.";
constexpr std::string_view kWhyLoadForTwo = "N × N values are read for two operations.";
constexpr std::string_view kWhyStore = "All are written back.";

constexpr PseudoLine kScale{1, Step::scale, "S_ij = scale · S_ij",
                            "Without it the scores grow with √d."};
constexpr PseudoLine kMask{1, Step::mask, "mask S_ij",
                           "Hidden keys must not take part in the softmax."};
constexpr PseudoLine kMaskGradient{1, Step::mask_gradient, "dS_ij = 0 where the mask hides the key",
                                   "Masked values have no gradient."};
constexpr PseudoLine kScaleGradient{1, Step::scale, "dS_ij = scale · dS_ij",
                                    "The gradient of S = scale · Q Kᵀ with respect to Q Kᵀ."};

constexpr PseudoLine kLoadS{1, Step::load, "load S_ij", kWhyLoad};
constexpr PseudoLine kLoadSForTwo{1, Step::load, "load S_ij", kWhyLoadForTwo};
constexpr PseudoLine kStoreS{1, Step::store, "store S_ij", kWhyStore};
constexpr PseudoLine kScaleCode[] = {kForTiles, kLoadS, kScale, kStoreS};
static_assert(has_each_step_once(kScaleCode));
constexpr PseudoLine kMaskCode[] = {kForTiles, kLoadS, kMask, kStoreS};
static_assert(has_each_step_once(kMaskCode));
constexpr PseudoLine kScaleMaskCode[] = {kForTiles, kLoadSForTwo, kScale, kMask, kStoreS};
static_assert(has_each_step_once(kScaleMaskCode));

constexpr PseudoLine kLoadDs{1, Step::load, "load dS_ij", kWhyLoad};
constexpr PseudoLine kLoadDsForTwo{1, Step::load, "load dS_ij", kWhyLoadForTwo};
constexpr PseudoLine kStoreDs{1, Step::store, "store dS_ij", kWhyStore};
constexpr PseudoLine kMaskGradientCode[] = {kForTiles, kLoadDs, kMaskGradient, kStoreDs};
static_assert(has_each_step_once(kMaskGradientCode));
constexpr PseudoLine kScaleGradientCode[] = {kForTiles, kLoadDs, kScaleGradient, kStoreDs};
static_assert(has_each_step_once(kScaleGradientCode));
constexpr PseudoLine kMaskScaleGradientCode[] = {kForTiles, kLoadDsForTwo, kMaskGradient,
                                                 kScaleGradient, kStoreDs};
static_assert(has_each_step_once(kMaskScaleGradientCode));

// clang-format off
enum DropoutLine : std::uint8_t { drop_tiles, drop_load, drop_draw, drop_store_z, drop_multiply, drop_store };
enum DropoutGradientLine : std::uint8_t { undrop_tiles, undrop_load, undrop_multiply, undrop_store };
// clang-format on

constexpr PseudoLine kDropoutCode[] = {
    kForTiles,
    {1, Step::load, "load P_ij", kWhyLoad},
    {1, Step::dropout_factors, "Z_ij = 0 or 1 / (1 - p)",
     "Depends only on (seed, b, h, query, key)."},
    {1, Step::store_factors, "store Z_ij, one byte per element",
     "Kept for the backward pass instead of being drawn again."},
    {1, Step::dropout, "P~_ij = Z_ij ∘ P_ij",
     "Kept elements are scaled up, so that sums keep their mean."},
    {1, Step::store_dropped, "store P~_ij", "P is kept: the softmax's gradient needs it."},
};
static_assert(has_each_step_once(kDropoutCode));
constexpr PseudoLine kDropoutGradientCode[] = {
    kForTiles,
    {1, Step::load, "load dP_ij, Z_ij", kWhyLoad},
    {1, Step::drop_dP, "dP_ij = Z_ij ∘ dP_ij", "O = P~ V, so the gradient of P passes the same Z."},
    {1, Step::store, "store dP_ij", kWhyStore},
};
static_assert(has_each_step_once(kDropoutGradientCode));

/// The tile of the tensor that a thread block of an elementwise launch works on.
Tile own_tile(const TileGrid& g, Tensor tensor, Index block) {
  const auto i = static_cast<std::int32_t>(block / g.Tc());
  const auto j = static_cast<std::int32_t>(block % g.Tc());
  return {tensor, 1, false, 0, i, j};
}

/// The steps of an elementwise launch on its tile, in place.
using ElementwiseStep = void (*)(const TileGrid&, const Tile&, Program&);

void scale(const TileGrid& /*g*/, const Tile& tile, Program& program) {
  program.scale(tile);
}

void mask(const TileGrid& g, const Tile& S, Program& program) {
  if (g.hides_keys() && g.edge(S.i, S.j)) program.mask(S);
}

void mask_gradient(const TileGrid& g, const Tile& dS, Program& program) {
  if (g.hides_keys() && g.edge(dS.i, dS.j)) program.mask_gradient(dS);
}

/// Applies the steps to a tile of the tensor; each is a line of the pseudo-code.
template <Tensor tensor, ElementwiseStep... steps>
void in_place(const TileGrid& g, Index block, Program& program) {
  const Tile tile = own_tile(g, tensor, block);
  std::uint8_t line = 1;
  program.at(line).load(tile);
  (steps(g, tile, program.at(++line)), ...);
  program.at(++line).store(last_use(tile));
}

void drop_probabilities(const TileGrid& g, Index block, Program& program) {
  const Tile P = own_tile(g, Tensor::P, block);
  const Tile Z = g.Z(P.i, P.j);
  program.at(drop_load).load(P);
  program.at(drop_draw).dropout_factors(Z);
  program.at(drop_store_z).store(Z);
  program.at(drop_multiply).multiply(P, last_use(Z));
  program.at(drop_store).store(last_use(P), g.P_drop(P.i, P.j).in_hbm());
}

void drop_gradients(const TileGrid& g, Index block, Program& program) {
  const Tile dP = own_tile(g, Tensor::dP, block);
  const Tile Z = g.Z(dP.i, dP.j);
  program.at(undrop_load).load({dP, Z});
  program.at(undrop_multiply).multiply(dP, last_use(Z));
  program.at(undrop_store).store(last_use(dP));
}

}  // namespace

bool scales_apart(const ScheduleOptions& options) {
  return options.variant.fusion == Fusion::separate || options.variant.fusion == Fusion::pairs;
}

bool masks_apart(const ScheduleOptions& options) {
  return options.masked && options.variant.fusion != Fusion::rows;
}

bool drops_apart(const ScheduleOptions& options) {
  return options.score_steps.dropout &&
         (options.variant.fusion == Fusion::separate || options.variant.fusion == Fusion::figure2);
}

std::vector<Launch> probability_launches(const ScheduleOptions& options) {
  if (!drops_apart(options)) return {};
  return {blind_launch({"dropout", block_per_tile, drop_probabilities, kDropoutCode})};
}

std::vector<Launch> probability_gradient_launches(const ScheduleOptions& options) {
  if (!drops_apart(options)) return {};
  return {blind_launch({"dropout_gradient", block_per_tile, drop_gradients, kDropoutGradientCode})};
}

std::vector<Launch> score_launches(const ScheduleOptions& options) {
  const Launch scaling =
      blind_launch({"scale", block_per_tile, in_place<Tensor::S, scale>, kScaleCode});
  const Launch masking{"mask", block_per_tile, in_place<Tensor::S, mask>, kMaskCode};
  switch (options.variant.fusion) {
    case Fusion::separate:
      return options.masked ? std::vector{scaling, masking} : std::vector{scaling};
    case Fusion::figure2:
      return options.masked ? std::vector{masking} : std::vector<Launch>{};
    case Fusion::pairs:
      if (!options.masked) return {scaling};
      return {{"scale_mask", block_per_tile, in_place<Tensor::S, scale, mask>, kScaleMaskCode}};
    case Fusion::rows:
      return {};
  }
  return {};
}

std::vector<Launch> gradient_launches(const ScheduleOptions& options) {
  const Launch scaling = blind_launch(
      {"scale_gradient", block_per_tile, in_place<Tensor::dS, scale>, kScaleGradientCode});
  switch (options.variant.fusion) {
    case Fusion::separate:
      if (!options.masked) return {scaling};
      return {
          {"mask_gradient", block_per_tile, in_place<Tensor::dS, mask_gradient>, kMaskGradientCode},
          scaling};
    case Fusion::pairs:
      if (!options.masked) return {scaling};
      return {{"mask_scale_gradient", block_per_tile, in_place<Tensor::dS, mask_gradient, scale>,
               kMaskScaleGradientCode}};
    case Fusion::figure2:
    case Fusion::rows:
      return {};
  }
  return {};
}

}  // namespace attnscope
