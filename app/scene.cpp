#include "app/scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/own_inputs.h"
#include "reference/json/json_document.h"
#include "reference/json/problem_json.h"
#include "reference/nearest_name.h"
#include "sim/device/assets.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

using nlohmann::json;

namespace {

constexpr std::string_view kSchema = "attnscope.scene";
constexpr int kVersion = 1;

/// A field that names one of a few things; the fallback when it is absent.
template <typename T, typename Parse>
T named(const JsonObject& object, std::string_view key, T fallback, const Parse& parse,
        std::string_view accepted) {
  if (!object.has(key)) return fallback;
  const std::string name = object.string(key);
  if (const auto value = parse(name)) return *value;
  throw JsonFieldError(fmt::format("{}: \"{}\" is not known; use {}", object.path_of(key),
                                   printable(name), accepted));
}

Index non_negative(const JsonObject& object, std::string_view key) {
  const Index value = object.integer_or(key, 0);
  if (value >= 0) return value;
  throw JsonFieldError(
      fmt::format("{}: {} is negative; use 0 or more", object.path_of(key), value));
}

/// A text of one line that a bar has room for.
std::string short_text(const JsonObject& object, std::string_view key, std::string fallback) {
  constexpr std::size_t kMostBytes = 200;
  std::string text = object.string_or(key, std::move(fallback));
  if (text.size() > kMostBytes) {
    throw JsonFieldError(fmt::format("{}: {} bytes are too long; use at most {}",
                                     object.path_of(key), text.size(), kMostBytes));
  }
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    throw JsonFieldError(
        fmt::format("{}: control characters; use a text of one line", object.path_of(key)));
  }
  return text;
}

/// Bytes of a memory; 0: the GPU's.
Index memory_bytes(const JsonObject& object, std::string_view key) {
  const Index bytes = non_negative(object, key);
  if (bytes <= kMostMemoryBytes) return bytes;
  throw JsonFieldError(fmt::format("{}: {} bytes are too many; use at most {}, or 0 for the GPU's",
                                   object.path_of(key), bytes, kMostMemoryBytes));
}

ScheduleVariant variant_from(const JsonObject& object) {
  ScheduleVariant variant;
  variant.fusion =
      named(object, "fusion", Fusion::rows, parse_fusion, "separate, figure2, pairs or rows");
  variant.checkpoint = object.boolean_or("checkpoint", false);
  variant.skip_first_reads = object.boolean_or("skip_first_reads", false);
  variant.d_once = object.boolean_or("d_once", false);
  return variant;
}

json variant_to_json(const ScheduleVariant& variant) {
  return {{"fusion", to_string(variant.fusion)},
          {"checkpoint", variant.checkpoint},
          {"skip_first_reads", variant.skip_first_reads},
          {"d_once", variant.d_once}};
}

/// Files are named relative to the scene's folder, or absolutely.
void read_choice(const JsonObject& root, const std::filesystem::path& folder, Choice& choice) {
  choice.problem = problem_from_json(root.object("problem"));
  choice.algorithm = root.string("algorithm");
  choice.pass =
      to_string(named(root, "pass", PassKind::forward, parse_pass, "forward, backward or both"));
  choice.tiling = tiling_from_json(root.object("tiling"));
  choice.carry = named(root, "carry", Carry::problem, parse_carry, "problem or fp32");
  choice.gpu = root.string_or("gpu", "h200");
  if (root.has("block_mask")) {
    const Result<BlockPattern> pattern = parse_block_pattern(root.string("block_mask"));
    if (!pattern) throw JsonFieldError(root.path_of("block_mask") + ": " + pattern.error().message);
    choice.block_mask = pattern.value();
  }
  choice.skip_unused_kv = root.boolean_or("skip_unused_kv", false);
  choice.splits = non_negative(root, "splits");
  choice.separate_heads = root.boolean_or("separate_heads", false);
  choice.sram_bytes = memory_bytes(root, "sram_bytes");
  choice.l2_bytes = memory_bytes(root, "l2_bytes");
  choice.allow_overflow = root.boolean_or("allow_overflow", false);
  choice.round_to_storage = root.boolean_or("round_to_storage", true);
  if (root.has("variant")) choice.variant = variant_from(root.object("variant"));
  if (root.has("inputs")) {
    const JsonObject inputs = root.object("inputs");
    choice.inputs.kind =
        named(inputs, "kind", InputKind::gaussian, parse_input_kind, "gaussian, outlier or needle");
    choice.inputs.seed = inputs.unsigned_or("seed", 0);
    choice.files = from_folder({inputs.string_or("q", ""), inputs.string_or("k", ""),
                                inputs.string_or("v", ""), inputs.string_or("do", "")},
                               folder);
  }
}

