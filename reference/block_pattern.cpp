#include "reference/block_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "reference/message_text.h"
#include "reference/npy.h"
#include "reference/parse_number.h"
#include "reference/philox.h"

namespace attnscope {

std::string to_string(const BlockPattern& pattern) {
  const auto drawn = [&](std::string_view name) {
    const std::string seed = pattern.seed == 0 ? "" : fmt::format(",{}", pattern.seed);
    return fmt::format("{}:{}{}", name, pattern.density, seed);
  };
  switch (pattern.kind) {
    case BlockPattern::Kind::butterfly:
      return "butterfly";
    case BlockPattern::Kind::local_global:
      return fmt::format("local-global:{},{}", pattern.window, pattern.global);
    case BlockPattern::Kind::random:
      return drawn("random");
    case BlockPattern::Kind::uniform:
      return drawn("uniform");
    case BlockPattern::Kind::file:
      return pattern.path;
  }
  return "?";
}

namespace {

/// Parses the two numbers of "W,G".
bool parse_local_global(std::string_view text, BlockPattern& pattern) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const auto window = parse_number<Index>(text.substr(0, comma));
  const auto global = parse_number<Index>(text.substr(comma + 1));
  if (!window || !global || *window < 0 || *global < 0) return false;
  if (*window > kMaxSequenceLength || *global > kMaxSequenceLength) return false;
  pattern.window = *window;
  pattern.global = *global;
  return true;
}

/// Parses "DENSITY" or "DENSITY,SEED".
bool parse_drawn(std::string_view text, BlockPattern& pattern) {
  const std::size_t comma = text.find(',');
  const auto density = parse_number<double>(text.substr(0, comma));
  if (!density || !(*density > 0.0 && *density <= 1.0)) return false;
  pattern.density = *density;
  if (comma == std::string_view::npos) return true;
  const auto seed = parse_number<std::uint64_t>(text.substr(comma + 1));
  if (seed) pattern.seed = *seed;
  return seed.has_value();
}

Error not_a_pattern(std::string_view text) {
  return invalid_request(
      "'{}' is not a block mask; it must be butterfly, local-global:W,G, random:DENSITY[,SEED], "
      "uniform:DENSITY[,SEED] (W, G, SEED whole numbers, 0 < DENSITY <= 1) or a file FILE.npy",
      printable(text));
}

}  // namespace

Result<BlockPattern> parse_block_pattern(std::string_view text) {
  BlockPattern pattern;
  if (text == "butterfly") return pattern;
  if (names_mask_file(text)) {
    pattern.kind = BlockPattern::Kind::file;
    pattern.path = text;
    return pattern;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return not_a_pattern(text);
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  bool parsed = false;
  if (name == "local-global") {
    pattern.kind = BlockPattern::Kind::local_global;
    parsed = parse_local_global(rest, pattern);
  } else if (name == "random" || name == "uniform") {
    pattern.kind = name == "random" ? BlockPattern::Kind::random : BlockPattern::Kind::uniform;
    parsed = parse_drawn(rest, pattern);
  }
  return parsed ? Result<BlockPattern>(pattern) : not_a_pattern(text);
}

namespace {

/// The grid of tiles on which a mask is drawn.
struct MaskGrid {
  Index Tr, Tc;
  /// The index of row tile i on the longer axis.
  Index row_at(Index i) const { return i * longer() / Tr; }
  Index longer() const { return std::max(Tr, Tc); }
  /// The first column tile whose index on the longer axis is at least `at`.
  Index first_column(Index at) const {
    return ceil_div(std::clamp<Index>(at, 0, longer()) * Tc, longer());
  }
};

/// Random words of row i: word n depends only on the seed, i and n.
class RowWords {
 public:
  RowWords(std::uint64_t seed, Index i) : seed_(seed), i_(i) {}
  std::uint32_t next() {
    if (used_ == 4) {
      const auto row = static_cast<std::uint64_t>(i_);
      words_ = philox4x32_10(
          {{counter_++, 0, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)}},
          static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32));
      used_ = 0;
    }
    return words_.word[used_++];
  }
  /// A whole number in [0, count).
  Index below(Index count) {
    return static_cast<Index>(
        (static_cast<std::uint64_t>(next()) * static_cast<std::uint64_t>(count)) >> 32);
  }

 private:
  std::uint64_t seed_;
  Index i_;
  std::uint32_t counter_ = 0;
  PhiloxWords words_{};
  std::uint32_t used_ = 4;
};

/// The column tiles of a row, ascending; the functions below append to them.
using RowColumns = std::vector<std::int32_t>;

void append_columns(Index first, Index past_last, RowColumns& columns) {
  for (Index j = first; j < past_last; ++j) columns.push_back(static_cast<std::int32_t>(j));
}

