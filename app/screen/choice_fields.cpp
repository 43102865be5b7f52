#include "app/screen/choice_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/app.h"
#include "app/choice_text.h"
#include "app/screen/choose.h"
#include "app/screen/text_presets.h"
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
  ImGui::Separator();
  if (combo.option("Open a file…", false, "open", "Ctrl+O")) app.view.scene_dialog = false;
  if (combo.option("Save as…", false, "save", "Ctrl+S")) app.view.scene_dialog = true;
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
    const char* const help =
        carry == Carry::fp32
            ? "O (backward: dQ) is kept in fp32 between column tiles, as in the implementation of "
              "2022"
            : "O (backward: dQ) is rounded to the problem's type after every column tile: "
              "AttnScope's choice, which moves the bytes that the paper counts";
    if (combo.option(name, carry == shown.carry, name, help)) {
      choose(frame, "carry", [&](Choice& choice) { choice.carry = carry; });
    }
  }
}

void draw_inputs_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "inputs", box, std::string(to_string(shown.inputs.kind)));
  if (!combo.open()) return;
  for (const InputKind kind : {InputKind::gaussian, InputKind::outlier, InputKind::needle}) {
    const std::string name(to_string(kind));
    if (combo.option(name, kind == shown.inputs.kind, name)) {
      choose(frame, "inputs", [&](Choice& choice) { choice.inputs.kind = kind; });
    }
  }
}

void draw_number_field(const Frame& frame, const Rect& box, const std::string& name,
                       TextDraft& draft, const std::function<Index*(Choice&)>& number,
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
  const std::string value = fmt::format("{}", *number(shown));
  const TextBox field(frame, name, box, draft, {value, value, "", /*only_numbers=*/true});
  if (field.typed()) change(number_in(*field.typed()));
  if (!field.open()) return;
  for (const Index preset : presets) {
    const std::string text = fmt::format("{}", preset);
    if (field.option(text, preset == *number(shown), text)) change(preset);
  }
}

void draw_text_field(const Frame& frame, const Rect& box, const std::string& name,
                     TextDraft& draft) {
  const TextChoice& part = text_choice(name);
  const Choice& shown = shown_choice(frame);
  const auto& refused = frame.app.refused;
  const bool wrong = refused && refused->field == name && !refused->typed.empty();
  const std::string value = wrong ? refused->typed : part.text(shown);
  const auto take = [&](const std::string& typed) {
    Choice read = shown;
    if (const auto reason = part.read(typed, read)) {
      frame.app.commands.push(RefuseText{name, typed, *reason});
      return;
    }
    choose(frame, name, [&](Choice& choice) { choice = read; });
  };
  const bool is_path = value.find('/') != std::string::npos;
  const std::string preview = is_path ? std::filesystem::path(value).filename().string() : value;
  const std::string help(part.help);
  const TextBox field(frame, name, box, draft,
                      {value, preview, is_path ? value + "\n\n" + help : help});
  if (field.typed()) take(*field.typed());
  if (!field.open()) return;
  for (const TextPreset& preset : text_presets(name, shown)) {
    const std::string& shown_text = preset.label.empty() ? preset.text : preset.label;
    if (field.option(shown_text, preset.text == value, preset.text, preset.help)) take(preset.text);
  }
}

}  // namespace attnscope::app
