// What Tally costs who uses it: the bytes of the library, the time and memory to compile a file that includes it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

struct Cost {
  double seconds = 0;    // of CPU, in user mode
  double megabytes = 0;  // of the largest process
};

/// What `command` costs; run in a process of its own, so that nothing else is counted.
Cost cost(const std::string& command) {
  const pid_t child = fork();
  if (child == 0) {
    const int status = std::system(command.c_str());
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0) << command;
  return {static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec),
          static_cast<double>(usage.ru_maxrss) * 1024 / 1e6};
}

double stripped_megabytes(const std::string& library) {
  const fs::path stripped = fs::temp_directory_path() / ("tally_stripped_" + std::to_string(getpid()));
  cost(std::string("'" TALLY_STRIP "' -o '") + stripped.string() + "' '" + library + "'");
  const double megabytes = static_cast<double>(fs::file_size(stripped)) / 1e6;
  fs::remove(stripped);
  std::printf("stripped: %.2f MB, %s\n", megabytes, library.c_str());
  return megabytes;
}

TEST(Footprint, B63_StrippedLibrary) {
  const double megabytes = stripped_megabytes(TALLY_SHARED_LIBRARY);
  EXPECT_GT(megabytes, 0.5);  // it is the library
  EXPECT_LE(megabytes, TALLY_MEGABYTES);
}

// Without CUDA: what that build has, or of a build with CUDA the half for the CPU.
TEST(Footprint, B63_StrippedLibraryForTheCpu) {
  const double megabytes = stripped_megabytes(TALLY_CPU_LIBRARY);
  EXPECT_GT(megabytes, 0.5);
  EXPECT_LE(megabytes, 3);
}

TEST(Footprint, B63_AFileThatIncludesTheUmbrellaHeader) {
  const fs::path source = fs::temp_directory_path() / ("tally_user_" + std::to_string(getpid()) + ".cpp");
  std::ofstream(source) << "#include <tally/tally.h>\n";
  const std::string command = "'" TALLY_CXX "' -std=c++20 -O2 -I'" TALLY_INCLUDES "' -I'" TALLY_UMBRELLA "' -c '" +
                              source.string() + "' -o /dev/null";
  Cost least = cost(command);
  for (int i = 0; i < 2; ++i) least.seconds = std::min(least.seconds, cost(command).seconds);  // others run beside it
  fs::remove(source);
  std::printf("%.2f s, %.0f MB\n", least.seconds, least.megabytes);
  EXPECT_GT(least.megabytes, 20);  // the compiler has been seen
  EXPECT_LE(least.seconds, 2);
  EXPECT_LE(least.megabytes, 400);
}

}  // namespace
