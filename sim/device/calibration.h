/// A GPU's quantities measured by microbenchmarks, for the models of DRAM traffic and time. Read
/// from assets/gpus/NAME.calibration.json (schema attnscope.calibration/1), which `attnscope-cli
/// calibrate` writes. All of them are of the kind "measured", without running an attention kernel.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/measured_quantity.h"
#include "reference/result.h"

namespace attnscope {

/// The GPU that was measured, as its driver describes it.
struct CalibratedDevice {
  std::string name;                ///< "NVIDIA H200"
  std::string compute_capability;  ///< "9.0"
  Index sm_count = 0;
  std::string driver;  ///< "580.159.04"; empty if the driver does not report it
  std::string cuda;    ///< CUDA version that the driver supports, "13.0"

  bool operator==(const CalibratedDevice&) const = default;
};

struct Calibration {
  CalibratedDevice device;
  std::string date;                          ///< UTC, ISO 8601: "2026-01-31T12:34:56Z"
  std::string commit;                        ///< of the program that measured, or "unknown"
  bool local_changes = false;                ///< whether its sources differed from the commit
  std::vector<MeasuredQuantity> quantities;  ///< in the order in which they were measured

  /// The quantity with this name; null if it was not measured or is unavailable.
  const MeasuredQuantity* find(std::string_view name) const;

  bool operator==(const Calibration&) const = default;
};

/// Parses a calibration; `name` is the file's name in messages. invalid_request, in one line, for a
/// malformed document, a meaningless value or two quantities with the same name.
Result<Calibration> parse_calibration(std::string_view text, std::string_view name);

/// The document that parse_calibration() reads: the header, then one quantity per line.
std::string calibration_text(const Calibration& calibration);

/// The shipped calibration of the GPU with this name in the assets ("h200"), which is read once;
/// null if it has none. Errors as in parse_calibration(), and failed for a file that cannot be
/// read.
Result<std::shared_ptr<const Calibration>> load_calibration(std::string_view gpu_name);

/// Names of the GPUs that have a shipped calibration, sorted.
std::vector<std::string> list_calibrations();

}  // namespace attnscope