void draw_butterfly(const MaskGrid& grid, Index i, RowColumns& columns) {
  const auto append = [&](Index at) {
    append_columns(grid.first_column(at), grid.first_column(at + 1), columns);
  };
  // Indices that differ from the row's in at most one bit, ascending
  const Index row = grid.row_at(i);
  const auto past = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(grid.longer())));
  for (Index bit = past / 2; bit > 0; bit /= 2) {
    if ((row & bit) != 0) append(row - bit);
  }
  append(row);
  for (Index bit = 1; bit < past; bit *= 2) {
    if ((row & bit) == 0) append(row + bit);
  }
}

/// Column tiles [0, global) and [first, past_last) of a row.
struct LocalGlobalRow {
  Index global, first, past_last;
  Index count() const { return global + past_last - first; }
};

LocalGlobalRow local_global_row(const BlockPattern& pattern, const MaskGrid& grid, Index i) {
  const Index global = i < pattern.global ? grid.Tc : std::min(pattern.global, grid.Tc);
  const Index row = grid.row_at(i);
  const Index first = std::max(global, grid.first_column(row - pattern.window));
  return {global, first, std::max(first, grid.first_column(row + pattern.window + 1))};
}

void draw_local_global(const BlockPattern& pattern, const MaskGrid& grid, Index i,
                       RowColumns& columns) {
  const auto [global, first, past_last] = local_global_row(pattern, grid, i);
  append_columns(0, global, columns);
  append_columns(first, past_last, columns);
}

void draw_random(const BlockPattern& pattern, const MaskGrid& grid, Index i, RowColumns& columns) {
  RowWords words(pattern.seed, i);
  const auto threshold = static_cast<std::uint64_t>(std::llround(pattern.density * 0x1p32));
  for (Index j = 0; j < grid.Tc; ++j) {
    if (words.next() < threshold) columns.push_back(static_cast<std::int32_t>(j));
  }
}

/// The number of ones in each row of a uniform mask.
Index uniform_ones(const BlockPattern& pattern, const MaskGrid& grid) {
  const double wanted = pattern.density * static_cast<double>(grid.Tc);
  return std::max<Index>(1, static_cast<Index>(std::llround(wanted)));
}

/// R. W. Floyd's sample without replacement: one draw for each member.
void draw_uniform(const BlockPattern& pattern, const MaskGrid& grid, Index i, RowColumns& columns) {
  const Index ones = uniform_ones(pattern, grid);
  if (ones == grid.Tc) return append_columns(0, grid.Tc, columns);
  RowWords words(pattern.seed, i);
  std::vector<char> taken(static_cast<std::size_t>(grid.Tc), 0);  // char is faster than bool
  for (Index last = grid.Tc - ones; last < grid.Tc; ++last) {
    const auto drawn = static_cast<std::size_t>(words.below(last + 1));
    taken[taken[drawn] != 0 ? static_cast<std::size_t>(last) : drawn] = 1;
  }
  // Avoid a branch, which would be unpredictable: store each column, but advance only if it is kept
  std::size_t kept = columns.size();
  columns.resize(kept + static_cast<std::size_t>(ones) + 1);
  for (Index j = 0; j < grid.Tc; ++j) {
    columns[kept] = static_cast<std::int32_t>(j);
    kept += static_cast<std::size_t>(taken[static_cast<std::size_t>(j)]);
  }
  columns.resize(kept);
}

/// The mask's file, positioned at the first value.
Result<NpyReader> open_mask_file(const BlockPattern& pattern, const MaskGrid& grid) {
  ATTNSCOPE_TRY(auto file, NpyReader::open(pattern.path, NpyTypes::any_number));
  if (file.shape() != std::vector<Index>{grid.Tr, grid.Tc}) {
    return invalid_request(
        "{}: shape [{}]; the block mask of this problem and tiling has shape [{}, {}] (Tr, Tc)",
        pattern.path, fmt::join(file.shape(), ", "), grid.Tr, grid.Tc);
  }
  if (const auto& error = file.wrong_size()) return *error;
  return file;
}

/// Appends row i, the next one in the file; `values` is a buffer for its values.
std::optional<Error> read_row(const BlockPattern& pattern, NpyReader& file, Index i,
                              std::vector<double>& values, RowColumns& columns) {
  if (auto error = file.read(values)) return error;
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (values[j] == 1.0) columns.push_back(static_cast<std::int32_t>(j));
    if (values[j] == 1.0 || values[j] == 0.0) continue;
    return invalid_request("{}: the value at [{}, {}] is {}; a block mask contains only 0 and 1",
                           pattern.path, i, j, values[j]);
  }
  return std::nullopt;
}

