#include "app/panels/algorithm_color.h"

#include <iterator>

#include "sim/schedule/algorithm.h"

namespace attnscope::app {

ImU32 algorithm_color(const Theme& theme, std::string_view algorithm) {
  // Tensors whose colours differ for every eye, in the order in which algorithms take them
  constexpr std::string_view kTensors[] = {"alpha", "m", "Q", "O", "S", "V", "K", "l"};
  const Algorithm* found = find_algorithm(algorithm);
  if (found == nullptr) return theme.text_faint;
  const auto place = static_cast<std::size_t>(found - algorithms().data());
  return tensor_text_color(theme, kTensors[place % std::size(kTensors)]);
}

}  // namespace attnscope::app