void read_view(const JsonObject& root, ViewState& view) {
  if (root.has("playhead")) {
    const JsonObject playhead = root.object("playhead");
    view.step = playhead.integer_or("step", 0);
    if (view.step < -1) {
      throw JsonFieldError(
          fmt::format("{}: {} is not a step; use -1, before the first operation, or more",
                      playhead.path_of("step"), view.step));
    }
    view.granularity = named(playhead, "granularity", Granularity::op, parse_granularity,
                             "op, tile or outer_loop");
    view.speed = playhead.number_or("speed", 1.0);
    if (!(view.speed > 0.0 && view.speed <= kMaxSpeed)) {
      throw JsonFieldError(fmt::format("{}: {} is out of range; use a number above 0 up to {}",
                                       playhead.path_of("speed"), view.speed, kMaxSpeed));
    }
  }
  if (root.has("race")) {
    const JsonObject race = root.object("race");
    view.race = Race{race.string("against"), named(race, "clock", RaceClock::requested_bytes,
                                                   parse_race_clock, "requested_bytes or tiles")};
    const std::string& rival = view.race->rival;
    if (find_algorithm(rival) == nullptr) {
      throw JsonFieldError(
          fmt::format("{}: {}", race.path_of("against"),
                      unknown_name_message("algorithm", rival, algorithm_names())));
    }
    view.race_tick = non_negative(race, "tick");
  }
  if (root.has("view")) {
    const JsonObject looks = root.object("view");
    view.query_row = non_negative(looks, "query_row");
    view.head = non_negative(looks, "head");
    view.O_column = non_negative(looks, "O_column");
    view.theme = named(looks, "theme", ThemeName::dark, parse_theme, "dark, light or contrast");
    view.presenter = looks.boolean_or("presenter", false);
    view.explain_tab = named(looks, "explain", ExplainTab::pseudo_code, parse_explain_tab,
                             "pseudo_code or cuda_source");
    view.memory_tab =
        named(looks, "memory", MemoryTab::memory, parse_memory_tab, "memory or warps");
    view.softmax_tab =
        named(looks, "softmax", SoftmaxTab::row, parse_softmax_tab, "row or why_online");
    view.timeline_tab =
        named(looks, "timeline", TimelineTab::operations, parse_timeline_tab, "operations or sms");
    view.ledger_scope =
        named(looks, "ledger", LedgerScope::so_far, parse_ledger_scope, "so_far or whole_pass");
    view.chart =
        named(looks, "charts", ChartChoice::bytes, parse_chart,
              "bytes, time, memory, error, io_seq_len, io_head_dim, io_sram, io_block_cols, "
              "io_density, fusion, fusion_figure2, model_training or model_inference");
    view.large_chart = looks.boolean_or("large_chart", false);
    view.error_carry = named(looks, "error_carry", Carry::fp32, parse_carry, "problem or fp32");
  }
}

Result<Scene> scene_from(Result<json> document, std::string_view name) {
  if (!document) return document.error();
  if (const auto error = check_schema(document.value(), kSchema, kVersion, name)) return *error;

  Scene scene;
  scene.name = std::filesystem::path(name).stem().string();
  scene.path = name;
  scene.source = std::make_shared<const json>(std::move(document.value()));
  try {
    const JsonObject root(*scene.source, "");
    scene.title = short_text(root, "title", scene.name);
    read_choice(root, std::filesystem::path(name).parent_path(), scene.view.choice);
    read_view(root, scene.view);
  } catch (const JsonFieldError& error) {
    return invalid_request(fmt::format("{}: {}", name, error.what()));
  }
  return scene;
}

