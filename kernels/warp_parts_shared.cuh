/// The division of a tensor-core result among the warps of a block. Compiled for host and device.
#pragma once

namespace attnscope::kernels {

/// The number of warps side by side in a [rows x columns] result that `warps` share: parts are 32
/// rows high if possible, and consist of whole 16 x 16 pieces.
constexpr int warps_across(int rows, int columns, int warps) {
  const auto at_least_one = [](int count) { return count < 1 ? 1 : count; };
  const int down = at_least_one(warps < rows / 32 ? warps : rows / 32);
  int across = at_least_one(warps / down < columns / 16 ? warps / down : columns / 16);
  while (columns % (16 * across) != 0 || warps % across != 0) --across;
  return across;
}

/// Whether such a division gives every warp a part of whole pieces.
constexpr bool warp_parts_fit(int rows, int columns, int warps) {
  const int down = warps / warps_across(rows, columns, warps);
  return rows % (16 * down) == 0;
}

/// The largest number of these warps that can each have a part. The sides are multiples of 16.
constexpr int warps_with_parts(int rows, int columns, int warps) {
  while (!warp_parts_fit(rows, columns, warps)) --warps;
  return warps;
}

/// The rows and columns of a warp's part.
struct WarpPart {
  int rows, columns;
};
constexpr WarpPart warp_part(int rows, int columns, int warps) {
  const int used = warps_with_parts(rows, columns, warps);
  const int across = warps_across(rows, columns, used);
  return {rows * across / used, columns / across};
}

}  // namespace attnscope::kernels
