#include "app/report/product_tiles.h"

#include <algorithm>
#include <charconv>

namespace attnscope {

namespace {

/// Removes the number at the start of the text and returns it; 0 if there is none.
Index take_number(std::string_view& text) {
  Index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The tile at the start of the text, columns first, as in "256x128..."; nothing for other text.
std::optional<ProductTile> leading_tile(std::string_view text) {
  const Index cols = take_number(text);
  if (cols <= 0 || !text.starts_with('x')) return std::nullopt;
  text.remove_prefix(1);
  const Index rows = take_number(text);
  if (rows <= 0) return std::nullopt;
  return ProductTile{rows, cols};
}

/// The tile of a result with d columns. Measured on an H200 with cuBLAS 13.0.
ProductTile expected_tile_over_d(Index d) {
  constexpr Index kWidths[] = {32, 64, 96, 128, 192};
  const auto* const width = std::ranges::lower_bound(kWidths, d);
  const Index cols = width == std::end(kWidths) ? 128 : *width;
  if (cols <= 64) return {512, cols};
  return {cols == 192 ? 192 : 256, cols};
}

}  // namespace

std::optional<ProductTile> tile_in_name(std::string_view kernel_name) {
  // In most names the tile of the result is the first pair of numbers; in CUTLASS's it follows a
  // keyword
  constexpr std::string_view kAnnounced = "tilesize";
  if (const auto at = kernel_name.find(kAnnounced); at != std::string_view::npos) {
    return leading_tile(kernel_name.substr(at + kAnnounced.size()));
  }
  for (std::size_t at = kernel_name.find('_'); at != std::string_view::npos;
       at = kernel_name.find('_', at + 1)) {
    if (const auto tile = leading_tile(kernel_name.substr(at + 1))) return tile;
  }
  return std::nullopt;
}

ProductTiles expected_product_tiles(const AttentionProblem& problem) {
  if (problem.dtype == DType::fp32) return {};
  constexpr ProductTile kScores{128, 256};
  const ProductTile over_d = expected_tile_over_d(problem.d);
  return {.S = kScores, .O = over_d, .dV = over_d, .dP = kScores, .dQ = over_d, .dK = over_d};
}

ProductTile* product_tile_of(ProductTiles& tiles, std::string_view launch) {
  if (launch == "scores") return &tiles.S;
  if (launch == "output") return &tiles.O;
  if (launch == "dV") return &tiles.dV;
  if (launch == "dP") return &tiles.dP;
  if (launch == "dQ") return &tiles.dQ;
  if (launch == "dK") return &tiles.dK;
  return nullptr;
}

RecordedProductTiles recorded_product_tiles(const RecordingRow& run) {
  RecordedProductTiles recorded;
  if (run.run.algorithm() != "standard" || !run.measurement) return recorded;
  for (const LaunchCounters& launch : run.measurement->launches) {
    ProductTile* const tile = product_tile_of(recorded.tiles, launch.name);
    if (tile == nullptr || launch.kernels.size() != 1) continue;
    const auto named = tile_in_name(launch.kernels.front().name);
    if (!named) continue;
    *tile = *named;
    recorded.from = ProductTilesFrom::kernel_names;
  }
  if (recorded.from == ProductTilesFrom::kernel_names) return recorded;
  recorded.tiles = expected_product_tiles(run.run.problem);
  if (recorded.tiles != ProductTiles{}) recorded.from = ProductTilesFrom::rule;
  return recorded;
}

}  // namespace attnscope