/// Appends row i of a mask that does not come from a file.
void draw_row(const BlockPattern& pattern, const MaskGrid& grid, Index i, RowColumns& columns) {
  switch (pattern.kind) {
    case BlockPattern::Kind::butterfly:
      return draw_butterfly(grid, i, columns);
    case BlockPattern::Kind::local_global:
      return draw_local_global(pattern, grid, i, columns);
    case BlockPattern::Kind::random:
      return draw_random(pattern, grid, i, columns);
    case BlockPattern::Kind::uniform:
      return draw_uniform(pattern, grid, i, columns);
    case BlockPattern::Kind::file:
      return;
  }
}

/// The number of ones, if it is known before they are drawn.
std::optional<Index> known_ones(const BlockPattern& pattern, const MaskGrid& grid) {
  if (pattern.kind == BlockPattern::Kind::uniform) return grid.Tr * uniform_ones(pattern, grid);
  if (pattern.kind != BlockPattern::Kind::local_global) return std::nullopt;
  Index ones = 0;
  for (Index i = 0; i < grid.Tr; ++i) ones += local_global_row(pattern, grid, i).count();
  return ones;
}

/// The fewest steps that a row or a column counts as: each has an entry in the lists, so the limit
/// bounds memory as well.
constexpr Index kStepsOfPlace = 8;

Index steps_of_row(const BlockPattern& pattern, const MaskGrid& grid) {
  constexpr Index kLocalGlobal = 16;
  if (pattern.visits_every_tile()) {
    const bool is_uniform = pattern.kind == BlockPattern::Kind::uniform;  // drawn, then searched
                                                                          // for
    return std::max(kStepsOfPlace, is_uniform ? 2 * grid.Tc : grid.Tc);
  }
  if (pattern.kind == BlockPattern::Kind::local_global) return kLocalGlobal;
  const auto longer = static_cast<std::uint64_t>(std::max(grid.Tr, grid.Tc));
  return static_cast<Index>(std::bit_width(longer));
}

/// The largest mask within `limits`, as text, for the error about one that takes more steps.
std::string most_tiles(const BlockPattern& pattern, const MaskGrid& grid,
                       const MaskLimits& limits) {
  const Index columns = limits.steps / kStepsOfPlace;
  if (grid.Tc > columns) return fmt::format("{} columns", columns);
  const Index rows = limits.steps / steps_of_row(pattern, grid);
  return pattern.visits_every_tile() ? fmt::format("{}", rows * grid.Tc)
                                     : fmt::format("{} rows", rows);
}

}  // namespace

Index drawing_steps(const BlockPattern& pattern, Index Tr, Index Tc) {
  return std::max(Tr * steps_of_row(pattern, {Tr, Tc}), Tc * kStepsOfPlace);
}

Result<std::shared_ptr<const BlockMask>> make_block_mask(const BlockPattern& pattern, Index N,
                                                         Index N_kv, const Tiling& tiling,
                                                         const MaskLimits& limits,
                                                         const std::atomic<bool>* cancel) {
  const MaskGrid grid{ceil_div(N, tiling.Br), ceil_div(N_kv, tiling.Bc)};
  if (drawing_steps(pattern, grid.Tr, grid.Tc) > limits.steps) {
    return invalid_field(ErrorCode::too_many, "block_mask",
                         "block mask {} has {} x {} tiles; at most {} are drawn: use larger tiles",
                         to_string(pattern), grid.Tr, grid.Tc, most_tiles(pattern, grid, limits));
  }
  const auto has_too_many = [&] {
    return invalid_field(ErrorCode::too_many, "block_mask",
                         "block mask {} keeps more than {} tiles of {} x {}; use a lower density "
                         "or larger tiles",
                         to_string(pattern), limits.ones, grid.Tr, grid.Tc);
  };
  const auto ones = known_ones(pattern, grid);
  if (ones > limits.ones) return has_too_many();
  std::optional<NpyReader> file;
  std::vector<double> values;
  if (pattern.kind == BlockPattern::Kind::file) {
    ATTNSCOPE_TRY(file, open_mask_file(pattern, grid));
    values.resize(static_cast<std::size_t>(grid.Tc));
  }

  std::vector<Index> row_offsets{0};
  row_offsets.reserve(static_cast<std::size_t>(grid.Tr) + 1);
  RowColumns columns, row;
  columns.reserve(static_cast<std::size_t>(ones.value_or(0)));
  for (Index i = 0; i < grid.Tr; ++i) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return cancelled();
    row.clear();
    if (!file) {
      draw_row(pattern, grid, i, row);
    } else if (auto error = read_row(pattern, *file, i, values, row)) {
      return *error;
    }
    row_offsets.push_back(row_offsets.back() + static_cast<Index>(row.size()));
    if (row_offsets.back() > limits.ones) return has_too_many();
    columns.insert(columns.end(), row.begin(), row.end());
  }
  return std::make_shared<const BlockMask>(tiling, grid.Tc, std::move(row_offsets),
                                           std::move(columns), to_string(pattern));
}

}  // namespace attnscope