/// Sets the field, or takes it away.
void set_optional(json& document, const char* field, std::optional<json> value) {
  if (document.is_object()) document.erase(field);
  if (value) document[field] = std::move(*value);
}

}  // namespace

Result<Scene> parse_scene(std::string_view text, std::string_view name) {
  return scene_from(parse_json(text, name), name);
}

Result<Scene> load_scene(std::string_view name_or_path) {
  const Result<std::filesystem::path> path = find_asset("scenes", name_or_path);
  if (!path) return path.error();
  return scene_from(read_json_file(path.value()), path.value().string());
}

std::string scene_text(const Scene& scene) {
  const ViewState& view = scene.view;
  json document = scene.source ? *scene.source : json::object();
  document["schema"] = fmt::format("{}/{}", kSchema, kVersion);
  document["title"] = scene.title;
  for (const char* field :
       {"softcap", "alibi", "dropout", "key_lengths", "cu_seqlens_q", "cu_seqlens_k"}) {
    set_optional(document["problem"], field, std::nullopt);
  }
  document["problem"].update(problem_to_json(view.choice.problem));
  document["algorithm"] = view.choice.algorithm;
  document["pass"] = view.choice.pass;
  document["tiling"].update(tiling_to_json(view.choice.tiling));
  document["carry"] = to_string(view.choice.carry);
  set_optional(document, "block_mask",
               view.choice.block_mask ? std::optional(json(to_string(*view.choice.block_mask)))
                                      : std::nullopt);
  const auto set_if = [&](const char* field, bool set, json value) {
    set_optional(document, field, set ? std::optional(std::move(value)) : std::nullopt);
  };
  set_if("skip_unused_kv", view.choice.skip_unused_kv, true);
  set_if("splits", view.choice.splits > 0, view.choice.splits);
  set_if("separate_heads", view.choice.separate_heads, true);
  set_if("sram_bytes", view.choice.sram_bytes > 0, view.choice.sram_bytes);
  set_if("l2_bytes", view.choice.l2_bytes > 0, view.choice.l2_bytes);
  set_if("allow_overflow", view.choice.allow_overflow, true);
  set_if("round_to_storage", !view.choice.round_to_storage, false);
  set_if("variant", !(view.choice.variant == ScheduleVariant{}),
         variant_to_json(view.choice.variant));
  set_optional(document, "race",
               view.race ? std::optional(json{{"against", view.race->rival},
                                              {"clock", to_string(view.race->clock)},
                                              {"tick", view.race_tick}})
                         : std::nullopt);
  document["gpu"] = view.choice.gpu;
  document["inputs"].update(
      json{{"kind", to_string(view.choice.inputs.kind)}, {"seed", view.choice.inputs.seed}});
  const InputFiles& files = view.choice.files;
  const std::pair<const char*, const std::string*> paths[] = {
      {"q", &files.Q}, {"k", &files.K}, {"v", &files.V}, {"do", &files.dO}};
  for (const auto& [field, path] : paths) {
    set_optional(document["inputs"], field,
                 path->empty() ? std::nullopt
                               : std::optional(json(std::filesystem::absolute(*path).string())));
  }
  document["playhead"].update(json{
      {"step", view.step}, {"granularity", to_string(view.granularity)}, {"speed", view.speed}});
  document["view"].update(json{{"query_row", view.query_row},
                               {"O_column", view.O_column},
                               {"head", view.head},
                               {"theme", to_string(view.theme)},
                               {"presenter", view.presenter},
                               {"explain", to_string(view.explain_tab)},
                               {"ledger", to_string(view.ledger_scope)},
                               {"charts", to_string(view.chart)},
                               {"large_chart", view.large_chart},
                               {"error_carry", to_string(view.error_carry)},
                               {"memory", to_string(view.memory_tab)},
                               {"softmax", to_string(view.softmax_tab)},
                               {"timeline", to_string(view.timeline_tab)}});
  return document.dump(2) + "\n";
}

std::optional<Error> save_scene(const Scene& scene, const std::filesystem::path& path) {
  return write_file_atomically(path, scene_text(scene));
}

}  // namespace attnscope::app
