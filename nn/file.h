// Files read and written whole. A reader never meets half a file: what is written stands beside its target until it is
// complete and on the disk, and takes the target's name in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/core/where.h>

namespace tally {

/// A file in use: the op that uses it and the line that asked. Every IoError about the file is made here.
struct FileSite {
  std::string op;
  std::string path;
  Where where;

  /// Throws IoError "op: path: text".
  [[noreturn]] void fail(const std::string& text) const;
  /// The same, with the text of `errno` added.
  [[noreturn]] void fail_errno(const std::string& text) const;
};

/// A regular file open for reading from its start.
class InputFile {
 public:
  explicit InputFile(FileSite site);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }
  /// Fills `out` with the next bytes; throws IoError where the file ends before.
  void read(std::span<std::byte> out);

 private:
  FileSite site_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

std::vector<std::byte> read_bytes(const FileSite& site);

/// A file that appears under its name, replacing what was there, only on commit(). Without it (an exception on the way)
/// nothing remains and the old file is as it was. Until then it is <folder>/.tally-unfinished-<process>-<number>; one
/// that a killed process left goes with the next file written in that folder.
class AtomicFile {
 public:
  /// A link is followed: its target is replaced, or created where it leads to nothing yet, and the link stays. A target
  /// that exists and is no regular file is refused, as are a loop of links and a name too long; its permissions are
  /// kept.
  explicit AtomicFile(FileSite site);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Waits until the bytes are on the disk, then renames.
  void commit();

 private:
  FileSite site_;
  std::string target_;  // the path with its links followed
  std::string partial_;
  int descriptor_ = -1;
};

void write_atomically(const std::string& path, std::span<const std::byte> bytes, Where where = Where::here());
void write_atomically(const std::string& path, std::string_view text, Where where = Where::here());

}  // namespace tally
