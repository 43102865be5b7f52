/// NumPy's .npy files, versions 1 and 2: little-endian fp16, fp32 and fp64 in C order; whole
/// numbers and booleans if requested. Format:
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope {

/// An array of any rank, widened to double.
struct NpyArray {
  std::vector<Index> shape;
  std::vector<double> data;  ///< one value per element, C order
};

/// The types that a file may hold: '<f2', '<f4' and '<f8', optionally also whole numbers of 1 to 8
/// bytes and booleans.
enum class NpyTypes : std::uint8_t { floating, any_number };

/// Parses a whole file held in memory. Every message begins with `name`. invalid_request for
/// anything but a complete file of the kinds above: Fortran order, big endian, a different type,
/// fewer or more bytes than the shape requires, a shape too large to count.
Result<NpyArray> parse_npy(std::string_view bytes, std::string_view name,
                           NpyTypes types = NpyTypes::floating);

struct NpyElement;

/// Reads a file's values in parts.
class NpyReader {
 public:
  /// Opens a file and reads its header. Errors as in read_npy(), except for those about the
  /// payload.
  static Result<NpyReader> open(const std::string& path, NpyTypes types = NpyTypes::floating);

  const std::vector<Index>& shape() const { return shape_; }
  /// Nothing if the header is followed by exactly the bytes that the shape requires.
  const std::optional<Error>& wrong_size() const { return wrong_size_; }
  /// Reads the next values, in C order; there must be at least as many left. Errors as in
  /// read_npy().
  std::optional<Error> read(std::span<double> values);

 private:
  NpyReader() = default;
  std::optional<Error> read_bytes(std::span<char> bytes);

  std::string path_;
  std::ifstream file_;
  std::vector<Index> shape_;
  const NpyElement* element_ = nullptr;
  std::string block_;  ///< bytes of the values that are being read
  std::optional<Error> wrong_size_;
};

/// parse_npy of a file; invalid_request also if the file cannot be read.
Result<NpyArray> read_npy(const std::string& path, NpyTypes types = NpyTypes::floating);

/// The shape of a file, from its header alone; errors as in read_npy(), except for those about the
/// payload.
Result<std::vector<Index>> read_npy_shape(const std::string& path,
                                          NpyTypes types = NpyTypes::floating);

/// The shape of Q, K, V or dO with four axes: [N, d] is [1, 1, N, d], [H, N, d] is [1, H, N, d];
/// a shape of any other rank is unchanged.
std::vector<Index> with_batch_and_heads(std::vector<Index> shape);

/// Writes fp64, version 1. The size of `data` is the product of `shape`. Errors as in FileWriter.
std::optional<Error> write_npy(const std::string& path, std::span<const Index> shape,
                               std::span<const double> data);

}  // namespace attnscope
