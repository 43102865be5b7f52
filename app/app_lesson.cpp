/// The lesson and the quiz on the screen: their runs and panels, and the position of the playhead.
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "app/app.h"

namespace attnscope::app {

namespace {

// Speed of the playhead as it moves to a step's place, and limits on the duration of the move
constexpr double kGlideOpsPerSecond = 12.0;
constexpr double kShortestGlide_s = 0.6;
constexpr double kLongestGlide_s = 3.0;

bool moves_playhead(const Command& command) {
  return std::holds_alternative<SeekTo>(command) || std::holds_alternative<SeekToEnd>(command) ||
         std::holds_alternative<SeekThing>(command) || std::holds_alternative<StepBy>(command) ||
         std::holds_alternative<SeekTick>(command) || std::holds_alternative<TogglePlay>(command);
}

/// The axis of the charts for a field of a run.
std::optional<ChartAxis> axis_of(const RunField& field) {
  constexpr std::pair<std::string_view, ChartAxis> kAxes[] = {
      {"seq-len", ChartAxis::seq_len},
      {"heads", ChartAxis::heads},
      {"head-dim", ChartAxis::head_dim},
      {"sram-bytes", ChartAxis::sram},
      {"block-cols", ChartAxis::block_size}};
  const auto found =
      std::ranges::find(kAxes, field.option, [](const auto& each) { return each.first; });
  return found == std::end(kAxes) ? std::nullopt : std::optional(found->second);
}

/// The axis of the field in which a run of the answer differs from the run that it is derived from;
/// N if there is none.
ChartAxis axis_between(const lessons::Expression& answer, const lessons::Lesson& lesson) {
  const std::vector<std::string> runs = answer.runs();
  for (const std::string& name : runs) {
    const lessons::RunRecipe& run = *lesson.find_run(name);
    if (std::ranges::find(runs, run.from) == runs.end()) continue;
    for (const lessons::FieldValueText& set : run.set) {
      if (const auto axis = axis_of(*set.field)) return *axis;
    }
  }
  return ChartAxis::seq_len;
}

/// The chart of the requested quantity, over the field in which the question's runs differ or over
/// its curve's field; the chart of bytes over shared memory or tiles is that of the IO theorems.
std::optional<ChartChoice> chart_of(const lessons::Question& question,
                                    const lessons::Lesson& lesson) {
  const auto* curve = std::get_if<lessons::CurveQuestion>(&question.kind);
  const auto* number = std::get_if<lessons::NumberQuestion>(&question.kind);
  if (curve == nullptr && number == nullptr) return std::nullopt;
  const lessons::Expression& answer = curve != nullptr ? curve->answer : number->answer;
  const ChartAxis axis = curve != nullptr ? axis_of(*curve->over).value_or(ChartAxis::seq_len)
                                          : axis_between(answer, lesson);
  if (axis == ChartAxis::sram || axis == ChartAxis::block_size) {
    return ChartChoice{ChartQuantity::theorems, axis};
  }
  const auto has = [paths = answer.paths()](std::string_view part) {
    return std::ranges::any_of(paths, [part](const lessons::Path& path) {
      return !path.parts.empty() && path.parts.front().key == part;
    });
  };
  if (has("time")) return ChartChoice{ChartQuantity::time, axis};
  if (has("memory")) return ChartChoice{ChartQuantity::memory, axis};
  return has("traffic") ? std::optional(ChartChoice{ChartQuantity::bytes, axis}) : std::nullopt;
}

/// Selects the tabs of the step's panels; if two panels share a place, the first panel's tab.
void show_tabs(const lessons::Step& step, const lessons::Lesson& lesson, ViewState& view) {
  const std::vector<std::string>& panels = step.show.panels;
  for (auto panel = panels.rbegin(); panel != panels.rend(); ++panel) {
    if (const auto tab = parse_name<MemoryTab>(*panel)) view.memory_tab = *tab;
    if (*panel == "online_softmax") view.softmax_tab = SoftmaxTab::row;
    if (*panel == "why_online") view.softmax_tab = SoftmaxTab::why_online;
  }
  view.ledger_scope = LedgerScope::whole_pass;
  view.timeline_tab = TimelineTab::sms;
  view.explain_tab = ExplainTab::pseudo_code;
  if (!step.ask) return;
  const ChartChoice chart = chart_of(*step.ask, lesson).value_or(shown_chart(view));
  view.chart = chart.quantity;
  view.chart_over = chart.over;
}

}  // namespace

void App::run_lesson(double elapsed_s) {
  leave_lesson_of_another_run();
  lesson_player.update();
  if (std::string error = lesson_player.take_error(); !error.empty()) show_notice(std::move(error));
  if (!lesson_player.is_open()) {
    glide_.reset();
    const auto race = std::exchange(lesson_race_, std::nullopt);
    if (race && view.race == race) view.race.reset();
    view.hidden.clear();
    view.shows_query_row = true;
    restore_tabs();
  }
  if (opening_ && !first_error_) return;  // wait until the scene is open
  const LessonPlayer::Cue cue = lesson_player.take_cue();
  if (cue.enters) enter_lesson_step();
  if (cue.reveals) reveal_lesson_step();
  view.hides_effect = lesson_player.hides_answer();
  glide(elapsed_s);
}

/// Restores the tabs that the lesson has changed.
void App::restore_tabs() {
  const auto before = std::exchange(before_lesson_, std::nullopt);
  if (!before) return;
  view.memory_tab = before->memory_tab;
  view.softmax_tab = before->softmax_tab;
  view.timeline_tab = before->timeline_tab;
  view.explain_tab = before->explain_tab;
  view.ledger_scope = before->ledger_scope;
  view.chart = before->chart;
  view.chart_over = before->chart_over;
}

/// Ends the lesson if the user has chosen another run: its questions are about the step's runs.
void App::leave_lesson_of_another_run() {
  if (!lesson_player.is_open()) lesson_run_.reset();
  if (!lesson_run_ || opening_) return;
  if (shown_choice() == *lesson_run_ && view.race == lesson_race_) return;
  lesson_run_.reset();
  lesson_player.act(LessonPlayer::Action::leave);
  show_notice("left the lesson: another run was chosen");
}

/// Shows the run and the panels of the step, with the playhead at the place of its question.
void App::enter_lesson_step() {
  const PreparedStep& step = *lesson_player.prepared();
  const lessons::Show& show = lesson_player.current().show;
  if (!before_lesson_) before_lesson_ = view;
  end_search();
  glide_.reset();
  lesson_step_.reset();
  choose(step.run);
  lesson_run_ = step.run;
  lesson_race_.reset();
  if (step.beside) lesson_race_ = Race{*step.beside, RaceClock::tiles};
  view.race = lesson_race_;
  if (view.race) glide_ = Glide{.to = step.start, .from = step.start};  // once there is a clock
  view.playing = false;
  view.enlarged.reset();
  view.step = step.start;
  player_.restart();
  view.shows_query_row = show.query_row.has_value();
  if (show.query_row) view.query_row = *show.query_row;
  view.hidden.clear();
  for (const std::string& name : show.hidden) view.hidden.insert(*parse_name<PanelPart>(name));
  show_tabs(lesson_player.current(), lesson_player.lesson(), view);
}

/// Shows what follows the answer: another run, or a place to which the playhead moves.
void App::reveal_lesson_step() {
  if (const auto& revealed = lesson_player.prepared()->revealed) {
    choose(*revealed);
    lesson_run_ = *revealed;
    view.step = 0;
  }
  const auto step = lesson_player.outcome()->step;
  const auto from = glide_ ? std::optional(glide_->to)
                           : std::nullopt;  // the playhead is not yet at the move's start
  if (step) glide_ = Glide{.to = *step, .from = from};
}

/// Moves the playhead towards the place of the step; if the app has no clock, jumps there. Two runs
/// move together: from operation to operation if both have the same ones, else by their common
/// clock, from tile to tile.
void App::glide(double elapsed_s) {
  if (!glide_ || pending_ || !shown_->snapshot) return;
  const RunInfo& run = *shown_->snapshot->run;
  const auto rival = rival_snapshot();
  const bool has_course = course_ && rival &&
                          rival_published_->request.choice == view.race->rival &&
                          course_->is_of(shown_->snapshot->run, rival->run, view.race->clock);
  if (view.race && !has_course) return;
  const bool by_clock = view.race && run.tile_steps != rival->run->tile_steps;
  const auto place_of = [&](Index step) {
    const Index at = clamp_step(run, step);
    return by_clock ? course_->tick_of(RaceCourse::chosen, at) : at;
  };
  if (!glide_->from) glide_->from = view.step;
  const Index begin = place_of(*glide_->from);
  const auto way = static_cast<double>(place_of(glide_->to) - begin);
  const double duration_s =
      std::clamp(std::abs(way) / kGlideOpsPerSecond, kShortestGlide_s, kLongestGlide_s);
  glide_->elapsed_s += elapsed_s;
  const bool moves = elapsed_s > 0.0 && way != 0.0;
  const double share = moves ? std::min(glide_->elapsed_s / duration_s, 1.0) : 1.0;
  const Index place = begin + static_cast<Index>(std::lround(share * way));
  view.playing = false;
  if (by_clock) {
    lesson_step_.reset();
    view.race_tick = place;
  } else if (view.race) {
    lesson_step_ = place;
    view.race_tick = course_->tick_of(RaceCourse::chosen, place);
  } else {
    view.step = place;
  }
  if (share >= 1.0) glide_.reset();
}

/// Whether the lesson consumes the command. While it asks for a tile, a click in SCORES chooses
/// one, and the playhead does not move, because it would show the answer.
bool App::lesson_takes(const Command& command) {
  if (!moves_playhead(command)) return false;
  glide_.reset();
  lesson_step_.reset();
  if (!lesson_player.hides_answer()) return false;
  const auto& question = lesson_player.current().ask->kind;
  if (!std::holds_alternative<lessons::TileQuestion>(question)) return false;
  const auto* seek = std::get_if<SeekThing>(&command);
  const auto* tile = seek != nullptr ? std::get_if<ScoreTile>(&seek->thing) : nullptr;
  if (tile != nullptr && lesson_player.phase() == LessonPlayer::Phase::asking) {
    const Tiling& tiling = seek->run->tiling();
    lesson_player.draft.tile =
        lessons::TilePlace{tile->area.rows.begin / tiling.Br, tile->area.cols.begin / tiling.Bc};
    lesson_player.draft.error.clear();
  }
  return true;
}

void App::begin_quiz(std::uint64_t seed) {
  lesson_player.act(LessonPlayer::Action::leave);
  view.race.reset();
  view.playing = false;
  view.enlarged.reset();
  view.explain_tab = ExplainTab::pseudo_code;
  view.memory_tab = MemoryTab::memory;
  view.softmax_tab = SoftmaxTab::row;
  const Request asked = wanted();
  quiz_run_ = asked.choice;
  quiz.start(asked.choice, asked.head, seed);
}

/// Shows the quiz's run; any other choice by the user ends the quiz.
void App::run_quiz() {
  if (quiz.is_open() && !(wanted_choice() == quiz_run_)) quiz.close();
  quiz.update(gpus);
  if (std::string error = quiz.take_error(); !error.empty()) show_notice(std::move(error));
  if (auto run = quiz.take_run()) {
    choose(*run);
    view.step = 0;
    player_.restart();
    quiz_run_ = std::move(*run);
  }
  if (lesson_player.is_open() || view.race) quiz.close();
  view.hides_break = quiz.hides_break();
}

void App::list_lessons() {
  files_.post([this, progress = lesson_player.progress_file()] {
    std::vector<ListedLesson> read;
    const lessons::Progress kept(progress);
    for (const lessons::ShippedLesson& shipped : lessons::list_shipped_lessons()) {
      if (!shipped.lesson) continue;
      const lessons::Lesson& lesson = shipped.lesson.value();
      const auto asks = [](const lessons::Step& step) { return step.ask.has_value(); };
      const lessons::LessonProgress progress_so_far = kept.find(lesson);
      const bool begun = progress_so_far.step > 0 || !progress_so_far.answered.empty();
      read.push_back(
          {.name = lesson.name,
           .title = lesson.title,
           .questions = static_cast<std::size_t>(std::ranges::count_if(lesson.steps, asks)),
           .right = progress_so_far.right.size(),
           .steps = lesson.steps.size(),
           .step = begun ? std::optional(progress_so_far.step) : std::nullopt});
    }
    return [this, read = std::move(read)] { listed.lessons = read; };
  });
}

}  // namespace attnscope::app
