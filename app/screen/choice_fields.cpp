#include "app/screen/choice_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/app.h"
#include "app/screen/choose.h"
#include "sim/device/assets.h"
#include "sim/device/gpu_description.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

struct SceneEntry {
  std::string name;
  std::string title;
};

/// The shipped scenes; read once.
const std::vector<SceneEntry>& shipped_scenes() {
  static const std::vector<SceneEntry> scenes = [] {
    std::vector<SceneEntry> read;
    for (const std::string& name : list_assets("scenes")) {
      const Result<Scene> scene = load_scene(name);
      if (scene) read.push_back({name, scene.value().title});
    }
    return read;
  }();
  return scenes;
}

const std::vector<std::string>& shipped_gpus() {
  static const std::vector<std::string> gpus = list_gpus();
  return gpus;
}

}  // namespace

void draw_scene_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const bool unchanged = shown_choice(frame) == app.scene.view.choice;
  const std::string preview = unchanged ? app.scene.title : "Your own choice";
  const ComboBox combo(frame, "scene", box, preview);
  if (!combo.open()) return;
  for (const SceneEntry& scene : shipped_scenes()) {
    if (combo.option(scene.title, unchanged && scene.title == app.scene.title, scene.name)) {
      app.commands.push(OpenScene{scene.name});
    }
  }
}

void draw_algorithm_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "algorithm", box, shown.algorithm);
  if (!combo.open()) return;
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (combo.option(name, name == shown.algorithm, name, std::string(algorithm.summary))) {
      choose(frame, "algorithm", [&](Choice& choice) { choice.algorithm = name; });
    }
  }
}

void draw_pass_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "pass", box, shown.pass);
  if (!combo.open()) return;
  for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
    const std::string name(to_string(pass));
    const std::string help =
        pass == PassKind::both ? "The forward pass, then the backward pass" : "";
    if (combo.option(name, name == shown.pass, name, help)) {
      choose(frame, "pass", [&](Choice& choice) { choice.pass = name; });
    }
  }
}

void draw_mask_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "mask", box, to_string(shown.problem.mask));
  if (!combo.open()) return;
  const Index wide = std::max<Index>(shown.problem.N_kv / 4, 1);
  const Index narrow = std::max<Index>(shown.problem.N_kv / 8, 1);
  for (const Mask mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                          Mask::window(wide - 1, 0), Mask::window(narrow, narrow)}) {
    const std::string name = to_string(mask);
    if (combo.option(name, mask == shown.problem.mask, name)) {
      choose(frame, "mask", [&](Choice& choice) { choice.problem.mask = mask; });
    }
  }
}

void draw_dtype_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "dtype", box, std::string(to_string(shown.problem.dtype)));
  if (!combo.open()) return;
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    const std::string name(to_string(dtype));
    if (combo.option(name, dtype == shown.problem.dtype, name)) {
      choose(frame, "dtype", [&](Choice& choice) { choice.problem.dtype = dtype; });
    }
  }
}

void draw_gpu_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "gpu", box, shown.gpu);
  if (!combo.open()) return;
  for (const std::string& name : shipped_gpus()) {
    if (combo.option(name, name == shown.gpu, name)) {
      choose(frame, "gpu", [&](Choice& choice) { choice.gpu = name; });
    }
  }
}

void draw_carry_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "carry", box, std::string(to_string(shown.carry)));
  if (!combo.open()) return;
  for (const Carry carry : {Carry::problem, Carry::fp32}) {
    const std::string name(to_string(carry));
    if (combo.option(name, carry == shown.carry, name)) {
      choose(frame, "carry", [&](Choice& choice) { choice.carry = carry; });
    }
  }
}

void draw_inputs_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const bool own = shown.files.any();
  const ComboBox combo(frame, "inputs", box,
                       own ? "files" : std::string(to_string(shown.inputs.kind)));
  if (!combo.open()) return;
  for (const InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
    const std::string name(to_string(kind));
    if (combo.option(name, !own && kind == shown.inputs.kind, name)) {
      choose(frame, "inputs", [&](Choice& choice) {
        choice.inputs.kind = kind;
        choice.files = {};
      });
    }
  }
}

void draw_number_field(const Frame& frame, const Rect& box, const std::string& name,
                       NumberDraft& draft, const std::function<Index*(Choice&)>& number,
                       const std::vector<Index>& presets) {
  Choice shown = shown_choice(frame);
  const auto change = [&](Index value) {
    choose(frame, name, [&](Choice& choice) {
      // Self-attention stays self-attention, plain heads stay plain heads
      const bool square = choice.problem.N == choice.problem.N_kv;
      const bool plain = choice.problem.heads == choice.problem.kv_heads;
      *number(choice) = value;
      if (name == "N" && square) choice.problem.N_kv = value;
      if (name == "heads" && plain) choice.problem.kv_heads = value;
    });
  };
  NumberBox field(frame, name, box, draft, *number(shown));
  if (const auto typed = field.typed()) change(*typed);
  if (!field.open()) return;
  for (const Index preset : presets) {
    const std::string text = fmt::format("{}", preset);
    if (field.option(text, preset == *number(shown), text)) change(preset);
  }
}

}  // namespace attnscope::app
