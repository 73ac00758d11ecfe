#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/fit.hpp>

#include "base/file.hpp"
#include "base/safetensors.hpp"
#include "support/bit_flips.hpp"
#include "support/bytes.hpp"
#include "support/errors.hpp"
#include "support/thread_workers.hpp"

namespace widthwise {
namespace {

// --- workers

TEST(Communicator, GathersTheBytesOfEveryWorkerIncludingEmptyOnes) {
  ThreadWorkers threads(3);
  threads.run([](const Communicator& communicator) {
    const auto all =
        gather(communicator, bytes_of(communicator.rank() == 1 ? "" : "worker " + std::to_string(communicator.rank())));
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0], bytes_of("worker 0"));
    EXPECT_TRUE(all[1].empty());
    EXPECT_EQ(all[2], bytes_of("worker 2"));
  });
}

TEST(Communicator, FailsOnAllWorkersIfOneFails) {
  ThreadWorkers threads(3);
  threads.run([](const Communicator& communicator) {
    const auto message = message_of(
        [&] {
          all_or_none(communicator, [&] {
            if (communicator.rank() == 1) throw Error(ErrorCode::kBadData, "homes.parquet: no column 'price'");
          });
        },
        ErrorCode::kBadData);
    EXPECT_EQ(message, communicator.rank() == 1 ? "homes.parquet: no column 'price'"
                                                : "worker 1: homes.parquet: no column 'price'");
  });
}

TEST(Communicator, ContinuesIfNoWorkerFails) {
  ThreadWorkers threads(2);
  std::atomic<int> done = 0;
  threads.run([&](const Communicator& communicator) { all_or_none(communicator, [&] { ++done; }); });
  EXPECT_EQ(done, 2);
}

// --- checkpoints

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Write a checkpoint of fit 7 with one training.
  void keep(const std::string& state) const {
    Checkpoint checkpoint(file_, 7, nullptr);
    (void)checkpoint.begin();
    checkpoint.keep(bytes_of(state));
  }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::path file_ = folder_ / "model.checkpoint";
};

std::vector<std::byte> begun(Checkpoint& checkpoint) {
  const auto state = checkpoint.begin();
  return {state.begin(), state.end()};
}

