#include <tally/nn/file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <tally/core/error.h>

namespace tally {

namespace {

constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // the kernel moves at most 2 GiB a call

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A name that no other writer uses: the process, and a count for names that a killed process with the same id left.
int create_beside(const std::string& path, std::string& partial) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    partial = path + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// A rename is on the disk when its folder is. File systems that cannot sync a folder say EINVAL.
bool sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES;  // a folder that may be written but not read
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return synced;
}

}  // namespace

void FileSite::fail(const std::string& text) const { throw IoError(op, path + ": " + text, where); }

void FileSite::fail_errno(const std::string& text) const { fail(text + ": " + std::strerror(errno)); }

InputFile::InputFile(FileSite site)
    : site_(std::move(site)), descriptor_(::open(site_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) site_.fail_errno("cannot be opened");
  struct stat status {};
  const bool regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) {
    ::close(descriptor_);
    site_.fail("is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const auto got = ::read(descriptor_, out.data(), std::min(out.size(), kLargestTransfer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) site_.fail_errno("cannot be read");
    if (got == 0) site_.fail("ends " + std::to_string(out.size()) + " bytes early");
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::byte> read_bytes(const FileSite& site) {
  InputFile file(site);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes);
  return bytes;
}

AtomicFile::AtomicFile(FileSite site) : site_(std::move(site)) {
  struct stat old {};
  const bool replaces = ::stat(site_.path.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) site_.fail("cannot be written: is not a regular file");
  descriptor_ = create_beside(site_.path, partial_);
  if (descriptor_ < 0) site_.fail_errno("cannot be written");
  if (replaces) static_cast<void>(::fchmod(descriptor_, old.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestTransfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) site_.fail_errno("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) site_.fail_errno("cannot be written");
  if (::close(std::exchange(descriptor_, -1)) != 0) site_.fail_errno("cannot be written");
  if (std::rename(partial_.c_str(), site_.path.c_str()) != 0) site_.fail_errno("cannot be put in place");
  partial_.clear();
  if (!sync_folder(folder_of(site_.path))) site_.fail_errno("is written, but its folder cannot be synced");
}

void write_atomically(const std::string& path, std::span<const std::byte> bytes, Where where) {
  AtomicFile file({"write_atomically", path, where});
  file.write(bytes);
  file.commit();
}

void write_atomically(const std::string& path, std::string_view text, Where where) {
  write_atomically(path, std::as_bytes(std::span(text)), where);
}

}  // namespace tally
