#include <nlohmann/json.hpp>

#include "app/program.h"
#include "reference/json/run_json.h"

namespace attnscope::app {

using nlohmann::json;

std::string ui_as_json(const App& app, const NamedRects& rects, int width, int height) {
  const ViewState& view = app.view;
  json places = json::object();
  for (const auto& [name, rect] : rects.all()) {
    places[name] = {rect.min.x, rect.min.y, rect.max.x, rect.max.y};
  }
  const auto snapshot = app.snapshot();
  json state{{"step", view.step},
             {"playing", view.playing},
             {"speed", view.speed},
             {"granularity", to_string(view.granularity)},
             {"theme", to_string(view.theme)},
             {"presenter", view.presenter},
             {"chart", to_string(view.chart)},
             {"large_chart", view.large_chart},
             {"show_keys", view.show_keys},
             {"scene", app.scene.name}};
  store_run(view.choice, state);
  if (snapshot) {
    state["shown_step"] = snapshot->step;
    state["step_count"] = snapshot->run->step_count;
  }
  if (const RaceCourse* course = app.course()) {
    state["race"] = {{"against", view.race->rival},
                     {"tick", view.race_tick},
                     {"last_tick", course->last_tick()},
                     {"rival_step", course->step_of(RaceCourse::rival, view.race_tick)}};
  }
  if (app.refused) {
    state["refused"] = {{"field", app.refused->field},
                        {"message", app.refused->message},
                        {"nearest", app.refused->nearest_label}};
  }
  if (app.notice) state["notice"] = app.notice->text;
  const json document{{"schema", "attnscope.ui/1"},
                      {"window", {{"width", width}, {"height", height}}},
                      {"state", state},
                      {"rects", places}};
  return document.dump(2);
}

}  // namespace attnscope::app
