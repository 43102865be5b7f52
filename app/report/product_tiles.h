/// The tiles of standard attention's matrix products, which cuBLAS chooses and names in the name of
/// each kernel.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/recording/recording.h"
#include "reference/schedule_variant.h"

namespace attnscope {

/// The result tile of a cuBLAS kernel with this name, such as 128 x 256 for
/// "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"; nothing if the name has no tile. To cuBLAS,
/// row-major matrices are transposed, so its names give columns first.
std::optional<ProductTile> tile_in_name(std::string_view kernel_name);

/// The tiles that cuBLAS (CUDA 13) is expected to choose on Hopper for products of 16-bit elements.
/// For other products the library's choice is unknown: all tiles are 0, so the tiling is used.
ProductTiles expected_product_tiles(const AttentionProblem& problem);

/// The source of the tiles of a recorded run's products.
enum class ProductTilesFrom : std::uint8_t {
  kernel_names,
  rule,    ///< expected_product_tiles(): the recording does not name the kernels
  nothing  ///< the run is not of standard, or the library's choice is unknown
};

struct RecordedProductTiles {
  ProductTiles tiles;
  ProductTilesFrom from = ProductTilesFrom::nothing;
};

/// The tiles of the row's products. The tile of a product is unknown, 0, if several kernels compute
/// it, or if the kernel's name has no tile.
RecordedProductTiles recorded_product_tiles(const RecordingRow& run);

/// The product's tile in `tiles`, by the name of its launch; nullptr for other launches.
ProductTile* product_tile_of(ProductTiles& tiles, std::string_view launch);

}  // namespace attnscope
