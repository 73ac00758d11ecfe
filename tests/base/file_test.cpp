#include "base/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <widthwise/error.hpp>

#include "support/bytes.hpp"
#include "support/errors.hpp"
#include "support/folder_test.hpp"

namespace widthwise::internal {
namespace {

namespace fs = std::filesystem;

class File : public FolderTest {
 protected:
  static mode_t mode_of(const fs::path& file) {
    struct stat status{};
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  static std::string refusal_of(const std::function<void()>& work) { return message_of(work, ErrorCode::kFile); }
};

TEST_F(File, ReadsWhatWasWritten) {
  for (const std::size_t size : {0U, 1U, 65536U, 65537U, 3'000'000U}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 % 251);
    write_file_atomically(at("a"), bytes_of(text));
    EXPECT_EQ(read_file(at("a")), bytes_of(text));
    EXPECT_EQ(entries(), 1U);
  }
}

TEST_F(File, ReadErrorsStateTheNameAndTheReason) {
  const auto refusal = [&](const fs::path& file) { return refusal_of([&] { (void)read_file(file); }); };
  EXPECT_EQ(refusal(at("a")), at("a").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal(folder_), folder_.string() + ": cannot be read: Is a directory");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: cannot be read: not a regular file");
  EXPECT_EQ(refusal(""), ": cannot be read: No such file or directory");
}

TEST_F(File, APipeIsRefusedAtOnceWithAndWithoutAWriter) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const std::string expected = at("pipe").string() + ": cannot be read: not a regular file";
  EXPECT_EQ(refusal_of([&] { (void)read_file(at("pipe")); }), expected);
  const int writer = ::open(at("pipe").c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_EQ(::write(writer, "endless", 7), 7);
  EXPECT_EQ(refusal_of([&] { (void)read_file(at("pipe")); }), expected);
  ::close(writer);
  EXPECT_EQ(refusal_of([&] { write_file_atomically(at("pipe"), bytes_of("new")); }),
            at("pipe").string() + ": cannot be written: not a regular file");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(File, WriteErrorsStateTheNameAndTheReason) {
  const auto refusal = [&](const fs::path& file) {
    return refusal_of([&] { write_file_atomically(file, bytes_of("new")); });
  };
  EXPECT_EQ(refusal(at("no/a")), at("no/a").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal(folder_), folder_.string() + ": cannot be written: Is a directory");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: cannot be written: not a regular file");
  write_file_atomically(at("a"), bytes_of("old"));
  EXPECT_EQ(refusal(at("a/b")), at("a/b").string() + ": cannot be written: Not a directory");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, AFileThatMayNotBeWrittenIsNotReplaced) {
  write_file_atomically(at("a"), bytes_of("old"));
  ASSERT_EQ(::chmod(at("a").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  // The superuser may write everything, so another user tries to replace the file.
  const bool superuser = ::geteuid() == 0;
  if (superuser) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string message = refusal_of([&] { write_file_atomically(at("a"), bytes_of("new")); });
  if (superuser) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(message, at("a").string() + ": cannot be written: Permission denied");
  EXPECT_EQ(read_file(at("a")), bytes_of("old"));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, AnOldFileKeepsItsPermissionsAndANewOneGetsTheUsual) {
  const mode_t old_mask = ::umask(0027);
  write_file_atomically(at("a"), bytes_of("1"));
  EXPECT_EQ(mode_of(at("a")), 0640U);
  ASSERT_EQ(::chmod(at("a").c_str(), 0606), 0);
  write_file_atomically(at("a"), bytes_of("2"));
  EXPECT_EQ(mode_of(at("a")), 0606U);
  ::umask(old_mask);
}

TEST_F(File, ALinkStaysAndWhatItPointsToIsReplaced) {
  ASSERT_TRUE(fs::create_directory(at("folder")));
  fs::create_symlink("folder/a", at("second"));
  fs::create_symlink("second", at("first"));
  for (const char* text : {"dangling at first", "then not"}) {
    write_file_atomically(at("first"), bytes_of(text));
    EXPECT_TRUE(fs::is_symlink(at("first")));
    EXPECT_TRUE(fs::is_symlink(at("second")));
    EXPECT_EQ(read_file(at("folder/a")), bytes_of(text));
  }
  EXPECT_EQ(entries(), 3U);
  fs::create_symlink("loop", at("loop"));
  (void)refusal_of([&] { write_file_atomically(at("loop"), bytes_of("x")); });
}

TEST_F(File, ALongNameCanBeWritten) {
  const std::string name(255, 'n');
  write_file_atomically(at(name), bytes_of("x"));
  EXPECT_EQ(read_file(at(name)), bytes_of("x"));
}

TEST_F(File, AFailureHalfWayLeavesTheOldFileAndNothingElse) {
  write_file_atomically(at("a"), bytes_of("old"));
  // A limit on the file size behaves like a full disk: a short write first, then an error.
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old_limit;
  limit.rlim_cur = 10'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = refusal_of([&] { write_file_atomically(at("a"), bytes_of(std::string(20'000, 'n'))); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  (void)std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(message, at("a").string() + ": cannot be written: File too large");
  EXPECT_EQ(read_file(at("a")), bytes_of("old"));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, IsWrittenInPiecesAndLeftAsItWasWithoutCommit) {
  write_file_atomically(at("a"), bytes_of("old"));
  {
    AtomicFile file(at("a"));
    file.write(bytes_of("new"));
    EXPECT_EQ(entries(), 2U);
  }
  EXPECT_EQ(read_file(at("a")), bytes_of("old"));
  EXPECT_EQ(entries(), 1U);
  AtomicFile file(at("a"));
  file.write(bytes_of("in "));
  file.write(bytes_of("pieces"));
  EXPECT_EQ(read_file(at("a")), bytes_of("old"));
  file.commit();
  EXPECT_EQ(read_file(at("a")), bytes_of("in pieces"));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, TemporaryFilesOfKilledProcessesAreDeletedAndThoseOfLiveOnesAreKept) {
  const auto age = [](const fs::path& file) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  };
  const auto make = [&](const std::string& name) {
    std::ofstream(at(name)) << "x";
    age(at(name));
  };
  const char* kStale = ".a.0123456789abcdef.tmp";
  const std::vector<std::string> others = {".a.tmp", ".a.b.0123456789abcdef.tmp", ".a.0123456789abcdeg.tmp",
                                           ".b.0123456789abcdef.tmp", "a.0123456789abcdef.tmp"};
  make(kStale);
  for (const std::string& name : others) make(name);
  AtomicFile live(at("a"));
  EXPECT_FALSE(fs::exists(at(kStale)));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(at(name))) << name;
  for (const auto& entry : fs::directory_iterator(folder_)) age(entry.path());
  std::ofstream(at(kStale)) << "of a writer that has not locked it yet";
  write_file_atomically(at("a"), bytes_of("of the second"));
  EXPECT_TRUE(fs::exists(at(kStale)));
  live.write(bytes_of("of the first"));
  live.commit();
  EXPECT_EQ(read_file(at("a")), bytes_of("of the first"));
}

