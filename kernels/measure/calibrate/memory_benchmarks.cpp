/// Bandwidths of DRAM, L2 and its atomic additions, and the effective capacity of L2.
#include <algorithm>

#include "kernels/measure/calibrate/calibration_programs.h"
#include "kernels/measure/calibrate/calibration_run.h"
#include "kernels/measure/calibrate/curve_analysis.h"
#include "kernels/measure/timing/statistics.h"

namespace attnscope::kernels {

namespace {

constexpr const char* kBytesPerSecond = "bytes/s";
constexpr Index kTimesL2 = 16;  ///< the bytes that a launch moves, as a multiple of L2's capacity

/// Rates of launches whose blocks each move one part of device memory; the time of an empty launch
/// is subtracted.
class Transfers {
 public:
  explicit Transfers(CalibrationRun& run) : run_(run) {
    std::vector<double> samples;
    samples.reserve(static_cast<std::size_t>(run.repeats()));
    for (int n = 0; n < run.repeats(); ++n) {
      samples.push_back(
          run.event_time_s([&] { run.kernels().start(nothing_program(1), 1, run.stream()); }));
    }
    launch_s_ = median_of(std::move(samples));
  }

  /// The number of blocks that move kTimesL2 times as many bytes as L2 holds, and those bytes.
  Index blocks() const { return ceil_div(kTimesL2 * run_.l2_bytes(), kStreamBytes); }
  Index bytes() const { return blocks() * kStreamBytes; }

  double bytes_per_s(Index moved_bytes, const std::function<void()>& enqueue) const {
    return static_cast<double>(moved_bytes) / (run_.event_time_s(enqueue) - launch_s_);
  }
  /// Enqueues stores of bytes() to the first `region_bytes` of `to`, over and over if that is less.
  void write(const DeviceBuffer& to, Index region_bytes) const {
    const Index parts = std::max(region_bytes / kStreamBytes, Index{1});
    run_.kernels().start(write_parts_program(), blocks(), run_.stream(),
                         static_cast<uint4*>(to.data_dev()), static_cast<std::uint32_t>(parts));
  }
  double written_bytes_per_s(const DeviceBuffer& to, Index region_bytes) const {
    return bytes_per_s(bytes(), [&] { write(to, region_bytes); });
  }

 private:
  CalibrationRun& run_;
  double launch_s_ = 0;
};

/// One block on each SM visits chunks of device memory: the launch and the lists of chunks.
class Visits {
 public:
  /// `turns`: each SM's turns, indexed by the SM's number.
  Visits(CalibrationRun& run, const DeviceBuffer& data, VisitProgram program,
         const std::vector<ChunkTurns>& turns)
      : run_(run),
        data_(data),
        program_(std::move(program)),
        turns_(turns.size() * sizeof(ChunkTurns)) {
    turns_.copy_from_host(turns.data());
  }

  /// The number of visits per SM such that all SMs together transfer at least this many bytes.
  int visits_for(Index bytes) const {
    return static_cast<int>(ceil_div(bytes, program_.chunk_bytes * run_.sm_count()));
  }
  std::vector<BlockTime> times(int visits, Index blocks) {
    return run_.time_blocks(blocks, [&](BlockTime* times_dev) {
      run_.kernels().start(program_.block, blocks, run_.stream(),
                           static_cast<char*>(data_.data_dev()),
                           static_cast<const ChunkTurns*>(turns_.data_dev()), visits, times_dev);
    });
  }
  /// The rate of all SMs together.
  double bytes_per_s(int visits) {
    const double bytes =
        static_cast<double>(program_.chunk_bytes * visits) * static_cast<double>(run_.sm_count());
    return bytes / span_s(times(visits, run_.sm_count()));
  }

