// Serve prediction intervals from a model file, with widthwise::core and nlohmann-json only: serve MODEL LEVEL THREADS
//
// Reads one JSON object per line and answers each with one line, in any order:
//
//   {"id": 7, "row": {"size": 120, "town": "Bonn"}}   the prediction and its bounds (null: unbounded)
//   {"id": 7, "outcome": 310}                         the coverage so far; outcomes may arrive any time later
//
// An id is a text or a whole number below 2^64. A line has at most a megabyte and few levels. At most 100,000 rows wait
// for their outcomes; then the oldest is dropped.
//
// Columns are found by name, and null is a missing value. A new model file is loaded when it replaces the old one;
// "model" in the answers counts the files. The model has neither groups nor weights.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/labels.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/online.hpp>

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxLine = 1 << 20;
constexpr int kMaxDepth = 8;

/// Parse a line; what nests deeper than any request is not read to its end.
Json parse(const std::string& line) {
  if (line.size() > kMaxLine)
    throw std::invalid_argument("the line is longer than " + std::to_string(kMaxLine) + " bytes");
  const auto check = [](int depth, Json::parse_event_t, const Json&) {
    if (depth <= kMaxDepth) return true;
    throw std::invalid_argument("the line has more than " + std::to_string(kMaxDepth) + " levels");
  };
  const Json request = Json::parse(line, check, false);
  if (!request.is_object()) throw std::invalid_argument("the line is not a JSON object");
  return request;
}

/// The number in a column: that of its category if the column has categories; NaN if it is missing or a new category.
double number_of(const Json& row, const std::string& column, const widthwise::Labels& categories = {}) {
  const auto cell = row.find(column);
  if (cell == row.end()) throw std::invalid_argument("the row has no column '" + column + "'");
  if (cell->is_null()) return std::nan("");
  if (categories.size() > 0) {
    const std::string text = cell->is_string() ? cell->get<std::string>() : cell->dump();
    return categories.number_of(widthwise::label_of_text(text).value_or(""));
  }
  if (cell->is_number()) return cell->get<double>();
  throw std::invalid_argument("'" + column + "' is " + cell->dump() + "; expected a number or null");
}

/// A model in use, and the coverage of its intervals.
struct Served {
  std::uint64_t number;
  widthwise::Model model;
  widthwise::OnlineCalibration online;
};

/// A row that was answered and waits for its outcome. It keeps the model that answered it in memory.
struct Answered {
  std::shared_ptr<Served> served;
  std::vector<double> x = {};
  std::vector<double> predictions = {};  // empty if the model has a base model
  widthwise::PredictedInterval interval = {};
  std::uint64_t batch = 0;
  std::uint64_t age = 0;  // its key in Service::ages_
};

class Service {
 public:
  Service(const char* file, const char* level) : file_(file), level_(widthwise::Level::parse(level)) {
    reload_if_changed();
  }

