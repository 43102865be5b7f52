/// Statistics of frame times.
#pragma once

#include <string>
#include <vector>

namespace attnscope::app {

class FrameTimes {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  std::size_t count() const { return seconds_.size(); }
  /// The time within which `share` of the frames finish (0.5: the median); 0 when there are none.
  double quantile_s(double share) const;
  /// The statistics as text: "median 5.1 ms (196 frames/s), 95 % within 7.0 ms, 300 frames".
  std::string summary() const;
  /// The same with the slowest frame: "median 2.10 ms, 99 % within 3.00 ms, slowest 9.40 ms, 300
  /// frames".
  std::string slowest_summary() const;

 private:
  std::vector<double> seconds_;
};

}  // namespace attnscope::app