 private:
  CalibrationRun& run_;
  const DeviceBuffer& data_;
  VisitProgram program_;
  DeviceBuffer turns_;
};

/// Groups of SMs, each with its own part of the memory.
using Groups = std::vector<std::vector<std::uint32_t>>;

/// The turns of each SM if the SMs of each group go through the group's part of `bytes` together,
/// chunk after chunk, repeatedly. Each SM visits every chunk of its group.
std::vector<ChunkTurns> turns_of(const Groups& groups, Index bytes, Index chunk_bytes) {
  constexpr std::size_t kMostSmNumbers = 1024;
  std::vector<ChunkTurns> turns(kMostSmNumbers, ChunkTurns{0, 0, 0, 1});
  std::uint64_t region_bytes = 0;
  for (const auto& sms : groups) {
    const auto count = static_cast<Index>(sms.size());
    const Index chunks =
        shared_chunks(bytes / chunk_bytes / static_cast<Index>(groups.size()), count);
    for (Index rank = 0; rank < count; ++rank) {
      turns.at(sms[static_cast<std::size_t>(rank)]) = {
          region_bytes, static_cast<std::uint32_t>(rank % chunks),
          static_cast<std::uint32_t>(count % chunks), static_cast<std::uint32_t>(chunks)};
    }
    region_bytes += static_cast<std::uint64_t>(chunks * chunk_bytes);
  }
  return turns;
}

/// The SMs' numbers, and the half of L2 that each SM is close to.
struct Sms {
  std::vector<std::uint32_t> numbers;
  std::vector<int> halves;

