#include "sim/schedule/elementwise.h"

namespace attnscope {

namespace {

// clang-format off
enum OneStepLine : std::uint8_t { one_tiles, one_load, one_step, one_store };
enum TwoStepLine : std::uint8_t { two_tiles, two_load, two_first, two_second, two_store };
// clang-format on

constexpr std::string_view kForTiles = "for each tile (i, j), in parallel";
constexpr std::string_view kWhyTiles = "Every element is independent.";
constexpr std::string_view kWhyLoad = "N × N values are read for one operation each.";
constexpr std::string_view kWhyStore = "And go back.";
constexpr std::string_view kWhyScale = "Without it the scores grow with √d.";
constexpr std::string_view kWhyMask = "Hidden keys must not take part in the softmax.";
constexpr std::string_view kWhyMaskGradient = "What the mask replaced has no gradient.";
constexpr std::string_view kWhyScaleGradient =
    "The gradient of S = scale · Q Kᵀ with respect to Q Kᵀ.";

constexpr PseudoLine kScaleCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load S_ij", kWhyLoad},
    {1, "S_ij = scale · S_ij", kWhyScale},
    {1, "store S_ij", kWhyStore},
};
constexpr PseudoLine kMaskCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load S_ij", kWhyLoad},
    {1, "mask S_ij", kWhyMask},
    {1, "store S_ij", kWhyStore},
};
constexpr PseudoLine kScaleMaskCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load S_ij", "N × N values are read for two operations."},
    {1, "S_ij = scale · S_ij", kWhyScale},
    {1, "mask S_ij", kWhyMask},
    {1, "store S_ij", kWhyStore},
};
constexpr PseudoLine kMaskGradientCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load dS_ij", kWhyLoad},
    {1, "dS_ij = 0 where the mask hides the key", kWhyMaskGradient},
    {1, "store dS_ij", kWhyStore},
};
constexpr PseudoLine kScaleGradientCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load dS_ij", kWhyLoad},
    {1, "dS_ij = scale · dS_ij", kWhyScaleGradient},
    {1, "store dS_ij", kWhyStore},
};
constexpr PseudoLine kMaskScaleGradientCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load dS_ij", "N × N values are read for two operations."},
    {1, "dS_ij = 0 where the mask hides the key", kWhyMaskGradient},
    {1, "dS_ij = scale · dS_ij", kWhyScaleGradient},
    {1, "store dS_ij", kWhyStore},
};

// clang-format off
enum DropoutLine : std::uint8_t { drop_tiles, drop_load, drop_draw, drop_store_z, drop_multiply, drop_store };
enum DropoutGradientLine : std::uint8_t { undrop_tiles, undrop_load, undrop_multiply, undrop_store };
// clang-format on

constexpr PseudoLine kDropoutCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load P_ij", kWhyLoad},
    {1, "Z_ij = 0 or 1 / (1 - p)", "Depends only on (seed, b, h, query, key)."},
    {1, "store Z_ij, a byte an element",
     "Kept for the backward pass instead of being drawn again."},
    {1, "P~_ij = Z_ij ∘ P_ij", "What is kept grows, so that sums keep their mean."},
    {1, "store P~_ij", "Beside P, which the softmax's gradient needs."},
};
constexpr PseudoLine kDropoutGradientCode[] = {
    {0, kForTiles, kWhyTiles, true},
    {1, "load dP_ij, Z_ij", kWhyLoad},
    {1, "dP_ij = Z_ij ∘ dP_ij", "O = P~ V, so the gradient of P passes the same Z."},
    {1, "store dP_ij", kWhyStore},
};

/// The tile of the tensor that a thread block of an elementwise launch works on.
Tile own_tile(const TileGrid& g, Tensor tensor, Index block) {
  const auto i = static_cast<std::int32_t>(block / g.Tc());
  const auto j = static_cast<std::int32_t>(block % g.Tc());
  return {tensor, 1, false, i, j};
}

void load_tile(const Tile& tile, Program& program) {
  program.at(one_load);
  program.load(tile);
}

void store_tile(const Tile& tile, std::uint8_t line, Program& program) {
  program.at(line);
  program.store(last_use(tile));
}

void mask_step(const TileGrid& g, const Tile& S, std::uint8_t line, Program& program) {
  if (!g.hides_keys() || !g.edge(S.i, S.j)) return;
  program.at(line);
  program.mask(S);
}

void mask_gradient_step(const TileGrid& g, const Tile& dS, std::uint8_t line, Program& program) {
  if (!g.hides_keys() || !g.edge(dS.i, dS.j)) return;
  program.at(line);
  program.mask_gradient(dS);
}

void scale_step(const Tile& tile, std::uint8_t line, Program& program) {
  program.at(line);
  program.scale(tile);
}

