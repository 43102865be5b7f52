#include "sim/snapshot/hbm_states.h"

#include <algorithm>

namespace attnscope {

namespace {

enum class Origin { input, stored_by_pass, never_stored };

/// Cuts the tensor into the tiles in which it is stored, or, where nothing stores it, read.
HbmTensorState tiled(Tensor tensor, const RunInfo& info, const StoreHistory& history) {
  HbmTensorState state;
  state.tensor = tensor;
  state.shape = tensor_shape(tensor, info.problem(), info.options.splits);
  state.bytes = state.shape.elems() * element_bytes(tensor, info.problem().dtype);
  if (history.tile_rows > 0) {
    state.tile_rows = history.tile_rows;
    state.tile_cols = history.tile_cols;
    return state;
  }
  const TensorLayout layout = layout_of(tensor);
  const Index rows = layout == TensorLayout::key_by_d ? info.tiling().Bc : info.tiling().Br;
  state.tile_rows = std::min(state.shape.rows, rows);
  state.tile_cols = layout == TensorLayout::query_by_key
                        ? std::min(state.shape.cols, info.tiling().Bc)
                        : state.shape.cols;
  return state;
}

HbmTensorState state_of(Tensor tensor, Origin origin, const RunInfo& info,
                        const StoreHistory& history, Index step) {
  HbmTensorState state = tiled(tensor, info, history);
  state.input = origin == Origin::input;
  state.never_stored = origin == Origin::never_stored;
  const auto tiles = static_cast<std::size_t>(state.tile_row_count() * state.tile_col_count());
  state.written.assign(tiles, state.input ? 1 : 0);
  for (std::size_t t = 0; t < history.first_store.size(); ++t) {
    const std::int32_t first = history.first_store[t];
    if (first >= 0 && first <= step) state.written[t] = 1;
  }
  for (const std::vector<AddRecord>& adds : history.adds) {
    const auto past = std::ranges::upper_bound(adds, step, {}, &AddRecord::step);
    state.adds.push_back(static_cast<std::int32_t>(past - adds.begin()));
    state.adds_whole.push_back(static_cast<std::int32_t>(adds.size()));
  }
  return state;
}

}  // namespace

std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step) {
  std::vector<HbmTensorState> states;
  const auto history = [&](Tensor tensor) -> const StoreHistory& {
    return stores[static_cast<std::size_t>(tensor)];
  };
  const auto add = [&](Tensor tensor, Origin origin) {
    states.push_back(state_of(tensor, origin, info, history(tensor), step));
  };
  for (const Tensor tensor : {Tensor::Q, Tensor::K, Tensor::V}) add(tensor, Origin::input);

  // Tensors that the pass stores; those that it reads without storing them are from an earlier pass
  for (const Tensor tensor :
       {Tensor::S,        Tensor::P,  Tensor::P_drop,   Tensor::Z,        Tensor::O_carry,
        Tensor::O,        Tensor::l,  Tensor::m,        Tensor::O_split,  Tensor::LSE_split,
        Tensor::LSE,      Tensor::dO, Tensor::D,        Tensor::dP,       Tensor::dS,
        Tensor::dQ_accum, Tensor::dQ, Tensor::dK_heads, Tensor::dV_heads, Tensor::dK,
        Tensor::dV}) {
    if (history(tensor).tile_rows > 0) {
      add(tensor, Origin::stored_by_pass);
    } else if (of(info.head_bytes, tensor).read_bytes > 0) {
      add(tensor, Origin::input);
    } else if (tensor == Tensor::S || tensor == Tensor::P) {
      add(tensor, Origin::never_stored);
    }
  }
  return states;
}

}  // namespace attnscope
