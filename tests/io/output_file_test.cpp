#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"
#include "support/folder_test.hpp"

namespace widthwise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"out.csv", "out.csv.gz", "out.parquet"};

/// The folder has a table of 20,000 numbers.
class TableOutput : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream table(at("in.csv"));
    table << "a\n";
    Random random(1);
    for (int i = 0; i < 20'000; ++i) table << random.bits() << '\n';
  }

  /// Copy the table to a file of this name.
  void write(const std::string& name) const {
    const auto reader = TableReader::open(at("in.csv"));
    reader->select({}, {"a"});
    const auto writer = TableWriter::open(at(name), *reader, {});
    TableBatch batch;
    while (reader->next(batch)) writer->write(batch, {nullptr, batch.rows(), 0});
    writer->close();
  }

  [[nodiscard]] std::string refusal(const std::string& name) const {
    return message_of([&] { write(name); }, ErrorCode::kFile);
  }

  void with_text(const std::string& name, const std::string& text) const { std::ofstream(at(name)) << text; }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(TableOutput, KeepsThePermissionsOfTheOldFile) {
  for (const char* const name : kNames) {
    with_text(name, "old");
    fs::permissions(at(name), fs::perms::owner_read | fs::perms::owner_write);
    write(name);
    EXPECT_EQ(fs::status(at(name)).permissions(), fs::perms::owner_read | fs::perms::owner_write) << name;
    EXPECT_NE(text_of(name), "old");
  }
}

TEST_F(TableOutput, KeepsALinkAndReplacesWhatItPointsTo) {
  fs::create_directory(at("folder"));
  with_text("folder/real.csv", "old");
  fs::create_symlink("folder/real.csv", at("link.csv"));
  write("link.csv");
  EXPECT_TRUE(fs::is_symlink(at("link.csv")));
  EXPECT_EQ(text_of("folder/real.csv"), text_of("in.csv"));
}

TEST_F(TableOutput, RefusesAReadOnlyFileOfAnotherUser) {
  with_text("out.csv", "old");
  fs::permissions(at("out.csv"), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder_, fs::perms::all);
  const bool superuser = ::geteuid() == 0;
  if (superuser) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string message = refusal("out.csv");
  if (superuser) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(message, at("out.csv").string() + ": cannot be written: Permission denied");
  EXPECT_EQ(text_of("out.csv"), "old");
}

TEST_F(TableOutput, RefusesAPipe) {
  ASSERT_EQ(::mkfifo(at("pipe.csv").c_str(), 0600), 0);
  EXPECT_EQ(refusal("pipe.csv"), at("pipe.csv").string() + ": cannot be written: not a regular file");
  EXPECT_TRUE(fs::is_fifo(at("pipe.csv")));
}

TEST_F(TableOutput, ReportsAFullDiskInTheWordsOfTheSystem) {
  // A limit on the file size behaves like a full disk: a short write first, then an error.
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const char* const name : kNames) {
    // From the first bytes on, and in the middle.
    for (const rlim_t maximum : {rlim_t{0}, rlim_t{50'000}}) {
      with_text(name, "old");
      const std::size_t before = entries();
      rlimit limit = old_limit;
      limit.rlim_cur = maximum;
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
      const std::string message = refusal(name);
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
      EXPECT_EQ(message, at(name).string() + ": cannot be written: File too large");
      EXPECT_EQ(entries(), before);
      EXPECT_EQ(text_of(name), "old");
    }
  }
  (void)std::signal(SIGXFSZ, old_handler);
}

}  // namespace
}  // namespace widthwise