TEST_F(File, UpdatesOfManyThreadsWaitForEachOther) {
  constexpr int kThreads = 8;
  constexpr int kUpdates = 10;
  write_file_atomically(at("a"), {});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int update = 0; update < kUpdates; ++update) {
        const FileLock lock(at("a"), [] {});
        std::vector<std::byte> bytes = read_file(at("a"));
        bytes.push_back(std::byte{1});
        write_file_atomically(at("a"), bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_file(at("a")).size(), std::size_t{kThreads} * kUpdates);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(File, ALockOfADeadProcessIsReleasedAndAWaitCanBeCancelled) {
  write_file_atomically(at("a"), bytes_of("x"));
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const FileLock lock(at("a"));
    (void)!::write(ready[1], "r", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(refusal_of([&] { const FileLock lock(at("a"), [] { throw Error(ErrorCode::kFile, "enough"); }); }),
            "enough");
  const std::string refusal = refusal_of([&] { const FileLock lock(at("a"), {}, std::chrono::milliseconds(50)); });
  EXPECT_TRUE(refusal.starts_with(at("a").string() + ": cannot be locked for an update: locked")) << refusal;
  EXPECT_TRUE(refusal.ends_with(" for 50 ms; end that process, or write to another file")) << refusal;
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  const FileLock lock(at("a"), [] { throw Error(ErrorCode::kFile, "held"); });
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(refusal_of([&] { const FileLock none(at("none")); }),
            at("none").string() + ": cannot be read: No such file or directory");
}

TEST_F(File, AFileKeepsItsOwnerIfRootReplacesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  write_file_atomically(at("a"), bytes_of("x"));
  ASSERT_EQ(::chown(at("a").c_str(), 54321, 54322), 0);
  ASSERT_EQ(::chmod(at("a").c_str(), 0640), 0);
  write_file_atomically(at("a"), bytes_of("y"));
  struct stat found{};
  ASSERT_EQ(::stat(at("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 54321U);
  EXPECT_EQ(found.st_gid, 54322U);
  EXPECT_EQ(found.st_mode & 07777U, 0640U);
}

TEST_F(File, TemporaryFilesCanBeDeletedAtOnce) {
  AtomicFile first(at("a"));
  first.write(bytes_of("x"));
  {
    const AtomicFile second(at("b"));
  }
  EXPECT_EQ(entries(), 1U);
  internal::delete_temporary_files();
  EXPECT_EQ(entries(), 0U);
}

TEST_F(File, AVersionShowsWhetherAFileWasReplaced) {
  EXPECT_EQ(version_of(at("a")), std::nullopt);
  const FileVersion first = write_file_atomically(at("a"), bytes_of("same"));
  EXPECT_EQ(version_of(at("a")), first);
  AtomicFile other(at("a"));
  other.write(bytes_of("same"));
  const FileVersion second = other.commit();
  EXPECT_NE(second, first);
  EXPECT_EQ(version_of(at("a")), second);
}

TEST_F(File, AReaderSeesTheOldFileOrTheNewOneButNoMixture) {
  const std::vector<std::byte> files[] = {bytes_of(std::string(300'000, '0')), bytes_of(std::string(200'000, '1'))};
  write_file_atomically(at("a"), files[0]);
  std::thread writer([&] {
    for (std::size_t i = 1; i <= 40; ++i) write_file_atomically(at("a"), files[i % 2]);
  });
  for (int i = 0; i < 200; ++i) {
    const auto found = read_file(at("a"));
    ASSERT_TRUE(found == files[0] || found == files[1]);
  }
  writer.join();
}

}  // namespace
}  // namespace widthwise::internal
