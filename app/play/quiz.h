/// The quiz about the run on the screen: which of its operations is missing? Draws nothing. A
/// background job drops the operation and computes the effect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/jobs/background_job.h"
#include "app/jobs/step_simulator.h"
#include "sim/studies/break_quiz.h"

namespace attnscope::app {

class Quiz {
 public:
  enum class Phase : std::uint8_t { closed, drawing, asking, answered };

  /// Asks about this choice, ignoring its own break, for this head (batch * heads + head). The same
  /// seed gives the same question.
  void start(const RunSpec& choice, Index head, std::uint64_t seed);
  /// Asks about another operation of the same run.
  void next();
  /// Answers with an option; without one, reveals the answer.
  void answer(std::optional<std::size_t> option);
  /// Both end the quiz: leave() restores the correct run, close() keeps the run on the screen.
  void leave();
  void close();

  /// Collects the results of the background job.
  void update(const std::shared_ptr<GpuCatalog>& gpus);

  Phase phase() const { return phase_; }
  bool is_open() const { return phase_ != Phase::closed; }
  bool settled() const { return phase_ != Phase::drawing; }
  /// Whether the screen must not name the missing operation.
  bool hides_break() const { return phase_ == Phase::drawing || phase_ == Phase::asking; }
  /// nullptr before the first question is chosen.
  const BreakQuiz* question() const { return question_ ? &*question_ : nullptr; }
  const std::optional<std::size_t>& given() const { return given_; }
  Index asked() const { return asked_; }  ///< questions that were answered or revealed
  Index right() const { return right_; }  ///< questions that were answered correctly

  /// The run that the screen must show: a broken one, or the correct one at the end. Returned once.
  std::optional<RunSpec> take_run() { return std::exchange(run_, std::nullopt); }
  /// Why there is no question; the quiz has then ended.
  std::string take_error() { return std::exchange(error_, {}); }

 private:
  struct Key {
    RunSpec choice;
    Index head = 0;
    std::uint64_t seed = 0;
    int number = 0;
    bool operator==(const Key&) const = default;
  };

  Phase phase_ = Phase::closed;
  Key key_;
  std::optional<BreakQuiz> question_;
  std::optional<std::size_t> given_;
  Index asked_ = 0, right_ = 0;
  bool breaks_ = false;  ///< a broken run is on the screen
  std::optional<RunSpec> run_;
  std::string error_;
  BackgroundJob<Key, BreakQuiz> job_;
};

}  // namespace attnscope::app