  /// Load the model file when it changes. If it is damaged, the old model stays in use.
  void watch(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      try {
        reload_if_changed();
      } catch (const std::exception& error) {
        std::cerr << "serve: " << error.what() << "; the old model stays in use\n";
      }
    }
  }

  /// Answer lines until there are no more.
  void work() {
    for (std::string line; next(line);) {
      const std::string text = answer(line).dump();
      const std::lock_guard lock(output_);
      std::cout << text << '\n' << std::flush;
    }
  }

 private:
  void reload_if_changed() {
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(file_, missing);
    if (written == written_) return;
    written_ = written;  // so that a damaged file is reported once
    const widthwise::Model model = widthwise::load(file_);
    const widthwise::OnlineCalibration online(model.parts().calibration, {level_});
    served_ = std::make_shared<Served>(Served{++loads_, model, online});
  }

  /// Read a line; of a line that is too long, keep enough to see that.
  bool next(std::string& line) {
    const std::lock_guard lock(input_);
    line.clear();
    int letter = std::cin.get();
    if (letter == EOF) return false;
    for (; letter != EOF && letter != '\n'; letter = std::cin.get()) {
      if (line.size() <= kMaxLine) line += static_cast<char>(letter);
    }
    return true;
  }

  /// No line stops the service: what is wrong with it is the answer.
  Json answer(const std::string& line) {
    Json id;
    try {
      const Json request = parse(line);
      id = request.value("id", Json());
      if (!id.is_number_integer() && !id.is_string()) {
        throw std::invalid_argument("expected an \"id\": a text or a whole number below 2^64");
      }
      if (request.contains("outcome")) return observe(id, number_of(request, "outcome"));
      if (request.contains("row") && request["row"].is_object()) return predict(id, request["row"]);
      throw std::invalid_argument("expected an object \"row\" or a number \"outcome\"");
    } catch (const std::exception& error) {
      return {{"id", id}, {"error", error.what()}};
    }
  }

  Json predict(const Json& id, const Json& row) {
    Answered answered{served_};  // the same model to the end, also if another one is loaded now
    const widthwise::Model& model = answered.served->model;
    for (const std::string& column : model.parts().features) {
      answered.x.push_back(number_of(row, column, model.categories_of(answered.x.size())));
    }
    for (const std::string& column : model.prediction_columns()) answered.predictions.push_back(number_of(row, column));
    std::optional<widthwise::RowPrediction> given;
    if (const auto& f = answered.predictions; !f.empty()) given.emplace(f[0]);
    if (const auto& f = answered.predictions; f.size() == 2) given.emplace(f[0], f[1]);
    answered.interval = model.predict(answered.x, level_, given);
    const auto [prediction, lower, upper] = answered.interval;
    const std::uint64_t number = answered.served->number;

    const std::lock_guard lock(monitor_);
    const std::string key = id.dump();
    if (waiting_.contains(key)) throw std::invalid_argument("another row with this id waits for its outcome");
    answered.batch = answered.served->online.issue(1);
    answered.age = ++rows_;
    ages_.emplace(answered.age, key);
    waiting_.emplace(key, std::move(answered));
    if (waiting_.size() > widthwise::OnlineCalibration::kMaxPendingBatches) {
      waiting_.erase(ages_.begin()->second);
      ages_.erase(ages_.begin());
    }
    return {{"id", id}, {"prediction", prediction}, {"lower", lower}, {"upper", upper}, {"model", number}};
  }

  Json observe(const Json& id, double outcome) {
    if (std::isnan(outcome)) throw std::invalid_argument("'outcome' is null; expected a number");
    const std::lock_guard lock(monitor_);
    const auto row = waiting_.find(id.dump());
    if (row == waiting_.end()) throw std::invalid_argument("no row with this id waits for its outcome");
    const auto& [served, x, predictions, interval, batch, age] = row->second;
    served->model.check_outcomes({&outcome, 1});
    double score = 0;
    served->model.scores({.x = {x.data(), 1, x.size()}, .predictions = predictions}, {&outcome, 1}, {&score, 1});
    const std::uint8_t covered = interval.lower <= outcome && outcome <= interval.upper ? 1 : 0;
    served->online.observe(batch, {&score, 1}, {&covered, 1});
    const std::shared_ptr<Served> answered_by = served;
    ages_.erase(age);  // only now: after an error, the row still waits
    waiting_.erase(row);
    const widthwise::OnlineCoverage all = answered_by->online.coverage(0);
    const auto& test = answered_by->online.exchangeability();
    return {{"id", id},
            {"covered", covered == 1},
            {"coverage", static_cast<double>(all.covered) / static_cast<double>(all.rows)},
            {"outcomes", all.rows},
            {"drift", test.has_value() && test->alarm().has_value()},
            {"model", answered_by->number}};
  }

  const std::filesystem::path file_;
  const widthwise::Level level_;
  std::filesystem::file_time_type written_ = {};
  std::uint64_t loads_ = 0;
  std::atomic<std::shared_ptr<Served>> served_;  // workers never wait while a model is loaded
  std::mutex input_;
  std::mutex output_;
  std::mutex monitor_;  // guards the members below and Served::online
  std::uint64_t rows_ = 0;
  std::map<std::uint64_t, std::string> ages_;          // the keys of waiting_, the oldest first
  std::unordered_map<std::string, Answered> waiting_;  // by the text of the id
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: serve MODEL LEVEL THREADS < requests.jsonl\n";
    return 2;
  }
  try {
    Service service(argv[1], argv[2]);
    const std::jthread watcher([&](const std::stop_token& stop) { service.watch(stop); });
    std::vector<std::jthread> workers;
    for (int i = 0; i < std::max(1, std::atoi(argv[3])); ++i) workers.emplace_back([&] { service.work(); });
  } catch (const std::exception& error) {
    std::cerr << "serve: " << error.what() << '\n';
    return 1;
  }
}
