#include "app/screen/bar_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/field_rules.h"

namespace attnscope::app {

namespace {

constexpr float kMargin = 14.0f, kLabelGap = 6.0f, kFieldGap = 11.0f;
constexpr float kNarrowest = 0.6f;  ///< the smallest share of its width that the scene's box keeps

bool has_words(const BarField& field) {
  return field.key == "scene" || field.key == "algorithm" || field.key == "mask";
}

}  // namespace

std::string_view BarField::label() const {
  if (knob != nullptr) return knob->name;
  if (key == "scene") return "Scene";
  if (key == "race") return "against";
  if (key == "race_clock") return "clock";
  return run_field(key).label;
}

BarPlan::BarPlan(const Frame& frame, std::vector<BarField> fields, float width)
    : frame_(frame), fields_(std::move(fields)) {
  narrow_scene(width);
  hide_fields(width);
  place_fields(std::max(width - total(), 0.0f));
}

float BarPlan::end() const {
  return places_.back().box_right + frame_.px(kFieldGap);
}

float BarPlan::label_width(const BarField& field) const {
  return frame_.fonts.ui.measure(field.label()).x;
}

float BarPlan::box_width(const BarField& field) const {
  return frame_.text_px(field.width) * (field.key == "scene" ? narrowed_ : 1.0f);
}

float BarPlan::total() const {
  float sum = frame_.px(kMargin) + more_width(frame_);
  for (const BarField& field : fields_) {
    sum += label_width(field) + box_width(field) + frame_.px(kLabelGap + kFieldGap);
  }
  return sum;
}

void BarPlan::narrow_scene(float width) {
  const float all = total();
  narrowed_ = kNarrowest;
  const float need = (all - width) / std::max(all - total(), 1.0f);
  narrowed_ = 1.0f - (1.0f - kNarrowest) * std::clamp(need, 0.0f, 1.0f);
}

void BarPlan::hide_fields(float width) {
  while (total() > width && fields_.size() > 1) {
    const auto least = std::max_element(
        fields_.begin(), fields_.end(),
        [](const BarField& a, const BarField& b) { return a.priority <= b.priority; });
    hidden_.insert(hidden_.begin(), *least);
    fields_.erase(least);
  }
}

/// The scene takes the spare room first, up to nearly twice its width, then the others with words.
void BarPlan::place_fields(float spare) {
  const bool has_scene = fields_.front().key == "scene";
  const float of_scene =
      has_scene ? std::min(spare, frame_.text_px(0.9f * fields_.front().width)) : 0.0f;
  const auto takers =
      static_cast<float>(std::ranges::count_if(fields_, has_words) - (has_scene ? 1 : 0));
  const float of_others = (spare - of_scene) / std::max(takers, 1.0f);
  float x = frame_.px(kMargin);
  for (const BarField& field : fields_) {
    const float width = box_width(field);
    const float extra = field.key == "scene" ? of_scene
                        : has_words(field)   ? std::min(of_others, 0.6f * width)
                                             : 0.0f;
    const float left = std::round(x + label_width(field) + frame_.px(kLabelGap));
    places_.push_back({field, x, left, left + std::round(width + extra)});
    x = end();
  }
}

}  // namespace attnscope::app