TEST_F(Checkpoints, ResumeFromTheLastState) {
  {
    Checkpoint first(file_, 7, nullptr);
    EXPECT_TRUE(begun(first).empty());
    first.keep(bytes_of("half"));
    first.keep(bytes_of("whole"));
    EXPECT_TRUE(begun(first).empty());
    first.keep(bytes_of("second"));
  }
  Checkpoint again(file_, 7, nullptr);
  EXPECT_EQ(begun(again), bytes_of("whole"));
  EXPECT_EQ(begun(again), bytes_of("second"));
  EXPECT_TRUE(begun(again).empty());
  again.remove();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(Checkpoints, OfAnotherFitAreNotUsed) {
  keep("state");
  Checkpoint other(file_, 8, nullptr);
  EXPECT_TRUE(begun(other).empty());
}

TEST_F(Checkpoints, ThatAreDamagedAreRefusedByName) {
  keep("what was trained");
  const std::vector<std::byte> good = internal::read_file(file_);
  const auto open = [&](std::span<const std::byte> bytes) {
    std::ofstream(file_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const Checkpoint again(file_, 7, nullptr);
  };
  expect_flips_are_refused(good, open);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_EQ(message_of([&] { open(std::span(good).first(size)); }, ErrorCode::kBadData).find(file_.string()), 0U);
  }
  std::vector<std::byte> bad = good;
  bad.back() ^= std::byte{1};
  const std::string message = message_of([&] { open(bad); }, ErrorCode::kBadData);
  EXPECT_TRUE(message.starts_with(file_.string() + ": damaged: checksum mismatch (stored ")) << message;
  EXPECT_TRUE(message.ends_with("; delete this file and rerun the same command to train from the start")) << message;
}

TEST_F(Checkpoints, OfAnotherFormatAreRefused) {
  internal::SafetensorsWriter writer;
  writer.put("training.0", bytes_of("state"));
  writer.put_text("checkpoint", "2");
  writer.put_text("fit", "7");
  writer.put_text("trainings", "1");
  internal::write_file_atomically(file_, std::move(writer).finish_sealed());
  expect_error(ErrorCode::kBadData, "not a checkpoint of this version",
               [&] { const Checkpoint again(file_, 7, nullptr); });
}

TEST_F(Checkpoints, OfSeveralWorkersAreThoseOfTheFirst) {
  keep("state");
  ThreadWorkers threads(3);
  threads.run([&](const Communicator& communicator) {
    // The other workers have another disk.
    const auto file = communicator.rank() == 0 ? file_ : folder_ / ("of_" + std::to_string(communicator.rank()));
    Checkpoint checkpoint(file, 7, &communicator);
    EXPECT_EQ(begun(checkpoint), bytes_of("state"));
    checkpoint.keep(bytes_of("more"));
    EXPECT_EQ(std::filesystem::exists(file), communicator.rank() == 0);
  });
}

// --- fits with several workers without training: the partition of the rows does not matter

struct WorkerRows {
  std::vector<double> x, y, predictions;
  std::vector<std::uint64_t> numbers;
};

WorkerRows some_rows(std::size_t n) {
  Random random(5);
  WorkerRows rows;
  for (std::size_t i = 0; i < n; ++i) {
    rows.x.push_back(random.uniform());
    rows.predictions.push_back(rows.x.back());
    rows.y.push_back(rows.x.back() + random.normal());
    rows.numbers.push_back(1000 + 3 * i);
  }
  return rows;
}

FitOptions untrained() {
  FitOptions options;
  options.score_transform = "identity";
  return options;
}

FitResult fit_part(const WorkerRows& rows, std::size_t first, std::size_t count, const Communicator& communicator,
                   const FitOptions& options = untrained()) {
  return fit({.rows = {.x = {rows.x.data() + first, count, 1},
                       .predictions = std::span(rows.predictions).subspan(first, count)},
              .y = std::span(rows.y).subspan(first, count),
              .features = {"x"},
              .target = "y",
              .prediction = "f",
              .row_numbers = std::span(rows.numbers).subspan(first, count)},
             nullptr, nullptr, options, {}, &communicator);
}

std::vector<std::byte> without_workers(const Model& model) {
  ModelParts parts = model.parts();
  parts.notes.erase("workers");
  return serialise(Model(std::move(parts)));
}

TEST(FitWithWorkers, IsTheSameHoweverTheRowsAreShared) {
  const std::size_t n = 3000;
  const WorkerRows rows = some_rows(n);
  std::vector<std::vector<std::byte>> models;
  std::vector<std::string> reports;
  for (const std::size_t workers : {1U, 2U, 5U}) {
    std::vector<std::vector<std::byte>> own(workers);
    std::vector<std::string> words(workers);
    ThreadWorkers(workers).run([&](const Communicator& communicator) {
      const std::size_t first = n * communicator.rank() * communicator.rank() / (workers * workers);
      const std::size_t end = n * (communicator.rank() + 1) * (communicator.rank() + 1) / (workers * workers);
      const FitResult result = fit_part(rows, first, end - first, communicator);
      EXPECT_EQ(result.report.fit_rows + result.report.calibration_rows, n);
      EXPECT_EQ(result.model.parts().notes.at("workers"), std::to_string(workers));
      own[communicator.rank()] = without_workers(result.model);
      words[communicator.rank()] = result.report.summary();
    });
    for (const auto& bytes : own) EXPECT_EQ(bytes, own[0]);
    models.push_back(own[0]);
    reports.push_back(words[0]);
  }
  EXPECT_EQ(models[1], models[0]);
  EXPECT_EQ(models[2], models[0]);
  EXPECT_EQ(reports[2], reports[0]);
}

TEST(FitWithWorkers, NamesTheWorkerWithoutRows) {
  const WorkerRows rows = some_rows(100);
  ThreadWorkers(3).run([&](const Communicator& communicator) {
    const auto message = message_of(
        [&] {
          (void)fit_part(rows, communicator.rank() == 1 ? 0 : 50 * communicator.rank() / 2,
                         communicator.rank() == 1 ? 0 : 50, communicator);
        },
        ErrorCode::kTooFewRows);
    EXPECT_EQ(message, "fit: worker 1 has no rows; use fewer workers");
  });
}

TEST(FitWithWorkers, NamesTheWorkerWithOtherOptions) {
  const WorkerRows rows = some_rows(100);
  ThreadWorkers(2).run([&](const Communicator& communicator) {
    FitOptions options = untrained();
    options.seed = communicator.rank();
    const auto message = message_of([&] { (void)fit_part(rows, 50 * communicator.rank(), 50, communicator, options); },
                                    ErrorCode::kInvalidArgument);
    EXPECT_TRUE(message.starts_with("fit: worker 1 has other options than worker 0")) << message;
  });
}

TEST(FitWithWorkers, RefusesATransformThatMustSeeAllRows) {
  const WorkerRows rows = some_rows(100);
  ThreadWorkers(2).run([&](const Communicator& communicator) {
    FitOptions options;
    options.score_transform = "mixture";
    const auto message = message_of([&] { (void)fit_part(rows, 50 * communicator.rank(), 50, communicator, options); },
                                    ErrorCode::kInvalidArgument);
    EXPECT_EQ(message, "fit: the transform mixture needs all rows in one process; fit without workers");
  });
}

}  // namespace
}  // namespace widthwise
