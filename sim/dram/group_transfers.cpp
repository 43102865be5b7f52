#include "sim/dram/group_transfers.h"

#include <algorithm>
#include <map>

#include "sim/observers/progress_observer.h"

namespace attnscope {

GroupTransfers::GroupTransfers(const Pass& pass, const PassRun& run, double most_transfers,
                               const std::atomic<bool>* cancel)
    : pass_(pass), problem_(run.problem), pieces_(problem_, run.tiling, run.options.splits) {
  constexpr double kMostRecorded = 1 << 25;  // 400 MB
  const auto most = static_cast<std::size_t>(std::min(most_transfers, kMostRecorded) /
                                             static_cast<double>(heads_of_group()));
  std::map<Index, std::size_t> by_length;
  for (Index batch = 0; batch < problem_.batch; ++batch) {
    const Index length = problem_.has_key_lengths()
                             ? problem_.key_lengths[static_cast<std::size_t>(batch)]
                             : problem_.N_kv;
    const auto [found, is_new] = by_length.try_emplace(length, recorded_.size());
    recorded_of_batch_.push_back(found->second);
    if (is_new) record(run, batch, most, cancel);
  }
}

void GroupTransfers::record(const PassRun& run, Index batch, std::size_t most_transfers,
                            const std::atomic<bool>* cancel) {
  CancelObserver canceller(cancel);
  std::vector<BlockTransfers>& group = recorded_.emplace_back();
  for (Index head = 0; head < heads_of_group(); ++head) {
    BlockTransfers& transfers = group.emplace_back(pieces_, most_transfers);
    Observer* const observers[] = {&transfers, &canceller};
    run_head(pass_, run, batch, head, observers);
    for (const LaunchTransfers& launch : transfers.launches()) {
      for (const Transfer& transfer : launch.transfers) {
        touched_[static_cast<std::size_t>(transfer.tensor)] = true;
      }
    }
  }
}

const LaunchTransfers* GroupTransfers::of(std::size_t launch, Group group, Index head) const {
  const bool is_last = head + 1 == heads_of_group();
  std::size_t position = launch;
  if (!is_last) {
    if (pass_.launches[launch].once_per_kv_head) return nullptr;
    position = static_cast<std::size_t>(std::count_if(
        pass_.launches.begin(), pass_.launches.begin() + static_cast<std::ptrdiff_t>(launch),
        [](const Launch& before) { return !before.once_per_kv_head; }));
  }
  const auto batch = static_cast<std::size_t>(group / problem_.kv_heads);
  const std::vector<BlockTransfers>& heads = recorded_[recorded_of_batch_[batch]];
  return &heads[static_cast<std::size_t>(head)].launches()[position];
}

double GroupTransfers::transfers_of_group() const {
  double transfers = 0;
  for (std::size_t launch = 0; launch < pass_.launches.size(); ++launch) {
    transfers += transfers_of_group(launch);
  }
  return transfers;
}

double GroupTransfers::transfers_of_group(std::size_t launch) const {
  double transfers = 0;
  for (Index head = 0; head < heads_of_group(); ++head) {
    const LaunchTransfers* moved = of(launch, 0, head);
    if (moved != nullptr) transfers += static_cast<double>(moved->transfer_count);
  }
  return transfers;
}

double GroupTransfers::bytes_of_group() const {
  double bytes = 0;
  for (const Tensor tensor : kTensors) {
    if (!touches(tensor)) continue;
    const TensorPieces::Cut& cut = pieces_.cut(tensor);
    bytes += static_cast<double>(tensors_of_group(tensor) * cut.tensor.elems() * cut.element_bytes);
  }
  return bytes;
}

double GroupTransfers::blocks_of_group(std::size_t launch) const {
  double blocks = 0;
  for (Index head = 0; head < heads_of_group(); ++head) {
    const LaunchTransfers* transfers = of(launch, 0, head);
    if (transfers != nullptr) blocks += static_cast<double>(transfers->block_begins.size() - 1);
  }
  return blocks;
}

Index GroupTransfers::tensors_of_group(Tensor tensor) const {
  const TensorLayout layout = layout_of(tensor);
  const bool is_shared = layout == TensorLayout::key_by_d || layout == TensorLayout::group_key_by_d;
  return is_shared ? 1 : heads_of_group();
}

}  // namespace attnscope
