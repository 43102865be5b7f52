#include "app/screen/race_fields.h"

#include "app/app.h"
#include "reference/algorithm.h"

namespace attnscope::app {

void draw_race_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const std::string shown = app.view.race ? app.view.race->rival : "off";
  const ComboBox combo(frame, "race", box, shown);
  if (!combo.open()) return;
  if (combo.option("off", !app.view.race, "off")) app.commands.push(ChooseRace{});
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    const bool has_pass = app.view.choice.pass == PassKind::forward || algorithm.has_backward;
    const std::string text = has_pass ? name : name + " (no backward pass)";
    if (!combo.option(text, name == shown, name, std::string(algorithm.summary))) continue;
    if (!has_pass) {
      app.commands.push(ShowNotice{name + " has no backward pass to race with"});
    } else {
      app.commands.push(ChooseRace{Race{name, app.view.race ? app.view.race->clock : RaceClock{}}});
    }
  }
}

void draw_race_clock_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const RaceClock shown = app.view.race ? app.view.race->clock : RaceClock::requested_bytes;
  const auto words = [](RaceClock clock) {
    return clock == RaceClock::tiles ? "tile visits" : "requested bytes";
  };
  const ComboBox combo(frame, "race_clock", box, words(shown));
  if (!combo.open()) return;
  for (const RaceClock clock : {RaceClock::requested_bytes, RaceClock::tiles}) {
    const std::string help = clock == RaceClock::tiles
                                 ? "both have visited as many tiles of S, P, dP or dS; an "
                                   "algorithm of several launches visits each "
                                   "of them several times"
                                 : "both have requested as many bytes";
    if (!combo.option(words(clock), clock == shown, std::string(to_string(clock)), help)) continue;
    if (app.view.race) app.commands.push(ChooseRace{Race{app.view.race->rival, clock}});
    if (!app.view.race) app.commands.push(ShowNotice{"choose an algorithm to race against first"});
  }
}

}  // namespace attnscope::app
