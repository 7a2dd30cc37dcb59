#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <tally/core/error.h>
#include <tally/nn/file.h>

#include "data/scratch.h"

namespace tally {
namespace {

using test::error_text;
using test::Scratch;
using testing::HasSubstr;

TEST(WriteAtomically, WritesAndReplaces) {
  const Scratch scratch;
  write_atomically(scratch.file("a"), "first, and longer");
  EXPECT_EQ(scratch.get("a"), "first, and longer");
  write_atomically(scratch.file("a"), "second");
  EXPECT_EQ(scratch.get("a"), "second");
  write_atomically(scratch.file("empty"), "");
  EXPECT_EQ(scratch.get("empty"), "");
  EXPECT_EQ(scratch.files(), 2);
}

TEST(WriteAtomically, KeepsPermissions) {
  const Scratch scratch;
  const std::string path = scratch.put("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  write_atomically(path, "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(WriteAtomically, RefusesWhatIsNoFile) {
  const Scratch scratch;
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(scratch.path(), "x"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_text<IoError>([&] { write_atomically("/dev/full", "x"); }), HasSubstr("/dev/full"));
  EXPECT_EQ(scratch.files(), 0);
}

TEST(WriteAtomically, NamesAnUnwritableFolder) {
  const Scratch scratch;
  const std::string file = scratch.put("file", "");
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(scratch.file("none/a"), "x"); }),
              HasSubstr("none/a: cannot be written: No such file or directory"));
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(file + "/a", "x"); }), HasSubstr("Not a directory"));
}

TEST(WriteAtomically, FollowsLinks) {
  const Scratch scratch;
  namespace fs = std::filesystem;
  fs::create_directory(scratch.file("real"));
  fs::create_directory(scratch.file("links"));
  scratch.put("real/t", "old");
  fs::create_symlink("../real/t", scratch.file("links/relative"));
  fs::create_symlink(scratch.file("links/relative"), scratch.file("absolute"));
  fs::create_symlink("real/new", scratch.file("dangling"));
  for (const char* link : {"links/relative", "absolute", "dangling"}) {
    write_atomically(scratch.file(link), link);
    EXPECT_TRUE(fs::is_symlink(scratch.file(link)));
    EXPECT_FALSE(fs::is_symlink(scratch.file("real/t")));
    EXPECT_EQ(scratch.get(link), link);
  }
  EXPECT_EQ(scratch.get("real/t"), "absolute");
  EXPECT_EQ(scratch.get("real/new"), "dangling");
  AtomicFile beside({"test", scratch.file("absolute"), {}});
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.file("real")), fs::directory_iterator()), 3);
}

TEST(WriteAtomically, RefusesLinksThatLeadNowhere) {
  const Scratch scratch;
  std::filesystem::create_symlink("b", scratch.file("a"));
  std::filesystem::create_symlink("a", scratch.file("b"));
  std::filesystem::create_symlink("none/file", scratch.file("c"));
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(scratch.file("a"), "x"); }),
              HasSubstr("a: cannot be written: Too many levels of symbolic links"));
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(scratch.file("c"), "x"); }),
              HasSubstr("c: cannot be written: No such file or directory"));
  EXPECT_EQ(scratch.files(), 3);
}

TEST(WriteAtomically, TakesEveryNameTheSystemTakes) {
  const Scratch scratch;
  const std::string longest(255, 'n');
  write_atomically(scratch.file(longest), "x");
  EXPECT_EQ(scratch.get(longest), "x");
  EXPECT_THAT(error_text<IoError>([&] { write_atomically(scratch.file(longest + "n"), "x"); }),
              HasSubstr("cannot be written: File name too long"));
  EXPECT_THAT(error_text<IoError>([] { write_atomically("", "x"); }),
              HasSubstr("write_atomically: the path of the file is empty"));
  EXPECT_EQ(scratch.files(), 1);
}

