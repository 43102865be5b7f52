#include "app/panels/charts/roofline_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/format.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/report/time_words.h"
#include "reference/run_fields.h"

namespace attnscope::app {

namespace {

constexpr double kTera = 1e12;

/// A level of memory, in the colour of its points and of its ceiling.
enum class Side : std::uint8_t { requested, l2, dram };
constexpr std::array<std::string_view, 3> kSideWords = {"requested", "L2", "DRAM"};
constexpr std::array<std::string_view, 3> kColors = {"Q", "O", "V"};  // easy to distinguish

ImU32 color_of(const Theme& theme, Side side) {
  return tensor_text_color(theme, kColors[static_cast<std::size_t>(side)]);
}

std::string rate_words(double flops_per_s) {
  return fmt::format("{:.3g} TFLOP/s", flops_per_s / kTera);
}

std::optional<double> sum_of(const MeasuredRun& run,
                             std::initializer_list<std::string_view> counters) {
  double sum = 0.0;
  for (const std::string_view name : counters) {
    const auto value = run.counter(name);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

/// The bytes of a level according to a run's counters.
std::optional<double> recorded_bytes(const MeasuredRun& run, Side side) {
  switch (side) {
    case Side::requested:
      return sum_of(run, {counter::kRequestedReadBytes, counter::kRequestedWriteBytes});
    case Side::l2: {
      const auto sectors = sum_of(
          run, {counter::kL2ReadSectors, counter::kL2WriteSectors, counter::kL2ReductionSectors});
      return sectors ? std::optional(*sectors * static_cast<double>(kSectorBytes)) : std::nullopt;
    }
    case Side::dram:
      return sum_of(run, {counter::kDramReadBytes, counter::kDramWriteBytes});
  }
  return std::nullopt;
}

/// 1, 2 and 5 times each power of ten within the axis.
std::vector<draw::Tick> round_ticks(const draw::Axis& axis) {
  std::vector<draw::Tick> ticks;
  for (double power = std::pow(10.0, std::floor(std::log10(axis.low))); power <= axis.high;
       power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if (value < axis.low || value > axis.high) continue;
      ticks.push_back({value, fmt::format("{:g}", value)});
    }
  }
  return ticks;
}

/// A chart under construction.
class RooflineMaker {
 public:
  RooflineMaker(const Roofline& roofline, const GpuDescription& gpu, const Theme& theme)
      : model_(roofline.model),
        measured_(roofline.measured),
        gpu_(gpu),
        theme_(theme),
        flops_(static_cast<double>(model_.matmul_flops)) {
    chart_.x = {.name = "matrix-product FLOP per byte of the level", .low = 1e300, .high = 0.0};
    chart_.y = {.name = "TFLOP/s", .low = 1e300, .high = 0.0};
  }

  void add_points(const MeasuredRun* run) {
    add_modelled();
    if (run != nullptr) add_recorded(*run);
  }

  /// Adds the ceilings; the axes cover all points and corners.
  void add_ceilings() {
    const double peak =
        gpu_.matrix_flops_per_s(model_.run.problem.dtype).value_or(gpu_.other_flops_per_s);
    widen(peak / gpu_.dram_bytes_per_s, peak);
    if (measured_) widen(matrix_peak() / measured_->l2_read_bytes_per_s, matrix_peak());
    fit_axes();
    if (measured_) {
      add_roof(
          measured_->l2_read_bytes_per_s, matrix_peak(), color_of(theme_, Side::l2), false,
          fmt::format("L2 {}, measured", draw::format_bandwidth(measured_->l2_read_bytes_per_s)));
      add_roof(measured_->dram_read_bytes_per_s, matrix_peak(), color_of(theme_, Side::dram), false,
               fmt::format("DRAM {}, measured",
                           draw::format_bandwidth(measured_->dram_read_bytes_per_s)));
      add_peak(matrix_peak(), theme_.text_dim,
               fmt::format("{} {}, measured", unit_words(), rate_words(matrix_peak())));
      const double sync = synchronous_peak();
      if (sync < matrix_peak()) {
        add_peak(sync, theme_.text_faint, fmt::format("mma.sync {}, measured", rate_words(sync)));
      }
    }
    add_roof(gpu_.dram_bytes_per_s, peak, theme_.text_faint, true,
             fmt::format("{} {}, {}, datasheet", dram_name(gpu_),
                         draw::format_bandwidth(gpu_.dram_bytes_per_s), rate_words(peak)));
  }

  draw::Chart take() { return std::move(chart_); }

 private:
  bool on_tensor_cores() const { return model_.run.problem.dtype != DType::fp32; }
  std::string_view unit_words() const { return on_tensor_cores() ? "tensor cores" : "CUDA cores"; }
  double matrix_peak() const { return measured_->matrix_flops_per_s(on_tensor_cores()); }
  /// The peak of `mma.sync` on tensor cores: below matrix_peak() if the GPU has faster
  /// instructions.
  double synchronous_peak() const {
    const double share = measured_->sync_matrix_flops_per_cycle / measured_->matrix_flops_per_cycle;
    return on_tensor_cores() ? matrix_peak() * share : matrix_peak();
  }

  void widen(double x, double y) {
    chart_.x.low = std::min(chart_.x.low, x);
    chart_.x.high = std::max(chart_.x.high, x);
    chart_.y.low = std::min(chart_.y.low, y);
    chart_.y.high = std::max(chart_.y.high, y);
  }

  void add_point(draw::Series& series, double bytes, double seconds, const std::string& about) {
    if (!(bytes > 0.0) || !(seconds > 0.0) || !(flops_ > 0.0)) return;
    const double x = flops_ / bytes, rate = flops_ / seconds;
    series.points.push_back(
        {x, rate / kTera,
         fmt::format("{}\n{} in {}: {}\n{:.4g} FLOP per byte of {}", about,
                     draw::format_si(flops_, "FLOP"), draw::format_seconds(seconds),
                     rate_words(rate), x, draw::format_bytes(bytes))});
    widen(x, rate);
  }

  draw::Series points_of(Side side, std::string_view kind, draw::Marker marker) const {
    return {.name = fmt::format("{}, {}", kSideWords[static_cast<std::size_t>(side)], kind),
            .color = color_of(theme_, side),
            .line = false,
            .marker = marker};
  }

  void add_modelled() {
    const bool predicted = model_.time.has_value();
    const double seconds = predicted ? model_.time->seconds : model_.bound_s;
    const std::string kind = predicted ? "predicted" : "bound";
    const draw::Marker marker = predicted ? draw::Marker::circle : draw::Marker::cross;
    const Bytes dram = model_.dram ? model_.dram->total : model_.compulsory;
    const auto requested = static_cast<double>(model_.requested.total());
    // L2 serves all requested bytes: the model does not merge reads of the same line
    const std::pair<Side, double> levels[] = {{Side::l2, requested},
                                              {Side::requested, requested},
                                              {Side::dram, static_cast<double>(dram.total())}};
    for (const auto& [side, bytes] : levels) {
      draw::Series series = points_of(side, kind, marker);
      std::string about = series.name;
      if (side != Side::dram) about = "requested, and L2 without merged reads: " + kind;
      if (!predicted) about += ", the most that the lower bound on time allows";
      add_point(series, bytes, seconds, about);
      chart_.series.push_back(std::move(series));
    }
    add_sample(predicted
                   ? "predicted"
                   : "bounds only: " + words(why_not_calibrated(model_, gpu_), Reader::screen),
               marker);
  }

  void add_recorded(const MeasuredRun& run) {
    const auto seconds = run.time_s();
    if (!seconds) return;
    const std::string_view kind = to_string(run.provenance.kind);
    for (const Side side : {Side::requested, Side::l2, Side::dram}) {
      const auto bytes = recorded_bytes(run, side);
      if (!bytes) continue;
      draw::Series series = points_of(side, kind, draw::Marker::square);
      add_point(series, *bytes, *seconds, series.name + "\n" + run.provenance.describe());
      chart_.series.push_back(std::move(series));
    }
    add_sample(fmt::format("{} on {}", kind, run.provenance.gpu()), draw::Marker::square);
  }

  void add_sample(std::string label, draw::Marker marker) {
    chart_.legend.push_back(
        {std::move(label), theme_.text_dim, draw::LegendEntry::Sample::marker, marker});
  }

  /// Leaves a margin of a factor of 3 around everything, and rounds the y axis to whole decades.
  void fit_axes() {
    constexpr double kRoom = 3.0;
    chart_.x.low /= kRoom;
    chart_.x.high *= kRoom;
    chart_.x_ticks = round_ticks(chart_.x);
    chart_.y.low = std::pow(10.0, std::floor(std::log10(chart_.y.low / kTera)));
    chart_.y.high = std::pow(10.0, std::ceil(std::log10(chart_.y.high / kTera)));
    const auto label = [](double value) { return fmt::format("{:g}", value); };
    const bool is_short = chart_.y.high <= 100.0 * chart_.y.low;  // two decades
    chart_.y_ticks = is_short ? round_ticks(chart_.y) : draw::ticks(chart_.y, 5, label);
    chart_.y_label = label;
  }

  void add_line(std::vector<draw::ChartPoint> points, ImU32 color, bool dashed,
                const std::string& words) {
    add_series(chart_,
               {.name = words, .color = color, .dashed = dashed, .points = std::move(points)},
               words);
  }

  /// Adds a bandwidth's slope up to the peak, and the peak itself if dashed.
  void add_roof(double bytes_per_s, double peak, ImU32 color, bool dashed,
                const std::string& words) {
    const double corner = peak / bytes_per_s;
    const double low = std::max(chart_.x.low, chart_.y.low * kTera / bytes_per_s);
    std::vector<draw::ChartPoint> points;
    for (const double x : {low, corner, chart_.x.high}) {
      points.push_back({x, std::min(bytes_per_s * x, peak) / kTera, words});
      if (!dashed && x == corner) break;  // the peak is a separate line
    }
    add_line(std::move(points), color, dashed, words);
  }

  void add_peak(double flops_per_s, ImU32 color, const std::string& words) {
    const double bandwidth = measured_->l2_read_bytes_per_s;
    add_line({{flops_per_s / bandwidth, flops_per_s / kTera, words},
              {chart_.x.high, flops_per_s / kTera, words}},
             color, false, words);
  }

  const SimulationReport& model_;
  const std::optional<MachineRates>& measured_;
  const GpuDescription& gpu_;
  const Theme& theme_;
  double flops_;
  draw::Chart chart_;
};

std::string problem_words(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  return fmt::format("{} {}, N {}, d {}, {}, B {}, H {}", run.algorithm(), to_string(run.pass()),
                     draw::format_count(problem.N), problem.d, to_string(problem.dtype),
                     problem.batch, problem.heads);
}

}  // namespace

Result<Roofline> predict_roofline(const ResolvedRun& run, const GpuDescription& gpu,
                                  WorkControl& control) {
  ATTNSCOPE_TRY(auto model, simulate(run, gpu, &control.cancel_flag()));
  predict_kernel_dram(model, gpu, {},
                      {.cancel = &control.cancel_flag(), .interval = DramInterval::left_out});
  predict_kernel_time(model, gpu, {}, &control.cancel_flag());
  return Roofline{std::move(model), calibrated_rates(gpu)};
}

ShownChart roofline_chart(const Roofline& roofline, const GpuDescription& gpu,
                          const Measurements& measurements, const Theme& theme) {
  const SimulationReport& model = roofline.model;
  ShownChart shown;
  shown.title = "ROOFLINE";
  shown.subtitle = fmt::format(
      "{}{}, {}", model.time ? "" : "bounds only: ", problem_words(model.run), gpu.display_name);
  shown.about =
      "FLOP/s of the run's matrix products, from the predicted and the recorded time, against "
      "their FLOP per byte at each level: requested by thread blocks, served by L2, moved by "
      "DRAM.\nNo point can lie above the ceiling of its level. Measured ceilings are the "
      "calibration's: reads of L2 and of DRAM, and products on all SMs.\n" +
      time_basis_text(model, gpu, Reader::screen);
  RooflineMaker maker(roofline, gpu, theme);
  using Sample = draw::LegendEntry::Sample;
  maker.add_points(measurements.find_comparable(model, gpu));
  maker.add_ceilings();
  draw::Chart chart = maker.take();
  for (const Side side : {Side::dram, Side::l2, Side::requested}) {
    chart.legend.insert(chart.legend.begin(),
                        {std::string(kSideWords[static_cast<std::size_t>(side)]) + " bytes",
                         color_of(theme, side), Sample::surface, draw::Marker::none});
  }
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