  Groups together() const { return {numbers}; }
  Groups in_halves() const {
    Groups groups(2);
    for (std::size_t s = 0; s < numbers.size(); ++s) {
      groups[static_cast<std::size_t>(halves[s])].push_back(numbers[s]);
    }
    return groups;
  }
  Groups alone() const {
    Groups groups;
    for (const std::uint32_t sm : numbers) groups.push_back({sm});
    return groups;
  }
};

Sms find_sms(CalibrationRun& run) {
  constexpr std::uint32_t kLines = 128;
  const DeviceBuffer lines(std::size_t{kTimedLines} * kTimedLineStride);
  const auto blocks = static_cast<std::size_t>(run.sm_count());
  const DeviceBuffer cycles_dev(blocks * kLines * sizeof(float));
  auto* const data = static_cast<char*>(lines.data_dev());
  const auto stream = run.stream();
  run.kernels().start(link_to_themselves_program(), 1, stream, data);
  std::vector<BlockTime> times;
  for (int n = 0; n < 2; ++n) {  // the first one warms up
    times = run.time_blocks(run.sm_count(), [&](BlockTime* times_dev) {
      run.kernels().start(time_lines_program(run.target()), run.sm_count(), stream, data, kLines,
                          static_cast<float*>(cycles_dev.data_dev()), times_dev);
    });
  }
  std::vector<float> cycles(blocks * kLines);
  cycles_dev.copy_to_host(cycles.data());
  std::vector<std::vector<double>> latencies;
  Sms sms;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto begin = cycles.begin() + static_cast<std::ptrdiff_t>(b * kLines);
    latencies.emplace_back(begin, begin + kLines);
    sms.numbers.push_back(times[b].sm);
  }
  sms.halves = halves_of(latencies);
  return sms;
}

constexpr Index kMostOfL2 = 3;  ///< the largest working set of L2's curves, as a multiple of its
                                ///< capacity

void measure_l2_rates(CalibrationRun& run, const Sms& sms, const DeviceBuffer& data) {
  const ProgramTarget& target = run.target();
  const Index quarter = run.l2_bytes() / 4, moved_bytes = kTimesL2 * run.l2_bytes();
  const VisitProgram reads = read_visits(target);
  Visits shared(run, data, reads, turns_of(sms.together(), quarter, reads.chunk_bytes));
  const int visits = shared.visits_for(moved_bytes);
  const double bytes_of_sm = static_cast<double>(reads.chunk_bytes) * visits;
  run.measure({{"l2_read_bytes_per_s", kBytesPerSecond,
                "loads of 16 bytes that bypass L1, from a quarter of L2 that all SMs read in turn"},
               {"l2_read_bytes_per_cycle_per_sm", "bytes/cycle/SM", "the same, by SM cycles"}},
              [&] {
                const auto times = shared.times(visits, run.sm_count());
                const double span = span_s(times);
                return std::vector{bytes_of_sm * static_cast<double>(run.sm_count()) / span,
                                   bytes_of_sm / (span * clock_hz(times))};
              });
  Visits alone(run, data, reads, turns_of(sms.alone(), quarter, reads.chunk_bytes));
  run.measure({"l2_read_private_bytes_per_s", kBytesPerSecond,
               "the same, each SM always from its own part of the quarter"},
              [&] { return alone.bytes_per_s(visits); });
  run.measure({"l2_read_one_sm_bytes_per_cycle", "bytes/cycle",
               "the same by one SM alone from a quarter of L2"},
              [&] {
                const int one = std::min(visits, 512);
                const auto times = shared.times(one, 1);
                return static_cast<double>(reads.chunk_bytes) * one / median_cycles(times);
              });
  const Transfers transfers(run);
  run.measure(
      {"l2_write_bytes_per_s", kBytesPerSecond,
       "stores of 16 bytes, over and over to a sixteenth of L2; the time of an empty kernel "
       "is subtracted"},
      [&] { return transfers.written_bytes_per_s(data, run.l2_bytes() / 16); });
}

void measure_additions(CalibrationRun& run, const Sms& sms, const DeviceBuffer& data) {
  for (const int floats : {1, 2, 4}) {
    const std::string width = floats == 1 ? "" : fmt::format("v{}_", floats);
    const QuantityKind kind{
        fmt::format("red_add_{}f32_bytes_per_s", width), kBytesPerSecond,
        fmt::format("payload of red.global.add.{}f32 by all SMs in turn to an eighth of L2, "
                    "neighbours in a warp, each SM beginning at another chunk",
                    floats == 1 ? "" : fmt::format("v{}.", floats))};
    const std::string needs = floats == 1 ? "" : needs_sm_90(run.target());
    if (!needs.empty()) {
      run.add_unavailable(kind, needs);
      continue;
    }
    const VisitProgram adds = add_visits(floats, run.target());
    Visits added(run, data, adds, turns_of(sms.together(), run.l2_bytes() / 8, adds.chunk_bytes));
    const int add_times = added.visits_for(2 * run.l2_bytes() * floats);
    run.measure(kind, [&] { return added.bytes_per_s(add_times); });
  }
}

/// Seconds per byte of each repeat at each working set, [repeats, sizes], after one warm-up visit.
struct Curves {
  std::vector<double> sizes_bytes;
  std::vector<std::vector<double>> s_per_byte;
};

/// How the SMs access a working set: they read it repeatedly or, if `written_before` is set, first
/// write all of it and then read it once.
struct Working {
  const Groups& groups;
  const VisitProgram& reads;
  const VisitProgram* written_before = nullptr;
};

Curves measure_curves(CalibrationRun& run, const Working& working, const DeviceBuffer& data) {
  const VisitProgram& program = working.reads;
  Curves curves;
  curves.s_per_byte.resize(static_cast<std::size_t>(run.repeats()));
  const auto add_size = [&](Index bytes) {
    const auto visits_of = [&](const VisitProgram& visits) {
      return Visits(run, data, visits, turns_of(working.groups, bytes, visits.chunk_bytes));
    };
    Visits reads = visits_of(program);
    std::optional<Visits> writes;
    if (working.written_before) writes.emplace(visits_of(*working.written_before));
    const Index read_bytes = writes ? bytes : std::max(4 * bytes, 12 * run.l2_bytes());
    const auto s_per_byte = [&] {
      if (writes) writes->times(writes->visits_for(bytes), run.sm_count());
      return 1.0 / reads.bytes_per_s(reads.visits_for(read_bytes));
    };
    curves.sizes_bytes.push_back(static_cast<double>(bytes));
    s_per_byte();
    for (auto& curve : curves.s_per_byte) curve.push_back(s_per_byte());
  };
  // Begin with a set that has a chunk for every SM
  constexpr Index kSteps = 24;  // for each capacity of L2
  const Index least_bytes = std::min(program.chunk_bytes * run.sm_count(), run.l2_bytes() / 4);
  const Index first = ceil_div(kSteps * least_bytes, run.l2_bytes());
  for (Index n = first; n <= 2 * kSteps; ++n) add_size(run.l2_bytes() * n / kSteps);
  add_size(kMostOfL2 * run.l2_bytes());
  return curves;
}

/// Adds the working sets at which the time per byte has risen a tenth, half and nine tenths of the
/// way from that of the smallest sets to that of the largest.
void add_capacities(CalibrationRun& run, const std::string& name, const std::string& how,
                    const Working& working, const DeviceBuffer& data) {
  run.show(name);
  const Curves curves = measure_curves(run, working, data);
  struct Part {
    const char *name, *words;
    double fraction;
  };
  for (const Part& part : {Part{"", "halfway", 0.5}, Part{"_10_percent", "10 % of the way", 0.1},
                           Part{"_90_percent", "90 % of the way", 0.9}}) {
    std::vector<double> samples;
    for (const auto& curve : curves.s_per_byte) {
      constexpr std::ptrdiff_t kSmallest = 3;
      const double low = median_of({curve.begin(), curve.begin() + kSmallest});
      const auto risen = where_risen(curves.sizes_bytes, curve, low, curve.back(), part.fraction);
      if (risen) samples.push_back(*risen);
    }
    run.add({fmt::format("{}{}_bytes", name, part.name), "bytes",
             fmt::format("where the time per byte is {} between that of small sets and that of "
                         "three times L2: {}",
                         part.words, how)},
            std::move(samples), "the time per byte does not rise with the working set");
  }
}

}  // namespace