// A limit on the size of files stands for the full disk: the write fails half way.
TEST(WriteAtomically, AFullDiskLeavesTheOldFileAndNothingElse) {
  const Scratch scratch;
  scratch.put("a", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text = error_text<IoError>([&] { write_atomically(scratch.file("a"), std::string(10000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(text, HasSubstr("cannot be written: File too large"));
  EXPECT_EQ(scratch.get("a"), "old");
  EXPECT_EQ(scratch.files(), 1);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const Scratch scratch;
  {
    AtomicFile file({"test", scratch.file("a"), {}});
    file.write(std::as_bytes(std::span("half", 4)));
    EXPECT_EQ(scratch.files(), 1);
  }
  EXPECT_EQ(scratch.files(), 0);
}

TEST(AtomicFile, RemovesWhatAKilledWriterLeft) {
  const Scratch scratch;
  const pid_t writer = ::fork();
  if (writer == 0) {
    AtomicFile file({"test", scratch.file("a"), {}});
    file.write(std::as_bytes(std::span("half", 4)));
    ::raise(SIGKILL);
  }
  ASSERT_GT(writer, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(scratch.files(), 1);
  const std::string ours = ".tally-unfinished-" + std::to_string(::getpid());
  scratch.put(ours + "-0", "left by one of our number");
  ASSERT_EQ(::chmod(scratch.put(ours + "-1", "left, and read-only").c_str(), 0444), 0);
  write_atomically(scratch.file("b"), "whole");
  EXPECT_EQ(scratch.get("b"), "whole");
  EXPECT_EQ(scratch.files(), 1);
}

// Root may write a read-only file: only another user sees whether it can be removed.
TEST(AtomicFile, AnotherUserThanRootRemovesAReadOnlyOne) {
  const Scratch scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    scratch.put(".tally-unfinished-1-0", "left");
    if (::chmod(scratch.file(".tally-unfinished-1-0").c_str(), 0444) != 0) ::_exit(3);
    write_atomically(scratch.file("a"), "whole");
    ::_exit(0);
  }
  ASSERT_GT(user, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(user, &status, 0), user);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(scratch.files(), 1);
  EXPECT_EQ(scratch.get("a"), "whole");
}

TEST(AtomicFile, LeavesAUsersFilesAlone) {
  const Scratch scratch;
  const std::vector<std::string> names = {"a.partial-2024-11-30",  "a.partial-1-0",           "a.tally-unfinished-1-0",
                                          ".tally-unfinished-",    ".tally-unfinished-1",     ".tally-unfinished-1-",
                                          ".tally-unfinished--1",  ".tally-unfinished-1-0-2", ".tally-unfinished-1-0.c",
                                          ".tally-unfinished-a-0", "tally-unfinished-1-0"};
  for (const std::string& name : names) write_atomically(scratch.file(name), name);
  ASSERT_EQ(::mkfifo(scratch.file(".tally-unfinished-1-1").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("a", scratch.file(".tally-unfinished-1-2").c_str()), 0);
  ASSERT_EQ(::mkdir(scratch.file(".tally-unfinished-1-3").c_str(), 0700), 0);
  write_atomically(scratch.file("a"), "new");
  for (const std::string& name : names) EXPECT_EQ(scratch.get(name), name);
  EXPECT_EQ(scratch.files(), static_cast<std::ptrdiff_t>(names.size()) + 4);
}

TEST(AtomicFile, LeavesALivingWriterAlone) {
  const Scratch scratch;
  const std::string text = "from the first";
  AtomicFile first({"test", scratch.file("a"), {}});
  first.write(std::as_bytes(std::span(text)));
  write_atomically(scratch.file("a"), "from the second");
  EXPECT_EQ(scratch.get("a"), "from the second");
  EXPECT_EQ(scratch.files(), 2);
  first.commit();
  EXPECT_EQ(scratch.get("a"), text);
  EXPECT_EQ(scratch.files(), 1);
}

TEST(AtomicFile, ManyWritersOfOneNameDoNotDisturbEachOther) {
  const Scratch scratch;
  std::vector<std::thread> writers;
  for (int w = 0; w < 6; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 30; ++i)
        EXPECT_NO_THROW(write_atomically(scratch.file("a"), std::string(100, static_cast<char>('a' + w))));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(scratch.files(), 1);
  const std::string last = scratch.get("a");
  EXPECT_EQ(last, std::string(100, last.at(0)));
}

TEST(InputFile, NamesWhatCannotBeRead) {
  const Scratch scratch;
  const auto read = [](const std::string& path) {
    return error_text<IoError>([&] { read_bytes({"test", path, {}}); });
  };
  EXPECT_THAT(read(scratch.file("none")), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(read(scratch.path()), HasSubstr("is not a regular file"));
  InputFile file({"test", scratch.put("short", "abc"), {}});
  std::byte four[4];
  EXPECT_THAT(error_text<IoError>([&] { file.read(four); }), HasSubstr("ends 1 bytes early"));
}

}  // namespace
}  // namespace tally
