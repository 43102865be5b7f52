#include "app/cli/outputs.h"

#include <fmt/core.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/option_files.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/study_json.h"
#include "app/report/interruption.h"
#include "app/report/report_text.h"
#include "reference/files/file_identity.h"
#include "reference/message_text.h"
#include "reference/npy.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

namespace {

Error cannot_be_written(std::string_view option, const std::string& path, std::string_view reason,
                        std::string_view accepted) {
  return invalid_request("--{} '{}' cannot be written: {}; give {}", option, printable(path),
                         reason, accepted);
}

}  // namespace

bool is_stream(const std::string& path) {
  return path == "-" || (!path.empty() && is_written_in_place(path));
}

std::optional<Error> check_writable(const GivenOptions& given, std::string_view option,
                                    std::string_view accepted) {
  const auto given_path = given.text(option);
  if (!given_path || *given_path == "-") return std::nullopt;
  const std::string reason = reason_not_writable(*given_path);
  if (reason.empty()) return std::nullopt;
  return cannot_be_written(option, *given_path, reason, accepted);
}

namespace {

/// Why the file of a tensor cannot be replaced or created; empty if it can.
std::string reason_against(const fs::path& tensor) {
  std::error_code ignored;
  const fs::file_status status = fs::status(tensor, ignored);
  const bool is_special = fs::exists(status) && !fs::is_regular_file(status);
  if (is_special && !fs::is_directory(status)) return "it is not a regular file";
  return reason_not_writable(tensor);
}

}  // namespace

std::optional<Error> check_folder(const GivenOptions& given, std::string_view option) {
  const auto given_path = given.text(option);
  if (!given_path) return std::nullopt;
  const auto refuse = [&](std::string_view reason) {
    return cannot_be_written(option, *given_path, reason, "a writable folder");
  };
  if (given_path->empty()) return refuse("the name is empty");
  if (*given_path == "-") return refuse("several files cannot go to standard output");
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(*given_path, error), error);
  if (error) return refuse(error.message());
  fs::path ancestor = folder;
  if (fs::exists(ancestor, error) && !fs::is_directory(ancestor, error)) {
    return refuse("it is not a folder");
  }
  while (!fs::exists(ancestor, error) && ancestor != ancestor.parent_path()) {
    ancestor = ancestor.parent_path();
  }
  if (!fs::is_directory(ancestor, error)) return refuse("a part of its path is not a folder");
  const std::error_code reason = check_can_write(ancestor / ".attnscope");
  if (reason) return refuse(reason.message());
  if (ancestor != folder) return std::nullopt;
  for (const std::string_view name : kTensorNames) {
    const std::string against = reason_against(tensor_file(folder, name));
    if (!against.empty()) return refuse(fmt::format("{}.npy: {}", name, against));
  }
  return std::nullopt;
}

Result<std::string> parse_output(const GivenOptions& given, std::string_view option) {
  if (auto error = check_writable(given, option)) return *error;
  const std::string path = given.text(option).value_or("");
  return !path.empty() && is_standard_output(path) ? "-" : path;
}

Result<OutputFiles> parse_outputs(const GivenOptions& given) {
  OutputFiles files;
  ATTNSCOPE_TRY(files.json, parse_output(given, "json"));
  ATTNSCOPE_TRY(files.csv, parse_output(given, "csv"));
  return files;
}

Document text_document(std::string path, std::string text) {
  return {std::move(path), [text = std::move(text)](FileWriter& output) -> std::optional<Error> {
            output.write(text);
            return std::nullopt;
          }};
}

namespace {

/// Writes the document to the file, or to standard output ("-").
std::optional<Error> write_to(const std::string& path, const Document& document) {
  auto output = path == "-" ? FileWriter::standard_output() : FileWriter::open(path);
  if (!output) return output.error();
  auto error = document.write(output.value());
  if (error && error->kind == Error::Kind::invalid_request) return error;
  // The error from finish() says why
  auto unsaved = output.value().finish();
  return unsaved ? unsaved : error;
}

}  // namespace

std::optional<Error> print_output(std::string_view text) {
  return write_to("-", text_document("-", std::string(text)));
}

std::optional<Error> write_documents(const std::vector<Document>& documents,
                                     const std::function<std::string()>& text,
                                     std::optional<Error> failure) {
  const auto add_failure = [&](Error error) {
    if (failure) error.message = fmt::format("{}; {}", failure->message, error.message);
    failure = std::move(error);
  };
  const Document* unsaved = nullptr;
  for (const Document& document : documents) {
    if (document.path.empty()) continue;
    auto error = write_to(document.path, document);
    if (!error) continue;
    if (error->kind == Error::Kind::invalid_request) return error;
    if (document.is_text && unsaved == nullptr) unsaved = &document;
    add_failure(*std::move(error));
  }
  const bool is_taken = std::ranges::find(documents, "-", &Document::path) != documents.end();
  if (is_taken) return failure;
  auto unprinted = unsaved != nullptr ? write_to("-", *unsaved) : print_output(text());
  if (unprinted) add_failure(*std::move(unprinted));
  return failure;
}

std::string json_text(const ordered_json& document) {
  // Names given by the user may be in any encoding
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Answer answer_of(const Study& study, const GivenOptions& given) {
  return {given.has("json") ? json_text(study_json(study)) : "",
          given.has("csv") ? csv_text(csv_rows(study)) : "", to_text(study), std::nullopt};
}

std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer) {
  std::vector<Document> documents = answer.others;
  documents.push_back(text_document(files.json, answer.json));
  documents.push_back(text_document(files.csv, answer.csv));
  return write_documents(
      documents, [&] { return answer.text; }, answer.failure);
}

