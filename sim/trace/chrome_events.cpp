#include "sim/trace/chrome_events.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attnscope {

std::string json_text(std::string_view text) {
  // Names of files may be in any encoding
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Index ps) {
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

std::string slice_times(Index begin_ps, Index end_ps) {
  const auto whole_ns = [](Index ps) { return (ps + 500) / 1000; };
  const Index begin_ns = whole_ns(begin_ps);
  const Index length_ns = whole_ns(end_ps) - begin_ns;
  return fmt::format(R"("ts":{}.{:03},"dur":{}.{:03})", begin_ns / 1000, begin_ns % 1000,
                     length_ns / 1000, length_ns % 1000);
}

ChromeEvents::ChromeEvents(const Header& header, TextSink sink) : sink_(std::move(sink)) {
  good_ = sink_(fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"schema\":\"attnscope.trace/1\",\"run\":{},"
      "\"kind\":{},\"clock\":{}}},\n\"traceEvents\":[\n",
      json_text(header.run), json_text(header.kind), json_text(header.clock)));
}

void ChromeEvents::write(const std::string& event) {
  good_ = good_ && sink_(count_ == 0 ? event : ",\n" + event);
  ++count_;
}

void ChromeEvents::name_process(Index pid, std::string_view name) {
  if (!named_.insert({pid, -1}).second) return;
  write(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
                    json_text(name)));
  write(fmt::format(
      R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", pid, pid));
}

void ChromeEvents::name_track(Index pid, int tid, std::string_view name) {
  if (!named_.insert({pid, tid}).second) return;
  write(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    pid, tid, json_text(name)));
}

void ChromeEvents::name_sm_track(Index sm, int tid, std::string_view name) {
  name_process(sm + 1, fmt::format("SM {}", sm));
  name_track(sm + 1, tid, name);
}

bool ChromeEvents::finish() {
  good_ = good_ && sink_("\n]}\n");
  return good_;
}

}  // namespace attnscope
