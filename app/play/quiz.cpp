#include "app/play/quiz.h"

namespace attnscope::app {

void Quiz::start(const RunSpec& choice, Index head, std::uint64_t seed) {
  key_ = {choice, head, seed, key_.number + 1};
  key_.choice.variant.broken = {};
  asked_ = right_ = 0;
  question_.reset();
  given_.reset();
  phase_ = Phase::drawing;
}

void Quiz::next() {
  if (phase_ != Phase::answered) return;
  ++key_.seed;
  ++key_.number;
  question_.reset();
  given_.reset();
  phase_ = Phase::drawing;
}

void Quiz::answer(std::optional<std::size_t> option) {
  if (phase_ != Phase::asking) return;
  given_ = option;
  ++asked_;
  if (option == question_->answer) ++right_;
  phase_ = Phase::answered;
}

void Quiz::leave() {
  if (!is_open()) return;
  const bool restores = breaks_;
  close();
  if (restores) run_ = key_.choice;
}

void Quiz::close() {
  breaks_ = false;
  run_.reset();
  question_.reset();
  phase_ = Phase::closed;
}

void Quiz::update(const std::shared_ptr<GpuCatalog>& gpus) {
  if (phase_ != Phase::drawing) return;
  if (job_.wants(key_)) {
    job_.start(key_, [key = key_, gpus](WorkControl& control) -> Result<BreakQuiz> {
      const Request request{.choice = key.choice, .head = key.head};
      ATTNSCOPE_TRY(const auto stepped, stepped_of(request, *gpus));
      return break_quiz(stepped, key.seed, &control.cancel_flag());
    });
  }
  const BreakQuiz* latest = job_.latest();
  if (job_.busy()) return;
  if (job_.error()) {
    error_ = words(*job_.error(), Reader::screen);
    return leave();
  }
  if (latest == nullptr || !(*job_.latest_key() == key_)) return;
  question_ = *latest;
  run_ = key_.choice;
  breaks_ = true;
  run_->variant.broken = latest->run.asked.variant.broken;
  phase_ = Phase::asking;
}

}  // namespace attnscope::app
