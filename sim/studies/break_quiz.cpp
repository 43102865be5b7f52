#include "sim/studies/break_quiz.h"

#include <algorithm>
#include <random>
#include <tuple>

namespace attnscope {

namespace {

constexpr std::size_t kChoices = 4;

/// Produces the same order for the same seed with every C++ library.
void shuffle(std::vector<PassOperation>& operations, std::mt19937_64& generator) {
  for (std::size_t left = operations.size(); left > 1; --left) {
    std::swap(operations[left - 1], operations[generator() % left]);
  }
}

bool on_one_line(const PassOperation& a, const PassOperation& b) {
  return a.launch == b.launch && a.line == b.line;
}

/// The answer and operations on other lines, those of its launch first.
std::vector<PassOperation> choices_for(const PassOperation& answer,
                                       std::span<const PassOperation> shuffled) {
  std::vector<PassOperation> choices = {answer};
  for (const bool same_launch : {true, false}) {
    for (const PassOperation& other : shuffled) {
      const bool taken = std::ranges::any_of(
          choices, [&](const PassOperation& choice) { return on_one_line(choice, other); });
      const bool wanted = (other.launch == answer.launch) == same_launch;
      if (!taken && wanted && choices.size() < kChoices) choices.push_back(other);
    }
  }
  std::ranges::sort(choices, {},
                    [](const PassOperation& each) { return std::tuple(each.launch, each.line); });
  return choices;
}

/// Whether a tensor of the result whose wrong rows the scores show is wrong, other than one with a
/// single number per row, such as LSE.
bool can_be_seen(const BreakEffect& effect) {
  return std::ranges::any_of(effect.results, [](const ResultDeviation& result) {
    return result.deviation.is_wrong() && layout_of(result.tensor) != TensorLayout::query_by_one;
  });
}

}  // namespace

Result<BreakQuiz> break_quiz(const SteppedRequest& request, std::uint64_t seed,
                             const std::atomic<bool>* cancel) {
  SteppedRequest broken = request;
  auto& variant = broken.run.asked.variant;
  variant.broken = {};
  const ScheduleOptions options = schedule_options(broken.run, broken.gpu);
  const Pass pass =
      make_head_pass(*find_algorithm(broken.run.algorithm()), broken.run.pass(), options);
  const auto operations = operations_of(pass, {broken.run.problem, broken.run.tiling, options, {}});
  std::mt19937_64 generator(seed);
  std::vector<PassOperation> shuffled = operations;
  shuffle(shuffled, generator);

  for (const PassOperation& operation : shuffled) {
    variant.broken = break_of(operation, pass, operations);
    ATTNSCOPE_TRY(auto effect, break_effect(broken, cancel));
    if (!can_be_seen(effect)) continue;
    BreakQuiz quiz{broken.run, std::move(effect), choices_for(operation, shuffled), 0};
    const auto answer = std::ranges::find_if(
        quiz.choices, [&](const PassOperation& choice) { return on_one_line(choice, operation); });
    quiz.answer = static_cast<std::size_t>(answer - quiz.choices.begin());
    return quiz;
  }
  return failed("no dropped operation changes the result of this run");
}

}  // namespace attnscope