void measure_dram(CalibrationRun& run) {
  const Transfers transfers(run);
  const Index blocks = transfers.blocks(), bytes = transfers.bytes();
  const DeviceBuffer from(static_cast<std::size_t>(bytes));
  const DeviceBuffer to(static_cast<std::size_t>(bytes));
  const DeviceBuffer sink(static_cast<std::size_t>(blocks) * sizeof(BlockTime));
  auto* const to_dev = static_cast<uint4*>(to.data_dev());
  const auto* const from_dev = static_cast<const uint4*>(from.data_dev());
  const auto stream = run.stream();
  transfers.write(from, bytes);

  const std::string of = fmt::format(
      "of {} MB, {} times L2, by loads and stores of 16 bytes; the time of an empty kernel is "
      "subtracted",
      bytes / 1'000'000, kTimesL2);
  run.measure({"dram_read_bytes_per_s", kBytesPerSecond, "reads " + of}, [&] {
    run.session().conditioning().sweep_cache(run.session().stream());
    return transfers.bytes_per_s(bytes, [&] {
      run.kernels().start(read_once_program(), blocks, stream, from_dev,
                          static_cast<BlockTime*>(sink.data_dev()));
    });
  });
  run.measure({"dram_write_bytes_per_s", kBytesPerSecond, "writes " + of},
              [&] { return transfers.written_bytes_per_s(to, bytes); });
  run.measure({"dram_copy_bytes_per_s", kBytesPerSecond, "reads and writes, both counted, " + of},
              [&] {
                run.session().conditioning().sweep_cache(run.session().stream());
                return transfers.bytes_per_s(2 * bytes, [&] {
                  run.kernels().start(copy_once_program(), blocks, stream, to_dev, from_dev);
                });
              });
}

void measure_l2(CalibrationRun& run) {
  run.show("the SMs' halves of L2");
  const Sms sms = find_sms(run);
  const ProgramTarget& target = run.target();
  const VisitProgram reads = read_visits(target), writes = write_visits(target);
  const Index chunks = (kMostOfL2 * run.l2_bytes()) / reads.chunk_bytes + 2 * run.sm_count();
  DeviceBuffer data(static_cast<std::size_t>(chunks * reads.chunk_bytes));
  data.fill_bytes(0);
  measure_l2_rates(run, sms, data);
  measure_additions(run, sms, data);
  const Groups together = sms.together(), in_halves = sms.in_halves();
  add_capacities(run, "l2_capacity_shared", "all SMs read all of it in turn", {together, reads},
                 data);
  add_capacities(run, "l2_capacity_halves",
                 "SMs whose latencies to L2 rise and fall with the same lines read one half, the "
                 "others the other half",
                 {in_halves, reads}, data);
  add_capacities(run, "l2_dirty_capacity",
                 "all SMs write all of it in turn, then read it once in the same order",
                 {together, reads, &writes}, data);
}

}  // namespace attnscope::kernels
