/// The quiz about the run on the screen: one of its operations is missing; which? No drawing. The
/// operation is dropped, and its effect computed, in the background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/background_job.h"
#include "app/step_simulator.h"
#include "sim/studies/break_quiz.h"

namespace attnscope::app {

class Quiz {
 public:
  enum class Phase : std::uint8_t { closed, drawing, asking, answered };

  /// Asks about this choice, whatever its own break, in this head (batch * heads + head); the same
  /// question for the same seed.
  void start(const RunSpec& choice, Index head, std::uint64_t seed);
  /// Asks about another operation of the same run.
  void next();
  /// Takes an option; nothing: shows the answer without one.
  void answer(std::optional<std::size_t> option);
  /// Ends it with the right run on the screen; close(): with the run that is there.
  void leave();
  void close();

  /// Takes the results of the background.
  void update(const std::shared_ptr<GpuCatalog>& gpus);

  Phase phase() const { return phase_; }
  bool is_open() const { return phase_ != Phase::closed; }
  bool settled() const { return phase_ != Phase::drawing; }
  /// Whether the screen must not name the missing operation.
  bool hides_break() const { return phase_ == Phase::drawing || phase_ == Phase::asking; }
  /// nullptr before the first one is drawn.
  const BreakQuiz* question() const { return question_ ? &*question_ : nullptr; }
  const std::optional<std::size_t>& given() const { return given_; }
  Index asked() const { return asked_; }  ///< questions that were answered or shown
  Index right() const { return right_; }  ///< of these

  /// The run that the screen shows from now on: a broken one, or the right one at the end. Once.
  std::optional<RunSpec> take_run() { return std::exchange(run_, std::nullopt); }
  /// Why there is no question; it then ends.
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
