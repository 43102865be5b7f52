#include "app/scene/choice_history.h"

#include <fmt/core.h>

namespace attnscope::app {

namespace {

bool same_scene(const Scene& a, const Scene& b) {
  return a.name == b.name && a.path == b.path && a.source == b.source;
}

}  // namespace

bool Choices::are_those_of(const Scene& opened, const ViewState& view) const {
  return same_scene(scene, opened) && run == view.choice && race == view.race &&
         head == view.head && query_row == view.query_row && O_column == view.O_column;
}

std::string difference(const Choices& before, const Choices& now) {
  if (!same_scene(before.scene, now.scene)) return fmt::format("scene \"{}\"", now.scene.title);
  for (const RunField& field : run_fields()) {
    const std::string value = field.print(now.run);
    if (value == field.print(before.run)) continue;
    if (value.empty()) return fmt::format("{} not set", field.label);
    return fmt::format("{} = {}", field.label, value);
  }
  if (before.run != now.run) return "switches of the kernel";
  if (before.race != now.race) {
    return now.race ? fmt::format("race against {}", now.race->rival.algorithm) : "no race";
  }
  if (before.head != now.head) return fmt::format("head {}", now.head);
  if (before.query_row != now.query_row) return fmt::format("query row {}", now.query_row);
  return fmt::format("column {} of O", now.O_column);
}

void ChoiceHistory::note(const Scene& opened, const ViewState& view) {
  if (!all_.empty() && all_[present_].are_those_of(opened, view)) {
    all_[present_].step = view.step;
    all_[present_].race_tick = view.race_tick;
    return;
  }
  if (!all_.empty()) all_.resize(present_ + 1);
  all_.push_back({opened, view.choice, view.race, view.head, view.query_row, view.O_column,
                  view.step, view.race_tick});
  if (all_.size() > kMostKept) all_.pop_front();
  present_ = all_.size() - 1;
}

const Choices* ChoiceHistory::at(std::ptrdiff_t by) const {
  const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(present_) + by;
  if (place < 0 || place >= std::ssize(all_)) return nullptr;
  return &all_[static_cast<std::size_t>(place)];
}

void ChoiceHistory::move(std::ptrdiff_t by) {
  present_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(present_) + by);
}

}  // namespace attnscope::app