std::vector<OptionSpec> output_options() {
  return {
      {"json", "FILE", "write JSON; - means standard output, with nothing else on it", false,
       writes_file()},
      {"csv", "FILE", "write CSV; - means standard output, with nothing else on it", false,
       writes_file()},
  };
}

OptionSpec markdown_option() {
  return {"markdown", "FILE", "write Markdown; - means standard output, with nothing else on it",
          false, writes_file()};
}

namespace {

/// Adds --json and --csv to the command, which writes the results that `answer` returns.
CommandSpec writing(CommandSpec command,
                    std::function<Result<Answer>(const GivenOptions&)> answer) {
  for (OptionSpec& option : output_options()) command.options.push_back(std::move(option));
  command.run = [answer = std::move(answer)](const GivenOptions& given) -> std::optional<Error> {
    ATTNSCOPE_TRY(const auto outputs, parse_outputs(given));
    const auto result = answer(given);
    clear_progress();
    return result ? write_outputs(outputs, result.value()) : result.error();
  };
  return command;
}

}  // namespace

CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&)) {
  return writing(std::move(command), answer);
}

CommandSpec answering(CommandSpec command, Result<Study> (*study)(const GivenOptions&)) {
  CommandSpec spec =
      writing(std::move(command), [study](const GivenOptions& given) -> Result<Answer> {
        // Report an unwritable file before the work starts
        ATTNSCOPE_TRY(const auto path, parse_output(given, "markdown"));
        ATTNSCOPE_TRY(const auto result, study(given));
        Answer answer = answer_of(result, given);
        if (!path.empty()) answer.others = {text_document(path, to_markdown(result))};
        return answer;
      });
  spec.options.push_back(markdown_option());
  return spec;
}

std::optional<Error> check_host_memory(const AttentionProblem& problem) {
  // Five tensors have the size of Q: Q, dO, O, O's reference and the yardstick of its error. Four
  // have the size of K: K, V and their transposed copies.
  const double heads = static_cast<double>(problem.batch) * static_cast<double>(problem.heads);
  const double kv_heads =
      static_cast<double>(problem.batch) * static_cast<double>(problem.kv_heads);
  const double d = static_cast<double>(problem.d);
  const double elems = 5.0 * heads * static_cast<double>(problem.N) * d +
                       4.0 * kv_heads * static_cast<double>(problem.N_kv) * d;
  const double needed_bytes = elems * static_cast<double>(sizeof(double));

  const double machine_bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed_bytes <= machine_bytes) return std::nullopt;
  return invalid_request(
      "the values of this problem need {} of memory, and this machine has {}; simulate without "
      "--check, --out and --q counts at any size",
      bytes_text(needed_bytes), bytes_text(machine_bytes));
}

std::optional<Error> write_tensor_files(
    const std::filesystem::path& folder,
    std::initializer_list<std::pair<std::string_view, const HeadTensor&>> tensors) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failed("cannot create {}: {}", folder.string(), error.message());
  for (const auto& [name, tensor] : tensors) {
    std::vector<Index> shape = {tensor.batch, tensor.heads, tensor.rows, tensor.cols};
    if (name == "lse") shape.pop_back();
    if (auto failure = write_npy(tensor_file(folder, name).string(), shape, tensor.data)) {
      return failure;
    }
  }
  return std::nullopt;
}

namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return (std::ostringstream() << std::quoted(text, '"', '"')).str();
}

/// Calls `add` with the column and the text of every cell of the value, which is at `path`.
template <typename Add>
void flatten(const ordered_json& value, const std::string& path, const Add& add) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(member, path.empty() ? key : fmt::format("{}.{}", path, key), add);
    }
  } else if (value.is_string()) {
    add(path, value.get<std::string>());
  } else if (!value.is_array()) {
    add(path, value.is_null() ? "" : value.dump());
  }
}

}  // namespace

bool CsvTable::add(const ordered_json& row) {
  Cells& cells = rows_.emplace_back();
  const std::size_t known = columns_.size();
  flatten(row, "", [&](const std::string& column, const std::string& text) {
    cells.emplace(column, text);
    if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
  });
  return columns_.size() > known;
}

std::string CsvTable::line_of(const Cells& cells) const {
  std::string line;
  for (const std::string& column : columns_) {
    if (&column != &columns_.front()) line += ',';
    const auto cell = cells.find(column);
    if (cell != cells.end()) line += csv_cell(cell->second);
  }
  return line + "\n";
}

std::string CsvTable::text() const {
  Cells names;
  for (const std::string& column : columns_) names[column] = column;
  std::string text = line_of(names);
  for (const Cells& cells : rows_) text += line_of(cells);
  return text;
}

std::string csv_text(const ordered_json& rows) {
  CsvTable table;
  for (const ordered_json& row : rows) table.add(row);
  return table.text();
}

std::optional<Error> RowFiles::add(const ordered_json& row) {
  constexpr std::string_view kEnd = "\n]\n";
  std::string text = json_text(ordered_json::array({row}));
  const bool is_first = json_.size() == 0;
  if (!is_first) text.front() = ',';  // replaces the bracket that opens the list
  if (auto error = json_.write(is_first ? 0 : json_.size() - kEnd.size(), text)) return error;
  if (table_.add(row)) return csv_.write(0, table_.text());
  return csv_.write(csv_.size(), table_.last_line());
}

std::optional<Error> RowFiles::finish() {
  auto error = json_.finish();
  auto csv_error = csv_.finish();
  return error ? error : csv_error;
}

}  // namespace attnscope::cli