void scale_scores(const TileGrid& g, Index block, Program& program) {
  const Tile S = own_tile(g, Tensor::S, block);
  load_tile(S, program);
  scale_step(S, one_step, program);
  store_tile(S, one_store, program);
}

void mask_scores(const TileGrid& g, Index block, Program& program) {
  const Tile S = own_tile(g, Tensor::S, block);
  load_tile(S, program);
  mask_step(g, S, one_step, program);
  store_tile(S, one_store, program);
}

void scale_and_mask_scores(const TileGrid& g, Index block, Program& program) {
  const Tile S = own_tile(g, Tensor::S, block);
  load_tile(S, program);
  scale_step(S, two_first, program);
  mask_step(g, S, two_second, program);
  store_tile(S, two_store, program);
}

void mask_gradients(const TileGrid& g, Index block, Program& program) {
  const Tile dS = own_tile(g, Tensor::dS, block);
  load_tile(dS, program);
  mask_gradient_step(g, dS, one_step, program);
  store_tile(dS, one_store, program);
}

void scale_gradients(const TileGrid& g, Index block, Program& program) {
  const Tile dS = own_tile(g, Tensor::dS, block);
  load_tile(dS, program);
  scale_step(dS, one_step, program);
  store_tile(dS, one_store, program);
}

void mask_and_scale_gradients(const TileGrid& g, Index block, Program& program) {
  const Tile dS = own_tile(g, Tensor::dS, block);
  load_tile(dS, program);
  mask_gradient_step(g, dS, two_first, program);
  scale_step(dS, two_second, program);
  store_tile(dS, two_store, program);
}

void drop_probabilities(const TileGrid& g, Index block, Program& program) {
  const Tile P = own_tile(g, Tensor::P, block);
  const Tile Z = g.Z(P.i, P.j);
  program.at(drop_load);
  program.load(P);
  program.at(drop_draw);
  program.dropout_factors(Z);
  program.at(drop_store_z);
  program.store(Z);
  program.at(drop_multiply);
  program.multiply(P, last_use(Z));
  program.at(drop_store);
  program.store(last_use(P), g.P_drop(P.i, P.j).in_hbm());
}

void drop_gradients(const TileGrid& g, Index block, Program& program) {
  const Tile dP = own_tile(g, Tensor::dP, block);
  const Tile Z = g.Z(dP.i, dP.j);
  program.at(undrop_load);
  program.load(dP);
  program.load(Z);
  program.at(undrop_multiply);
  program.multiply(dP, last_use(Z));
  program.at(undrop_store);
  program.store(last_use(dP));
}

Launch elementwise_launch(std::string_view name, void (*program)(const TileGrid&, Index, Program&),
                          std::span<const PseudoLine> pseudo_code) {
  return {.name = name,
          .grid = plain_grid,
          .blocks_per_head = block_per_tile,
          .program = program,
          .pseudo_code = pseudo_code,
          .ignores_mask = true};
}

/// The same for a program with a step that only tiles cut by the mask have.
Launch masking_launch(std::string_view name, void (*program)(const TileGrid&, Index, Program&),
                      std::span<const PseudoLine> pseudo_code) {
  Launch launch = elementwise_launch(name, program, pseudo_code);
  launch.ignores_mask = false;
  return launch;
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
  return {elementwise_launch("dropout", drop_probabilities, kDropoutCode)};
}

std::vector<Launch> probability_gradient_launches(const ScheduleOptions& options) {
  if (!drops_apart(options)) return {};
  return {elementwise_launch("dropout_gradient", drop_gradients, kDropoutGradientCode)};
}

std::vector<Launch> score_launches(const ScheduleOptions& options) {
  const Launch scale = elementwise_launch("scale", scale_scores, kScaleCode);
  const Launch mask = masking_launch("mask", mask_scores, kMaskCode);
  switch (options.variant.fusion) {
    case Fusion::separate:
      return options.masked ? std::vector{scale, mask} : std::vector{scale};
    case Fusion::figure2:
      return options.masked ? std::vector{mask} : std::vector<Launch>{};
    case Fusion::pairs:
      if (!options.masked) return {scale};
      return {masking_launch("scale_mask", scale_and_mask_scores, kScaleMaskCode)};
    case Fusion::rows:
      return {};
  }
  return {};
}

std::vector<Launch> gradient_launches(const ScheduleOptions& options) {
  const Launch scale = elementwise_launch("scale_gradient", scale_gradients, kScaleGradientCode);
  switch (options.variant.fusion) {
    case Fusion::separate:
      if (!options.masked) return {scale};
      return {masking_launch("mask_gradient", mask_gradients, kMaskGradientCode), scale};
    case Fusion::pairs:
      if (!options.masked) return {scale};
      return {
          masking_launch("mask_scale_gradient", mask_and_scale_gradients, kMaskScaleGradientCode)};
    case Fusion::figure2:
    case Fusion::rows:
      return {};
  }
  return {};
}

}  // namespace attnscope
